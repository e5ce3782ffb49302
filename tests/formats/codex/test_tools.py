"""Calls, what came back, what changed in files, and who allowed it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ..checks import events
from .lines import drafts, event, item


def call(name: str, arguments: Any, call_id: str = "c1") -> dict[str, Any]:
    return item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)


def output(given: Any, call_id: str = "c1") -> dict[str, Any]:
    return item("function_call_output", output=given, call_id=call_id)


@pytest.mark.parametrize(
    ("given", "text", "status", "facts"),
    [
        ("Chunk ID: 1\nProcess exited with code 127\nOutput:\nrg?", None, "error", {"exit_code": 127}),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nfine", None, "ok", {"exit_code": 0}),
        (json.dumps({"output": "fine", "metadata": {"exit_code": 0}}), "fine", "ok", {"exit_code": 0}),
        ({"content": "fine", "success": True}, "fine", "ok", None),
        ({"content": [{"type": "input_text", "text": "no"}], "success": False}, "no", "error", None),
        ([{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}], "a\nb", None, None),
        ({"type": "input_text", "text": "one"}, "one", None, None),
        ("file1.txt", "file1.txt", None, None),
        ('{"agent": 1}', '{"agent": 1}', None, None),
        ("apply_patch verification failed: no such line", None, "error", None),
        ("aborted by user after 2.1s", None, "cancelled", None),
        ("exec command rejected by user", None, "denied", None),
        ("Exit code: 0\nOutput:\nthe offer was rejected by user 7", None, "ok", {"exit_code": 0}),
        ({"rows": [1]}, "", None, {"output": {"rows": [1]}}),
    ],
)
def test_outputs_of_every_shape_are_read(given: Any, text: str | None, status: str | None, facts: Any) -> None:
    found = events(drafts(call("shell", {"command": ["ls"]}), output(given)))[-1]
    assert found.kind == "tool_result" and found.tool and found.tool.name == "shell"
    assert (found.text, found.tool.status, found.tool.result) == (given if text is None else text, status, facts)


def test_a_result_is_linked_to_its_call_with_a_thousand_lines_between() -> None:
    between = [event("task_started", turn_id=str(n)) for n in range(1000)]
    found = events(drafts(call("shell", {}), *between, output("done")))
    assert found[-1].parent == found[1].key


def test_exit_code_and_duration_come_from_the_event_before() -> None:
    ended = event("exec_command_end", call_id="c1", exit_code=3, duration={"secs": 1, "nanos": 5_000_000})
    found = events(drafts(call("shell", {}), ended, output("oops")))
    assert found[-1].tool and found[-1].tool.result == {"exit_code": 3, "duration_ms": 1005}
    assert found[-1].tool.status == "error"
    assert found[2].kind == "system" and found[2].parent == found[1].key and found[2].text == ""


def test_commands_run_inside_a_script_are_events_with_their_output() -> None:
    ended = event("exec_command_end", call_id="inner", command=["ls"], aggregated_output="a.txt", exit_code=0)
    found = events(drafts(ended))[1]
    assert (found.kind, found.text, found.data["command"]) == ("system", "a.txt", ["ls"])


@pytest.mark.parametrize(
    ("source", "arguments"),
    [
        ('await tools.exec_command({cmd: "ls -la"});', {"cmd": "ls -la"}),
        ('tools.exec_command({"cmd":"echo \\"hi\\"", workdir: "/"})', {"cmd": 'echo "hi"'}),
        ("tools.exec_command({cmd: made(up)})", None),
        ("tools.apply_patch(`x`)", None),
    ],
)
def test_code_mode_shows_its_source_and_a_literal_command(source: str, arguments: Any) -> None:
    tool = events(drafts(item("custom_tool_call", name="exec", input=source, call_id="c1")))[1].tool
    assert tool and tool.arguments == (arguments | {"source": source} if arguments else source)


def test_a_tool_of_a_server_names_it() -> None:
    tool = events(drafts(call("mcp__almanac__frost", {"month": 10})))[1].tool
    assert tool and (tool.server, tool.arguments) == ("almanac", {"month": 10})


def test_a_web_search_is_a_call_that_tells_itself_how_it_ended() -> None:
    search = item("web_search_call", id="ws1", status="completed", action={"type": "search", "query": "canker"})
    tool = events(drafts(search))[1].tool
    assert tool and (tool.call_id, tool.name, tool.status) == ("ws1", "web_search", "ok")
    assert tool.arguments == {"type": "search", "query": "canker"}


def test_a_patch_is_one_unified_diff() -> None:
    changes = {
        "/srv/a.txt": {"type": "update", "unified_diff": "@@ -1 +1 @@\n-old\n+new\n", "move_path": "/srv/b.txt"},
        "new.txt": {"type": "add", "content": "one\ntwo\n"},
        "gone.txt": {"type": "delete", "content": "one\n"},
    }
    found = events(drafts(event("patch_apply_end", call_id="c1", success=True, changes=changes)))[1]
    assert found.kind == "file_change" and found.data["paths"] == ["/srv/a.txt", "new.txt", "gone.txt"]
    assert found.text == (
        "--- /srv/a.txt\n+++ /srv/b.txt\n@@ -1 +1 @@\n-old\n+new\n"
        "--- a/new.txt\n+++ b/new.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        "--- a/gone.txt\n+++ b/gone.txt\n@@ -1,1 +0,0 @@\n-one\n"
    )


@pytest.mark.parametrize(
    ("status", "kind", "decision"),
    [("approved", "approval", "approved"), ("denied", "approval", "denied"), ("timed_out", "approval", "denied"),
     ("in_progress", "system", None), ("aborted", "system", None)],
)  # fmt: skip
def test_the_reviewing_models_verdict_is_an_approval(status: str, kind: str, decision: str | None) -> None:
    action = {"type": "command", "command": "rm -rf old"}
    verdict = event("guardian_assessment", id="g", target_item_id="c1", status=status, rationale="why", action=action)
    found = events(drafts(call("shell", {}), verdict))[2]
    assert (found.kind, found.text, found.data.get("decision")) == (kind, "why", decision)
    assert found.tool and (found.tool.name, found.tool.arguments) == ("shell", action)
    if decision:
        assert (found.data["by"], found.data["inferred"]) == ("guardian", False)


def test_a_refusal_that_only_the_output_tells_is_inferred() -> None:
    found = events(drafts(call("shell", {}), output("exec command rejected by user")))
    assert [event.kind for event in found[1:]] == ["tool_call", "approval", "tool_result"]
    assert found[2].data == {"type": "rejected", "decision": "denied", "by": "user", "inferred": True}


def test_a_refusal_with_a_verdict_is_told_once() -> None:
    verdict = event("guardian_assessment", target_item_id="c1", status="denied", action={})
    found = events(drafts(call("shell", {}), verdict, output("This action was rejected due to unacceptable risk.")))
    assert [event.kind for event in found[1:]] == ["tool_call", "approval", "tool_result"]
