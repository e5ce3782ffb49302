"""What many coding agents have in common: a response counts once, in the right class, and odd values break nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bench.formats.corpus import NAMES
from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats import acp, claude_code, codex
from vcon_app.formats.agents import amp, cline, cline_classic, droid, grok, kimi, openhands, openhands_v0, pi, vibe
from vcon_app.formats.common.head import Head

from .checks import check_odd_values, jsonl
from .reads import assert_sound, events, findings, kinds, mutants, read, sessions, tokens

AGENTS = (
    "acp", "aider", "amp", "antigravity", "cline", "cline-classic", "continue", "droid", "gemini-stream", "goose",
    "gptme", "grok", "hermes", "kimi", "kiro", "openclaw-telemetry", "openhands", "openhands-v0", "pi",
    "posit-assistant", "specstory", "vibe", "windsurf",
)  # fmt: skip
FILES = [(name, path) for name in AGENTS for path in sorted((SAMPLES / name).iterdir()) if path.suffix != ".expected"]
COUNTED = {
    "acp/log.jsonl": (90, 40, 0, 12),
    "aider/aider.chat.history.md": (2100, 1100, 0, 210),
    "amp/thread.json": (9, 13622, 250, 58),
    "cline/session.messages.json": (260, 2700, 100, 52),
    "cline-classic/ui_messages.json": (400, 700, 20, 45),
    "continue/session.json": (210, 900, 120, 35),
    "droid/stream.jsonl": (70, 400, 0, 9),
    "gemini-stream/run.jsonl": (700, 300, 0, 40),
    "goose/session.jsonl": (1200, 0, 0, 80),
    "gptme/conversation.jsonl": (90, 300, 25, 11),
    "kimi/old-wire.jsonl": (40, 300, 0, 9),
    "kimi/wire.jsonl": (560, 4500, 0, 48),
    "openclaw-telemetry/telemetry.jsonl": (3, 400, 20, 12),
    "openhands/base_state.json": (900, 8000, 500, 350),
    "openhands-v0/output.jsonl": (11000, 0, 0, 140),
    "openhands-v0/trajectory.json": (11000, 0, 0, 140),
    "pi/session.jsonl": (180, 1950, 30, 52),
    "posit-assistant/lm-messages.jsonl": (100, 1100, 10, 26),
    "vibe/meta.json": (300, 600, 0, 70),
}
"""Sample -> input without the cache, cache read, cache written, output: all others state no tokens."""


def drafts(name: str, value: Any) -> Any:
    return read(registry.get(name), value)


@pytest.mark.parametrize(("name", "path"), FILES, ids=lambda one: getattr(one, "name", one))
def test_tokens_of_a_sample_are_those_that_its_tool_was_billed_for(name: str, path: Any) -> None:
    found = tokens(read(registry.get(name), path.read_bytes()))
    del found["reasoning"]
    stated = COUNTED.get(f"{name}/{path.name}", (0, 0, 0, 0))
    assert found == dict(zip(("input", "cache_read", "cache_write", "output"), stated, strict=True))
    assert found.keys() < NAMES.keys()


@pytest.mark.parametrize(("name", "path"), FILES, ids=lambda one: getattr(one, "name", one))
def test_a_value_that_should_not_be_there_breaks_no_reader(name: str, path: Any) -> None:
    reader, data = registry.reader(name), path.read_bytes()
    if path.suffix == ".md":
        for cut in range(0, len(data), 37):
            assert_sound(read(reader, data[cut:] if cut else data) if data[cut:].startswith(data[:20]) else [])
        return
    lines = data.splitlines() if path.suffix == ".jsonl" else [data]
    for number, line in enumerate(lines):
        for count, mutant in enumerate(mutants(json.loads(line))):
            if count % 7 != number % 7:
                continue
            changed = b"\n".join([*lines[:number], json.dumps(mutant).encode(), *lines[number + 1 :]])
            reader.detect(Head(changed))
            try:
                assert_sound(read(reader, changed))
            except FormatError as refused:
                assert str(refused)


def test_every_field_of_a_pi_entry_may_be_anything() -> None:
    lines = (SAMPLES / "pi/session.jsonl").read_bytes().splitlines(keepends=True)
    check_odd_values(pi, lines[0], [json.loads(line) for line in lines[2:5]])


# --- one rule of one tool each ---


def test_pi_a_message_that_follows_an_older_one_begins_a_branch_and_both_were_paid_for() -> None:
    found = read(pi, (SAMPLES / "pi/session.jsonl").read_bytes())
    back = [event for event in events(found) if event.data.get("type") == "rewind"]
    assert [event.data["to"] for event in back] == ["a2"]


def test_pi_zeros_in_place_of_usage_are_not_known_and_no_price_is_none() -> None:
    head = {"type": "session", "id": "s", "timestamp": "2026-03-02T08:00:00Z"}
    zero = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}
    said = {"type": "message", "id": "m", "message": {"role": "assistant", "content": "Hi", "usage": zero}}
    (event,) = [event for event in events(read(pi, jsonl(head, said))) if event.kind == "agent_message"]
    assert event.usage is None and event.cost is None


def test_openclaw_metadata_before_a_prompt_is_not_what_the_person_said() -> None:
    found = events(read(pi, (SAMPLES / "pi/openclaw.jsonl").read_bytes()))
    (prompt,) = [event for event in found if event.kind == "user_message"]
    assert prompt.text == "Is the kettle on?"
    assert any("untrusted metadata" in event.text for event in found if event.kind == "injected_context")


def test_kimi_usage_that_a_record_repeats_counts_once_and_what_it_alone_states_is_told() -> None:
    found = read(kimi, (SAMPLES / "kimi/wire.jsonl").read_bytes())
    assert "1000 tokens were spent outside of the steps" in findings(found)["kimi.total"].message


def test_kimi_records_count_where_no_step_states_usage() -> None:
    usage = {"inputOther": 5, "output": 2, "inputCacheRead": 1, "inputCacheCreation": 0}
    rows = ({"type": "metadata", "protocol_version": "1.5"}, {"type": "usage.record", "usage": usage, "time": 1})
    assert tokens(read(kimi, jsonl(*rows))) == {
        "input": 5, "output": 2, "cache_read": 1, "cache_write": 0, "reasoning": 0,
    }  # fmt: skip


def test_cline_a_compaction_is_another_session_than_the_one_it_shortens() -> None:
    whole, short = ((SAMPLES / "cline" / name).read_bytes() for name in ("session.messages.json", "compaction.json"))
    ids = {sessions(read(cline, data))[-1].external_id for data in (whole, short)}
    assert ids == {"1782900000000_tulip", "1782900000000_tulip.compaction"}


def test_cline_classic_a_half_text_goes_when_the_whole_one_comes_and_stays_when_none_does() -> None:
    rows = [{"ts": 1, "type": "say", "say": "text", "text": "Go"},
            {"ts": 2, "type": "say", "say": "text", "text": "I w", "partial": True},
            {"ts": 2, "type": "say", "say": "text", "text": "I will"},
            {"ts": 3, "type": "say", "say": "text", "text": "The la", "partial": True}]  # fmt: skip
    told = [event.text for event in events(read(cline_classic, rows))]
    assert told == ["Go", "I will", "The la"]


def test_amp_what_became_of_a_call_is_its_status() -> None:
    found = events(read(amp, (SAMPLES / "amp/thread.json").read_bytes()))
    assert [event.tool.status for event in found if event.kind == "tool_result" and event.tool] == ["ok", "error"]


def test_droid_a_reminder_and_the_name_of_an_account_are_not_told_as_words_of_the_person() -> None:
    found = events(read(droid, (SAMPLES / "droid/session.jsonl").read_bytes()))
    assert [event.text for event in found if event.kind == "user_message"] == ["Fix the lights"]
    assert not any("owner" in event.data for event in found)


def test_openhands_what_a_person_refused_is_denied_and_its_risk_is_kept() -> None:
    found = events(read(openhands, (SAMPLES / "openhands/events.jsonl").read_bytes()))
    (denied,) = [event for event in found if event.kind == "approval"]
    assert denied.data["decision"] == "denied" and denied.actor_kind == "person"
    assert [event.data.get("security_risk") for event in found if event.kind == "tool_call"] == ["LOW", "HIGH"]


def test_openhands_v0_each_instance_is_a_session_with_its_own_running_total() -> None:
    line = (SAMPLES / "openhands-v0/output.jsonl").read_bytes().splitlines(keepends=True)[0]
    other = line.replace(b"roof-17", b"roof-18").replace(b"2025-04-30", b"2025-05-01")
    found = read(openhands_v0, line + other)
    assert len({session.external_id for session in sessions(found)}) == 2
    assert tokens(found)["input"] == 22000


def test_openhands_v0_a_finish_that_is_no_tool_ends_the_run_in_words() -> None:
    steps = [
        [{"action": "message", "args": {"content": "Mend it"}}, {"observation": "null", "content": ""}],
        [{"action": "finish", "args": {"thought": "It is mended."}}, {"observation": "null", "content": ""}],
    ]
    found = events(read(openhands_v0, {"instance_id": "weir-1", "history": steps}))
    assert "tool_call" not in [event.kind for event in found]
    assert [event.text for event in found if event.kind == "agent_message"] == ["It is mended."]


@pytest.mark.parametrize(
    ("reader", "value", "why"),
    [
        (cline, {"session_id": "s", "started_at": "", "provider": "", "workspace_root": ""}, "holds no message"),
        (grok, {"info": {"id": "s"}, "session_summary": "x", "num_messages": 2}, "chat_history.jsonl beside it"),
        (acp, {"sessionUpdate": "plan", "entries": []}, "one message of the Agent Client Protocol"),
        (kimi, {"custom_title": "", "title_generated": False, "wire_mtime": None}, "wire.jsonl or context.jsonl"),
        (codex, {"session_id": "s", "ts": 1, "text": "hi"}, "history of what was typed"),
    ],
)
def test_a_file_that_holds_no_session_is_refused_in_words(reader: Any, value: Any, why: str) -> None:
    assert reader.detect(Head(json.dumps(value).encode()))
    with pytest.raises(FormatError, match=why):
        read(reader, value)


def test_a_call_that_the_next_response_repeats_is_one_call() -> None:
    """iFlow CLI begins a response with the call that ended the one before it."""
    call = {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {}}
    other = call | {"id": "call_2"}
    lines = [
        {"type": "assistant", "uuid": f"u{number}", "sessionId": "s", "timestamp": "2026-01-01T00:00:00Z",
         "message": {"role": "assistant", "id": f"response-{number}", "content": content}}
        for number, content in enumerate([[call], [call, other], [other]])
    ]  # fmt: skip
    found = read(claude_code, b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    assert [event.tool.call_id for event in events(found) if event.kind == "tool_call"] == ["call_1", "call_2"]


def test_sessions_of_files_that_name_none_are_named_by_where_they_lie() -> None:
    places = {
        (kimi, "sessions/wd_a/session_1/agents/main/wire.jsonl"): "session_1",
        (kimi, "sessions/wd_a/session_1/agents/agent-0/wire.jsonl"): "session_1/agent-0",
        (kimi, "wire.jsonl"): None,
        (droid, "-srv/0b1c.settings.json"): "0b1c",
        (droid, "-srv/0b1c.jsonl"): None,
        (vibe, "logs/session/session_20260613_1_ab/meta.json"): "session_20260613_1_ab",
        (openhands, "C:\\home\\conversations\\77\\events\\event-00000-x.json"): "77",
    }
    assert {place: place[0].session_in_path(place[1]) for place in places} == places


def test_acp_chunks_of_one_message_are_one_event() -> None:
    found = read(acp, (SAMPLES / "acp/log.jsonl").read_bytes())
    assert [event.text for event in events(found) if event.kind in ("reasoning", "agent_message")] == [
        "Wind first.", "I check the wind.",
    ]  # fmt: skip
    assert kinds(found).count("tool_call") == kinds(found).count("tool_result") == 1
