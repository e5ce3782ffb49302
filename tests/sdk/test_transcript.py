"""What happened in a run is brought to the desk by hooks that stop nothing, whatever stands in the transcript."""

from __future__ import annotations

import json
import os

import pytest
from countersign import runs, transcripts
from countersign.codex.transcript import CodexReader
from countersign.holding import Desk
from countersign.hooks import commands

from sessions_app.models import Event, Session

from .bad_desks import GARBAGE, answering, nobody
from .hooks import CALL, run

STAMP = "2026-11-22T22:51:16.646Z"
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 5, "cache_creation_input_tokens": 0, "output_tokens": 7}


def line(kind, content, number=1, **more):
    message = {"role": kind, "content": content} | more.pop("message", {})
    return json.dumps({"type": kind, "uuid": f"u{number}", "timestamp": STAMP, "message": message} | more) + "\n"


def said(block, number, id_="msg_1"):
    return line("assistant", [block], number, message={"id": id_, "model": "claude-opus-5-5", "usage": USAGE})


RUN = [
    line("user", "Clean up"),
    line("user", "<reminder>", 2, isMeta=True),
    said({"type": "thinking", "thinking": "Hm."}, 3),
    said({"type": "text", "text": "I will."}, 4),
    said({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}, 5),
    line("user", [{"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "image"}], "is_error": True}], 6),
    '{"type": "cost-state"}\n',
    "{broken\n",
    "[]\n",
    '{"type": "user", "message": 7, "uuid": "x"}\n',
    '{"type": "user", "message": {"content": [7, {"type": "text"}]}, "uuid": "y"}\n',
]


@pytest.fixture
def desk(monkeypatch, tmp_path, desk_server, agent_key):
    monkeypatch.setenv("COUNTERSIGN_URL", desk_server)
    monkeypatch.setenv("COUNTERSIGN_API_KEY", agent_key)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return Desk()


@pytest.fixture
def session(desk, workspace):
    """A session that the key opened by asking."""
    from countersign import Client

    decision = Client(agent="Claude Code").ask("Bash", {"command": "ls"}, wait=0)
    return Session.objects.get(pk=decision.session_id)


def events(session):
    kept = Event.objects.filter(session=session).exclude(kind="approval").order_by("seq")
    return [(event.kind, event.text or event.tool_name or event.call_id) for event in kept]


def test_lines_become_events_once_each(desk, session, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(RUN[:4]) + RUN[4][:20])  # the last line is being written
    transcripts.send(desk, "claude-code", str(session.pk), str(path), "run-1", whole=False)
    first = [("user_message", "Clean up"), ("injected_context", "<reminder>"), ("reasoning", "Hm."),
             ("agent_message", "I will.")]  # fmt: skip
    assert events(session) == first
    path.write_text("".join(RUN))
    for _ in range(2):
        transcripts.send(desk, "claude-code", str(session.pk), str(path), "run-1", whole=True)
    assert events(session)[:4] == first
    assert sorted(kind for kind, _ in events(session)[4:]) == ["model_request", "tool_call", "tool_result"]
    session.refresh_from_db()
    assert (session.input_tokens, session.output_tokens) == (10, 7)


def test_a_run_that_nothing_is_remembered_of_is_sent_again_and_is_there_once(desk, session, tmp_path):
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(RUN))
    transcripts.send(desk, "claude-code", str(session.pk), str(path), "run-1", whole=True)
    before = events(session)
    runs.remember("run-1", str(session.pk))
    transcripts.send(desk, "claude-code", str(session.pk), str(path), "run-1", whole=True)
    assert events(session) == before


@pytest.mark.parametrize("desk_of", [nobody, lambda: answering(GARBAGE["a page"])], ids=["stopped", "garbage"])
def test_a_report_that_cannot_be_sent_stops_nothing(tmp_path, desk_of):
    with desk_of() as url:
        for given in (CALL | {"hook_event_name": "Stop"}, CALL | {"transcript_path": None}, b"", b"[]"):
            for client in ("claude-code", "codex", "no-such-client"):
                ran = run(url, given, command=commands.report(client, "transcript"))
                assert (ran.status, ran.printed) == (0, b"")


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "a/b", "x" * 300, "a b", "\0"])
def test_a_run_whose_name_is_no_name_is_not_remembered(monkeypatch, tmp_path, name):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    runs.remember(name, "s")
    assert runs.recall(name) is None
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def item(kind, **more):
    return {"timestamp": STAMP, "type": "response_item", "payload": {"type": kind, **more}}


