"""What records say under members that no reader knows is kept with their events, and nothing is said twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.reads import events, kinds, read
from vcon_app.formats import claude_code, copilot_cli
from vcon_app.formats.agents import amp, droid, gptme, kimi, openclaw_telemetry, pi
from vcon_app.formats.common.agents import beside
from vcon_app.formats.common.agents.beside import KEY

SAID = "The tide turns at six in the morning"
AT = "2026-03-02T08:00:00Z"


def gptme_line(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": "When?", "timestamp": AT, **more}


def test_words_under_a_member_that_nobody_knows_stand_under_their_place() -> None:
    line = gptme_line(metadata={"advice": {"by/the~sea": [SAID]}})
    (event,) = events(read(gptme, jsonl(line)))
    assert (event.kind, event.text) == ("user_message", "When?")
    assert event.data[KEY] == {"/metadata/advice/by~1the~0sea/0": SAID}


@pytest.mark.parametrize(
    "value",
    [
        "When?", "0199d2aa-4c00-8fff-9f3c-5a1d0e7b2cff", "toolu_01J4MStANayy4WN4bKQkNSDk", AT, "iVBORw0KGgo" * 40,
        "data:image/png;base64,AAAABBBBCCCCDDDD", 12345678901234567890, True,
    ],
)  # fmt: skip
def test_ids_bytes_and_what_an_event_says_are_no_further_words(value: Any) -> None:
    (event,) = events(read(gptme, jsonl(gptme_line(metadata={"more": value}))))
    assert KEY not in event.data


def test_words_are_found_again_in_json_in_tags_behind_a_stamp_and_in_an_address() -> None:
    said = beside.Said([{"path": "/srv/the harbour wall"}, SAID, "and again at noon"])
    for text in (
        json.dumps({"told": SAID}), json.dumps(SAID), f"<REQUEST>\n{SAID}\n</REQUEST>", f"[Sat 11:35] {SAID}",
        "file:///srv/the%20harbour%20wall", f"{SAID}\n  and again at noon",
    ):  # fmt: skip
        assert said.has(text), text
    assert not said.has("The tide does not turn at all") and not said.has(f"{SAID}\nand nobody told")


def test_a_record_without_events_says_its_words_alone() -> None:
    tree = {"uri": "https://git.example/harbour", "repository": {"url": "https://git.example/harbour.git"}}
    thread = {"id": "T-1", "created": 1772236400000, "env": {"initial": {"trees": [tree]}}, "agentMode": "smart",
              "messages": [{"role": "user", "messageId": 0, "content": [{"type": "text", "text": "Hi"}]}]}  # fmt: skip
    first, second = events(read(amp, thread))
    assert (first.kind, first.data[KEY]) == ("system", {
        "/env/initial/trees/0/repository/url": "https://git.example/harbour.git"})  # fmt: skip
    assert (second.kind, KEY in second.data) == ("user_message", False)


def test_the_name_of_an_account_and_definitions_of_tools_are_not_kept() -> None:
    head = {"type": "session_start", "id": "s", "owner": "ada.lovelace.of.the.harbour", "note": SAID}
    said = {"type": "message", "timestamp": AT, "message": {"role": "user", "content": "Hi"}}
    found = events(read(droid, jsonl(head, said)))
    assert [event.data.get(KEY) for event in found] == [None, None] and found[0].data["note"] == SAID
    offered = {"type": "llm.tools_snapshot", "tools": [{"name": "Bash", "description": SAID}], "time": 1772236400000}
    meta = {"type": "metadata", "protocol_version": "1.5", "created_at": 1772236400000}
    assert not any(KEY in event.data for event in events(read(kimi, jsonl(meta, offered))))


def test_what_is_kept_is_bounded() -> None:
    many = {f"note{number}": f"{SAID}, note {number}" for number in range(200)}
    (event,) = events(read(gptme, jsonl(gptme_line(metadata=many))))
    assert len(event.data[KEY]) == beside.MOST_VALUES
    (event,) = events(read(gptme, jsonl(gptme_line(metadata={"essay": SAID * 1000}))))
    assert len(event.data[KEY]["/metadata/essay"]) == beside.VALUE_LIMIT


def test_a_huge_list_is_not_laid_out() -> None:
    """Words behind more values than are looked at stay in the file; what is before them is found."""
    line = gptme_line(metadata={"first": SAID, "numbers": [0] * 400_000, "last": f"{SAID}, and so on"})
    (event,) = events(read(gptme, jsonl(line)))
    assert event.data[KEY] == {"/metadata/first": SAID}


def test_the_words_around_a_prompt_of_openclaw_are_told_once() -> None:
    head = {"type": "session", "version": 3, "id": "s", "timestamp": AT}
    text = f'Sender (untrusted metadata):\n```json\n{{"label": "pat"}}\n```\n\n[Sat 2026-03-14 11:35 GMT+8] {SAID}'
    said = {"type": "message", "id": "m", "timestamp": AT, "message": {"role": "user", "content": text}}
    assert not any(KEY in event.data for event in events(read(pi, jsonl(head, said))))


# --- words that readers knew and did not tell ---


def test_telemetry_tells_what_tools_brought_and_the_answers_that_only_a_later_run_repeats() -> None:
    key = {"sessionKey": "agent:main:main", "agentId": "main"}
    usage = {"input": 3, "output": 4, "cacheRead": 0, "cacheWrite": 0}
    history = [
        {"role": "user", "content": "Which way is the wind?"},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "t1", "name": "exec", "arguments": {"c": "vane"}}],
         "usage": usage, "timestamp": 1},
        {"role": "toolResult", "toolCallId": "t1", "toolName": "exec", "content": [{"type": "text", "text": "north"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "From the north."}], "usage": usage, "timestamp": 2},
    ]  # fmt: skip
    lines = [
        {"type": "agent.start", "ts": 1772236400000, "prompt": "Which way is the wind?", "messages": [], **key},
        {"type": "tool.start", "ts": 1772236401000, "toolName": "exec", "params": {"c": "vane"}, **key},
        {"type": "tool.end", "ts": 1772236402000, "toolName": "exec", "durationMs": 5, "success": True, **key},
        {"type": "agent.start", "ts": 1772236410000, "prompt": "And now?", "messages": history, **key},
        {"type": "agent.end", "ts": 1772236420000, "messages": history, **key},
    ]
    found = events(read(openclaw_telemetry, jsonl(*lines)))
    assert [event.text for event in found if event.kind == "agent_message"] == ["From the north."]
    assert [event.text for event in found if event.data.get("type") == "toolResult"] == ["north"]
    assert sum(event.usage.output_tokens or 0 for event in found if event.usage) == 8
    assert kinds(found).count("tool_call") == 1 and not any("calls" in event.data for event in found)


@pytest.mark.parametrize(
    ("response", "shown", "status", "text"),
    [
        ({"output": "# The harbour"}, "Read 1 line", "ok", "# The harbour"),
        ({"error": "no such file"}, "Failed", "error", "no such file"),
    ],
)
def test_iflow_keeps_a_result_in_the_shape_of_the_gemini_api(response: Any, shown: str, status: str, text: str) -> None:
    of = {"sessionId": "s", "timestamp": AT, "version": "1.0.0"}
    call = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": "a"}}
    parts = {"functionResponse": {"id": "call_1", "name": "read_file", "response": response}}
    content = {"callId": "call_1", "responseParts": parts, "resultDisplay": shown}
    result = {"type": "tool_result", "tool_use_id": "call_1", "content": content}
    lines = [
        {"type": "assistant", "uuid": "a", **of, "message": {"role": "assistant", "id": "r1", "content": [call]}},
        {"type": "user", "uuid": "b", "parentUuid": "a", **of, "toolUseResult": {"toolName": "read_file"},
         "message": {"role": "user", "content": [result]}},
    ]  # fmt: skip
    (told,) = [event for event in events(read(claude_code, jsonl(*lines))) if event.kind == "tool_result"]
    assert told.tool and (told.text, told.tool.status, told.tool.result["display"]) == (text, status, shown)


def test_vs_code_pairs_calls_with_what_the_model_asked_for_and_lays_their_results_out() -> None:
    node = {"children": [{"text": "The file was edited:"}, {"children": [{"text": "/a.ts", "lineBreakBefore": True}]}]}
    metadata = {
        "toolCallRounds": [
            {"toolCalls": [{"id": "toolu_1", "name": "replace_string", "arguments": '{"path": "/a.ts"}'}]}
        ],
        "toolCallResults": {"toolu_1": {"content": [{"value": {"node": node}}]}},
        "renderedUserMessage": [{"type": 1, "text": "<attachments>a.ts</attachments>"}],
    }
    shown = {"kind": "toolInvocationSerialized", "toolCallId": "0a-1b", "toolId": "copilot_replace", "isComplete": True}
    request = {"requestId": "r", "timestamp": 1772236400000, "message": {"text": "Edit it"}, "response": [shown],
               "result": {"metadata": metadata, "details": "Tide 2 • 1x"}}  # fmt: skip
    chat = {"sessionId": "s", "requesterUsername": "ada", "requests": [request]}
    found = events(read(copilot_cli, chat))
    assert kinds(found) == ["user_message", "injected_context", "tool_call", "tool_result"]
    assert found[0].data["details"] == "Tide 2 • 1x"
    assert found[2].tool and (found[2].tool.name, found[2].tool.arguments) == ("replace_string", {"path": "/a.ts"})
    assert found[3].text == "The file was edited:\n/a.ts"


def test_vs_code_tells_a_call_of_the_model_that_the_response_does_not_show() -> None:
    calls = [{"id": f"toolu_{n}", "name": f"tool_{n}", "arguments": "{}"} for n in (1, 2)]
    metadata = {"toolCallRounds": [{"toolCalls": calls}], "toolCallResults": {"toolu_2": {"content": [{"value": "2"}]}}}
    shown = {"kind": "toolInvocationSerialized", "toolCallId": "0a-1b", "toolId": "copilot_a", "isComplete": True}
    request = {"requestId": "r", "message": "Do", "response": [shown], "result": {"metadata": metadata}}
    found = events(read(copilot_cli, {"sessionId": "s", "requesterUsername": "ada", "requests": [request]}))
    assert [(event.data["name"], event.text) for event in found if event.data.get("type") == "toolCallRounds"] == [
        ("tool_1", ""), ("tool_2", "2")]  # fmt: skip
