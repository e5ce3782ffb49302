"""Chats of claude.ai: who said what, on which branch, with which tools; and what is odd about a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import claude_export
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, events, findings, kinds, mutants, read, sessions

SAMPLE = json.loads((SAMPLES / "claude-export" / "conversations.json").read_bytes())
ROOT = "00000000-0000-4000-8000-000000000000"


def said(uuid: str | None, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    message = {"uuid": uuid, "sender": sender, "text": text, "created_at": "2026-09-01T06:00:00Z", **more}
    return {key: value for key, value in message.items() if value is not None}


def chat(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"uuid": "c1", "name": "Bread", "chat_messages": list(messages), **more}


def drafts(*messages: Any, **more: Any) -> list[Any]:
    return read(claude_export, chat(*messages, **more))


@pytest.mark.parametrize(
    "value",
    [
        [chat(said("a", "human", "Hi"))],
        chat(said("a", "human", "Hi")),
        {"conversations": [chat(said("a", "human", "Hi"))]},
    ],
)
def test_a_list_one_chat_and_a_wrapped_list_are_read_alike(value: Any) -> None:
    assert claude_export.detect(Head(json.dumps(value).encode()))
    found = read(claude_export, value)
    assert [session.external_id for session in sessions(found)] == ["c1"]
    assert [event.text for event in events(found)] == ["Hi"]


def test_each_chat_is_a_session_and_an_empty_one_too() -> None:
    found = read(claude_export, SAMPLE)
    assert [session.title for session in sessions(found)] == ["Feeding the sourdough", "", "A long paste"]


def test_content_beats_the_flattened_text() -> None:
    block = {"type": "text", "text": "from content"}
    assert [e.text for e in events(drafts(said("a", "assistant", "from text", content=[block])))] == ["from content"]
    assert [e.text for e in events(drafts(said("a", "assistant", "from text", content=[])))] == ["from text"]


def test_an_edited_prompt_leaves_a_branch_that_opens_no_turns() -> None:
    found = drafts(
        said("a", "human", "Rye?", parent_message_uuid=ROOT),
        said("b", "assistant", "Yes.", parent_message_uuid="a"),
        said("c", "human", "Spelt?", parent_message_uuid=ROOT),
        said("d", "assistant", "No.", parent_message_uuid="c"),
    )
    told = [(event.text, event.depth, event.data.get("branch")) for event in events(found)]
    assert told == [("Rye?", 1, "a"), ("Yes.", 1, "a"), ("Spelt?", 0, None), ("No.", 0, None)]


def test_the_current_leaf_decides_which_branch_is_the_chat() -> None:
    found = drafts(
        said("a", "human", "Rye?", parent_message_uuid=ROOT),
        said("b", "assistant", "Yes.", parent_message_uuid="a"),
        said("c", "assistant", "No.", parent_message_uuid="a"),
        current_leaf_message_uuid="b",
    )
    assert [(event.text, event.depth) for event in events(found)] == [("Rye?", 0), ("No.", 1), ("Yes.", 0)]
    assert events(found)[1].parent == events(found)[0].key


def test_results_without_ids_belong_to_the_oldest_open_call_of_their_name() -> None:
    blocks = [
        {"type": "tool_use", "name": "a", "input": {"n": 1}},
        {"type": "tool_use", "name": "b", "input": {"n": 2}},
        {"type": "tool_result", "name": "b", "content": "second"},
        {"type": "tool_result", "name": "other", "content": "first"},
        {"type": "tool_result", "content": "nobody's"},
    ]
    a, b, for_b, for_a, alone = events(drafts(said("m", "assistant", content=blocks)))
    assert (for_b.parent, for_a.parent, alone.parent) == (b.key, a.key, None)
    assert for_b.tool.status is None  # the file states no outcome


def test_answer_stopped_before_its_first_word_becomes_an_event() -> None:
    (event,) = events(drafts(said("a", "assistant", content=[], stop_reason="user_canceled")))
    assert (event.kind, event.text, event.data["stop_reason"]) == ("agent_message", "", "user_canceled")


def test_a_paste_without_a_name_is_the_prompt_and_a_named_one_stands_beside_it() -> None:
    pasted, named = {"file_name": "", "extracted_content": "long"}, {"file_name": "a.txt", "extracted_content": "file"}
    found = events(drafts(said("a", "human", attachments=[pasted, named])))
    assert [(event.kind, event.text) for event in found] == [("user_message", "long"), ("injected_context", "file")]


def test_unknown_blocks_are_kept_and_reported_once_for_each_type() -> None:
    found = drafts(said("a", "robot", "beep"), said("b", "robot"), said("c", "assistant", content=[{"type": "new"}]))
    assert kinds(found) == ["unknown"] * 3
    assert events(found)[0].data["raw"]["text"] == "beep"
    messages = [draft.message for draft in found if getattr(draft, "rule", "") == "claude-export.unknown-type"]
    assert len(messages) == 2 and "(2 times)" in messages[0]


def test_a_message_is_the_same_in_a_later_export_that_tells_more_around_it() -> None:
    now = events(drafts(said("a", "human", "Hi", content=[{"type": "text", "text": "Hi"}])))
    later_block = {"type": "text", "text": "Hi", "flags": None, "stop_timestamp": "2026-09-01T06:00:00Z"}
    later = events(drafts(said("a", "human", "Hi", content=[later_block], files=[], updated_at="2026-10-01T06:00:00Z")))
    changed = events(drafts(said("a", "human", "Ho", content=[{"type": "text", "text": "Ho"}])))
    assert now[0].key == later[0].key != changed[0].key


def test_a_chat_that_went_on_tells_the_same_events_and_then_more() -> None:
    first = events(read(claude_export, chat(*SAMPLE[0]["chat_messages"][:4])))
    longer = events(read(claude_export, SAMPLE[0]))
    assert [event.key for event in longer][: len(first)] == [event.key for event in first]


def test_two_messages_with_one_uuid_are_both_read() -> None:
    found = drafts(said("a", "human", "one"), said("a", "human", "two"))
    assert [event.text for event in events(found)] == ["one", "two"]
    assert "claude-export.repeated-id" in findings(found)


def test_a_cut_off_export_gives_the_chats_before_the_cut() -> None:
    data = json.dumps([chat(said("a", "human", "Hi")), chat(said("b", "human", "Ho"), uuid="c2")]).encode()
    found = read(claude_export, data[:-40])
    assert [session.external_id for session in sessions(found)] == ["c1"]
    assert findings(found)["claude-export.cut-off-document"].severity == "warning"


def test_invalid_json_is_refused() -> None:
    with pytest.raises(FormatError):
        read(claude_export, b'{"chat_messages": [')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, (list, dict)):
            assert_sound(read(claude_export, value))


def test_a_chat_that_stands_in_the_file_twice_is_two_sessions() -> None:
    found = read(claude_export, [chat(said("a", "human", "one")), chat(uuid="c2"), chat(said("a", "human", "two"))])
    assert [session.external_id for session in sessions(found)] == ["c1", "c2", "c1#2"]
    assert "claude-export.repeated-session" in findings(found)
