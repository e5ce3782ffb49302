"""Forms in which agents write a session: printed whole or in pieces, exported out of a store, split over files."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from tests.formats.checks import jsonl
from tests.formats.more_agents.told import events, session, tokens, told
from tests.formats.stores.made import T0, database
from vcon_app.drafts import Draft, SessionDraft

AT = "2026-03-02T08:00:00Z"


def said(drafts: list[Draft]) -> list[tuple[str, str]]:
    return [(event.kind, event.text) for event in events(drafts) if event.kind not in ("system", "status")]


def document(value: Any) -> bytes:
    return json.dumps(value).encode()


# --- Droid ---

RESULT = {
    "type": "result", "subtype": "success", "is_error": False, "duration_ms": 5, "num_turns": 1, "result": "Oiled.",
    "session_id": "s1", "usage": {"input_tokens": 9, "output_tokens": 4, "cache_read_input_tokens": 3},
}  # fmt: skip


@pytest.mark.parametrize(("failed", "phase"), [(False, "completed"), (True, "crashed")])
def test_the_result_that_droid_prints_is_a_session(failed: bool, phase: str) -> None:
    found = told(document(RESULT | {"is_error": failed}), "droid")
    assert said(found) == [("agent_message", "Oiled.")] and tokens(found) == [9, 3, 0, 4]
    assert (session(found).external_id, session(found).phase) == ("s1", phase)


def test_a_thought_in_the_stream_of_droid_is_reasoning() -> None:
    begun = {"type": "system", "subtype": "init", "session_id": "s1", "model": "sand-1", "cwd": "/w"}
    thought = {"type": "reasoning", "id": "r", "text": "Which oil?", "timestamp": 1_767_225_600_000}
    ended = {"type": "completion", "finalText": "Oiled.", "numTurns": 1}
    found = told(jsonl(begun, thought, ended), "droid")
    assert said(found) == [("reasoning", "Which oil?"), ("agent_message", "Oiled.")]
    assert session(found).phase == "completed"


# --- Crush ---

CRUSH = (
    "CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT, prompt_tokens INTEGER,"
    " completion_tokens INTEGER, cost REAL, created_at INTEGER, updated_at INTEGER)",
    "CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, parts TEXT, model TEXT,"
    " created_at INTEGER)",
)


def crush(*parts: dict[str, Any], ended: str = "end_turn") -> list[Draft]:
    """A session of $5 with these parts, and one of a sub-agent that cost $2 of them."""
    sessions = [{"id": "s1", "cost": 5.0}, {"id": "m1$$c1", "parent_session_id": "s1", "cost": 2.0}]
    end = {"type": "finish", "data": {"reason": ended}}
    rows = [("sessions", row | {"prompt_tokens": 1, "created_at": T0}) for row in sessions]
    rows += [
        ("messages", {"id": "m1", "session_id": "s1", "role": "user", "parts": list(parts), "created_at": T0}),
        ("messages", {"id": "m2", "session_id": "m1$$c1", "role": "assistant", "parts": [end], "created_at": T0}),
    ]
    return told(database(*CRUSH, rows=rows), "crush")


@pytest.mark.parametrize(("ended", "own"), [("end_turn", 3), ("error", 5), ("canceled", 5)])
def test_what_a_sub_agent_of_crush_cost_is_counted_once(ended: str, own: int) -> None:
    costs = [
        event.cost for event in events(crush({"type": "text", "data": {"text": "Oil it"}}, ended=ended)) if event.cost
    ]
    assert costs == [Decimal(own), Decimal(2)]


def test_a_command_that_a_person_ran_in_crush_is_their_call() -> None:
    command = {"type": "shell_command", "data": {"command": "ls", "output": "linseed", "exit_code": 1}}
    call, result = (event for event in events(crush(command)) if event.kind.startswith("tool"))
    assert (call.actor_kind, result.text, result.parent) == ("person", "linseed", call.key)
    assert result.tool and result.tool.status == "error"


def test_a_session_that_crush_prints_is_as_in_its_store() -> None:
    about = {"id": "hash", "uuid": "s1", "title": "Oil", "created": AT, "modified": AT, "cost": 0.5, "prompt_tokens": 9,
             "completion_tokens": 4}  # fmt: skip
    parts = [
        {"type": "text", "text": "I look"},
        {"type": "tool_call", "tool_call_id": "c", "name": "ls", "input": "{}"},
    ]
    result = {"type": "tool_result", "tool_call_id": "c", "name": "ls", "content": "linseed"}
    messages = [{"id": "m1", "role": "assistant", "model": "sand-1", "created": AT, "parts": parts},
                {"id": "m2", "role": "tool", "created": AT, "parts": [result]}]  # fmt: skip
    found = told(document({"meta": about, "messages": messages}), "crush")
    assert said(found) == [("model_request", ""), ("agent_message", "I look"), ("tool_call", ""),
                           ("tool_result", "linseed")]  # fmt: skip
    whole = session(found)
    assert (whole.external_id, whole.title, whole.model, tokens(found)) == ("s1", "Oil", "sand-1", [0, 0, 0, 0])
    call, result_event = events(found)[-2:]
    assert result_event.parent == call.key


# --- Kiro ---

HISTORY = [{"message": {"role": "user", "content": "Oil it", "id": "u"}},
           {"message": {"role": "assistant", "content": "On it.", "id": "a"}, "executionId": "e1"}]  # fmt: skip


def test_a_session_of_kiros_ide_that_names_its_folder_as_continue_does_is_kiros() -> None:
    value = {"sessionId": "k1", "title": "Oil", "workspaceDirectory": "/w", "history": HISTORY}
    found = told(document(value), "kiro")
    assert said(found) == [("user_message", "Oil it"), ("agent_message", "On it.")]
    assert session(found).metadata["environment"] == {"cwd": "/w"}


def test_an_execution_of_kiros_ide_is_what_it_answered() -> None:
    actions = [
        {"actionId": "x", "actionType": "replace", "input": {"file": "a", "modifiedContent": "b"}, "output": {"ok": 1},
         "actionState": "Accepted"},
        {"actionId": "y", "actionType": "say", "output": {"message": "Oiled."}},
    ]  # fmt: skip
    value = {"executionId": "e1", "chatSessionId": "k1", "status": "succeed", "actions": actions}
    found = told(document(value), "kiro")
    assert said(found) == [("tool_call", ""), ("tool_result", ""), ("agent_message", "Oiled.")]
    whole = session(found)
    assert (whole.external_id, whole.parent_external_id, whole.phase) == ("e1", "k1", "completed")


def test_the_older_execution_of_kiros_ide_is_its_messages() -> None:
    chat = [
        {"role": "human", "content": "<identity>Kiro"}, {"role": "bot", "content": "Understood"},
        {"role": "human", "content": "<kiro-ide-message>Oil it</kiro-ide-message>"},
        {"role": "bot", "content": "Oiled."},
    ]  # fmt: skip
    found = told(document({"executionId": "e1", "chat": chat, "metadata": {"modelId": "sand-1"}}), "kiro")
    assert said(found) == [
        ("injected_context", "<identity>Kiro"), ("agent_message", "Understood"), ("user_message", "Oil it"),
        ("agent_message", "Oiled."),
    ]  # fmt: skip
    assert session(found).model == "sand-1"


# --- Hermes ---

HERMES = (
    "CREATE TABLE sessions (id TEXT, source TEXT, model TEXT, started_at REAL, input_tokens INTEGER,"
    " output_tokens INTEGER)",
    "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_calls TEXT,"
    " tool_call_id TEXT, timestamp REAL)",
)
WHOLE = {"id": "s1", "source": "cli", "model": "sand-1", "started_at": T0, "input_tokens": 9, "output_tokens": 4}


@pytest.mark.parametrize("mark", ["\0json:", "\1json:"])
def test_blocks_that_hermes_keeps_as_a_text_are_words_and_pictures(mark: str) -> None:
    blocks = [{"type": "text", "text": "Look at it"}, {"type": "image_url", "image_url": {"url": "data:image/png;,AA"}}]
    message = {"session_id": "s1", "role": "user", "content": mark + json.dumps(blocks), "timestamp": T0}
    found = told(database(*HERMES, rows=[("sessions", WHOLE), ("messages", message)]), "hermes-store")
    prompt = next(event for event in events(found) if event.kind == "user_message")
    assert prompt.text == "Look at it" and len(prompt.data["attachments"]) == 1


def test_sessions_that_hermes_exports_have_their_tokens() -> None:
    message = {"id": 1, "session_id": "s1", "role": "user", "content": "Oil it", "timestamp": T0}
    found = told(jsonl(WHOLE | {"messages": [message]}, WHOLE | {"id": "s2", "messages": [message]}), "hermes-store")
    assert tokens(found) == [18, 0, 0, 8]
    assert {draft.external_id for draft in found if isinstance(draft, SessionDraft)} == {"s1", "s2"}


def test_a_conversation_that_hermes_saves_is_read() -> None:
    messages = [{"role": "user", "content": "Oil it"}, {"role": "assistant", "content": "Oiled."}]
    found = told(document({"model": "sand-1", "session_start": AT, "messages": messages}), "hermes")
    assert said(found) == [("user_message", "Oil it"), ("agent_message", "Oiled.")]


# --- Vibe ---


def test_the_one_file_of_a_session_of_the_first_vibe_is_read() -> None:
    stats = {"session_prompt_tokens": 9, "session_completion_tokens": 4, "session_cost": 0.5}
    about = {"session_id": "s1", "start_time": AT, "stats": stats, "agent_config": {"active_model": "sand-1"}}
    messages = [{"role": "user", "content": "Oil it"}, {"role": "assistant", "content": "Oiled."}]
    found = told(document({"metadata": about, "messages": messages}), "vibe")
    assert tokens(found) == [9, 0, 0, 4] and session(found).model == "sand-1"
    assert [event.cost for event in events(found) if event.usage] == [Decimal("0.5")]


# --- Goose ---


def piece(text: str, own: str = "m") -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "message", "message": {"id": own, "role": "assistant", "created": T0, "content": content}}


def test_pieces_of_a_message_that_goose_prints_are_one_message() -> None:
    changed = {"type": "model_change", "model": "sand-2", "mode": "lead"}
    found = told(jsonl(piece("Oi"), piece("led."), piece("Done.", "n"), changed, {"type": "complete"}), "goose")
    assert said(found) == [("agent_message", "Oiled."), ("agent_message", "Done.")]
    assert session(found).model == "sand-2"


def test_what_goose_asks_a_person_to_allow_is_shown() -> None:
    asked = {"actionType": "toolConfirmation", "id": "c", "toolName": "shell", "arguments": {"command": "rm a"}}
    content = [{"type": "actionRequired", "data": asked}]
    found = told(jsonl({"role": "user", "created": T0, "content": content}), "goose")
    assert events(found)[-1].data["arguments"] == {"command": "rm a"}


def test_the_cache_is_part_of_the_input_that_goose_states() -> None:
    stated = {"accumulated_input_tokens": 40, "accumulated_cache_read_tokens": 30, "accumulated_cache_write_tokens": 4,
              "accumulated_output_tokens": 5}  # fmt: skip
    about = {"id": "g1", "working_dir": "/w", "message_count": 1, "conversation": [piece("Oiled.")["message"]]}
    assert tokens(told(document(about | stated), "goose")) == [6, 30, 4, 5]
    nested = {"accumulated_usage": {"input_tokens": 40, "cache_read_input_tokens": 30, "output_tokens": 5}}
    assert tokens(told(document(about | nested), "goose")) == [10, 30, 0, 5]


# --- pi ---

USED = {"input": 10, "output": 2, "cacheRead": 3, "cacheWrite": 1, "cost": {"total": 0.5}}
OUTPUT = [{"type": "text", "text": "linseed"}]


def entry(kind: str, own: str, **members: Any) -> dict[str, Any]:
    return {"type": kind, "id": own, "parentId": None, "timestamp": AT, **members}


def pi(*entries: dict[str, Any]) -> list[Draft]:
    return told(jsonl({"type": "session", "version": 3, "id": "p1", "timestamp": AT, "cwd": "/w"}, *entries), "pi")


@pytest.mark.parametrize("spent", [
    entry("compaction", "a", summary="The hinge", firstKeptEntryId="x", tokensBefore=9, usage=USED),
    entry("branch_summary", "a", summary="The hinge", fromId="x", usage=USED),
    entry("message", "a", message={"role": "toolResult", "toolCallId": "c", "content": OUTPUT, "usage": USED}),
])  # fmt: skip
def test_what_summaries_and_tools_of_pi_take_is_counted(spent: dict[str, Any]) -> None:
    found = pi(spent, entry("message", "b", message={"role": "assistant", "content": OUTPUT, "usage": USED}))
    assert tokens(found) == [20, 6, 2, 4]
    assert [event.cost for event in events(found) if event.usage] == [Decimal("0.5")] * 2


def test_entries_of_oh_my_pi_are_known() -> None:
    ran = {"role": "pythonExecution", "code": "1 + 1", "output": "2", "exitCode": 0}
    named = {"role": "fileMention", "files": [{"path": "a", "content": "The hinge squeaks"}]}
    found = pi(
        entry("session_init", "a", systemPrompt="Be kind", task="Oil it", tools=["read"]),
        entry("mode_change", "b", mode="plan"), entry("title_change", "c", title="The hinge"),
        entry("message", "d", message=ran), entry("message", "e", message=named),
        entry("message", "f", message={"role": "developer", "content": "Be brief"}),
    )  # fmt: skip
    assert "unknown" not in {event.kind for event in events(found)} and session(found).title == "The hinge"
    words = [event.text for event in events(found) if event.text]
    assert words == ["Be kind", "Oil it", "2", "The hinge squeaks", "Be brief"]


# --- OpenCode ---

COUNTS = {"input": 10, "output": 2, "reasoning": 1, "cache": {"read": 3, "write": 1}}


def test_a_message_of_the_first_opencode_is_read() -> None:
    call = {"state": "result", "toolCallId": "c", "toolName": "bash", "args": {"command": "ls"}, "result": "linseed"}
    about = {"sessionID": "ses_1", "time": {"created": T0 * 1000}, "tool": {"c": {"title": "List"}},
             "assistant": {"modelID": "sand-1", "cost": 0.5, "tokens": COUNTS, "path": {"cwd": "/w"}}}  # fmt: skip
    parts = [{"type": "text", "text": "I look"}, {"type": "tool-invocation", "toolInvocation": call}]
    found = told(document({"id": "msg_1", "role": "assistant", "parts": parts, "metadata": about}), "opencode")
    assert said(found) == [("agent_message", "I look"), ("tool_call", ""), ("tool_result", "linseed"),
                           ("model_request", "")]  # fmt: skip
    assert tokens(found) == [10, 3, 1, 3] and session(found).model == "sand-1"


OPENCODE = (
    "CREATE TABLE session (id TEXT, directory TEXT, title TEXT, time_created INTEGER, time_updated INTEGER)",
    "CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)",
    "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)",
)
TOOL = {
    "type": "tool",
    "id": "c",
    "name": "bash",
    "state": {
        "status": "error",
        "input": {"command": "ls"},
        "content": [],
        "error": {"type": "unknown", "message": "closed"},
    },
}
SAID: list[tuple[str, dict[str, Any]]] = [
    ("user", {"text": "Oil it", "files": [{"mime": "image/png", "uri": "data:image/png;base64,AAAA"}]}),
    ("assistant", {"model": {"id": "sand-1"}, "content": [{"type": "text", "text": "I look"}, TOOL], "tokens": COUNTS}),
    ("synthetic", {"text": "Go on"}), ("compaction", {"reason": "auto", "summary": "The hinge"}),
    ("assistant", {"model": {"id": "sand-1"}, "content": [{"type": "text", "text": "I look"}], "tokens": COUNTS}),
]  # fmt: skip


@pytest.mark.parametrize("sequence", ["", ", seq INTEGER"])
@pytest.mark.parametrize("both", [False, True])
def test_messages_of_the_next_store_of_opencode_are_told_once(sequence: str, both: bool) -> None:
    rows: list[tuple[str, dict[str, Any]]] = [("session", {"id": "ses_1", "directory": "/w", "title": "Oil"})]
    for number, (kind, data) in enumerate(SAID):
        row = {"id": f"msg_{number}", "session_id": "ses_1", "type": kind, "data": data, "time_created": T0 + number}
        rows.append(("session_message", row | ({"seq": number} if sequence else {})))
    if both:
        told_before = {"role": "user", "time": {"created": T0}}
        rows.append(("message", {"id": "m", "session_id": "ses_1", "time_created": T0, "data": told_before}))
    table = (
        f"CREATE TABLE session_message (id TEXT, session_id TEXT, type TEXT, time_created INTEGER, data TEXT{sequence})"
    )
    found = told(database(*OPENCODE, table, rows=rows), "opencode")
    if both:
        assert said(found) == [] and tokens(found) == [0, 0, 0, 0]
        return
    assert [one for one in said(found) if one[0] != "model_request"] == [
        ("user_message", "Oil it"), ("injected_context", ""), ("agent_message", "I look"), ("tool_call", ""),
        ("tool_result", "closed"), ("injected_context", "Go on"), ("compaction", "The hinge"),
        ("agent_message", "I look"),
    ]  # fmt: skip
    assert tokens(found) == [20, 6, 2, 6]