def spoken(role, text, *kinds):
    known = {"internal_chat_message_metadata_passthrough": {"content_item_kinds": list(kinds)}} if kinds else {}
    return item("message", role=role, content=[{"type": "input_text", "text": text}], **known)


ROLLOUT = [
    {"timestamp": STAMP, "type": "session_meta", "payload": {"id": "s"}},
    {"timestamp": STAMP, "type": "turn_context", "payload": {"model": "gpt-5.5"}},
    spoken("developer", "Skills"),
    spoken("user", "<environment_context>x</environment_context>"),
    spoken("user", "<b>Clean up</b>", "user.text"),
    spoken("user", "Clean up more"),
    {"timestamp": STAMP, "type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "UserMessage"}}},
    item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}]),
    item("reasoning", summary=[], encrypted_content="x"),
    item("function_call", name="exec_command", arguments='{"cmd": "ls"}', call_id="c1"),
    item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    item("function_call", name="odd", arguments="{", call_id="c3"),
    {"timestamp": STAMP, "type": "token_usage_record", "payload": {"usage": {
        "input_tokens": 100, "cached_input_tokens": 30, "cache_write_input_tokens": 10, "output_tokens": 5,
        "reasoning_output_tokens": 2}}},
    item("function_call_output", call_id="c1", output="Process exited with code 0\nmade"),
    item("custom_tool_call_output", call_id="c2", output="Exit code: 1\nno"),
    item("function_call_output", call_id="c3", output={"success": False, "content": "no"}),
    spoken("assistant", "Done."),
    {"type": "response_item", "payload": 7}, {}, item("message", role="user", content=None), item("web_search_call"),
]  # fmt: skip


def test_a_rollout_of_codex_becomes_events_each_of_its_line():
    found = list(CodexReader().events_of(ROLLOUT, 0))
    said = [(one["kind"], one.get("text") or (one.get("tool") or {}).get("call_id")) for one in found]
    assert said == [
        ("injected_context", "Skills"), ("injected_context", "<environment_context>x</environment_context>"),
        ("user_message", "<b>Clean up</b>"), ("user_message", "Clean up more"), ("reasoning", "Hm."),
        ("tool_call", "c1"), ("tool_call", "c2"), ("tool_call", "c3"), ("model_request", None), ("tool_result", "c1"),
        ("tool_result", "c2"), ("tool_result", "c3"), ("agent_message", "Done."),
    ]  # fmt: skip
    tools = [one["tool"] for one in found if "tool" in one]
    assert [tool["arguments"] for tool in tools[:3]] == [{"cmd": "ls"}, {"input": "*** Begin"}, {"input": "{"}]
    assert [tool["status"] for tool in tools[3:]] == ["ok", "error", "error"]
    request = found[8]
    assert request["usage"] == {
        "input_tokens": 60, "cache_read_tokens": 30, "cache_write_tokens": 10, "output_tokens": 5,
        "reasoning_tokens": 2,
    }  # fmt: skip
    assert {one["model"] for one in found if one["kind"] in ("reasoning", "tool_call", "model_request")} == {"gpt-5.5"}
    for first in range(len(ROLLOUT)):
        later = list(CodexReader().events_of(ROLLOUT, first))
        assert later == found[len(found) - len(later) :]
        assert all(int(one["client_id"].partition(":")[2]) >= first for one in later)


def test_a_rollout_is_taken_by_the_desk(desk, session, tmp_path):
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in ROLLOUT))
    for _ in range(2):
        transcripts.send(desk, "codex", str(session.pk), str(path), "run-2", whole=True)
    session.refresh_from_db()
    assert len(events(session)) == 13
    assert (session.input_tokens, session.output_tokens) == (60, 5)
