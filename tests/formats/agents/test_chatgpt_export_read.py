"""Chats of ChatGPT: the path through the tree, what branches off it, tools and their results."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import chatgpt_export
from vcon_app.formats.chatgpt_export.content import plain
from vcon_app.formats.common.head import Head

from ..reads import assert_sound, events, findings, kinds, mutants, read, sessions

SAMPLE = json.loads((SAMPLES / "chatgpt-export" / "conversations.json").read_bytes())


def node(parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text", "parts": [text]}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content, **more}}


def chat(current: str | None = None, **mapping: Any) -> dict[str, Any]:
    value = {"id": "c1", "title": "Bees", "create_time": 1790000000, "mapping": mapping}
    return value | ({"current_node": current} if current else {})


def drafts(current: str | None = None, **mapping: Any) -> list[Any]:
    return read(chatgpt_export, chat(current, **mapping))


def told(found: list[Any]) -> list[tuple[str, int, Any]]:
    return [(event.text, event.depth, event.data.get("branch")) for event in events(found)]


@pytest.mark.parametrize("wrap", [lambda c: [c], lambda c: c, lambda c: {"conversations": [c]}])
def test_a_list_one_chat_and_a_wrapped_list_are_read_alike(wrap: Any) -> None:
    value = wrap(chat(a=node(None, "user", "Hi")))
    assert chatgpt_export.detect(Head(json.dumps(value).encode()))
    found = read(chatgpt_export, value)
    assert [session.external_id for session in sessions(found)] == ["c1"]
    assert [event.text for event in events(found)] == ["Hi"]


@pytest.mark.parametrize(
    "value", [{"mapping": {}}, {"mapping": {"a": {"type": "keyword"}}}, {"mapping": []}, [{"chat_messages": []}]]
)
def test_a_mapping_alone_is_no_chat(value: Any) -> None:
    assert not chatgpt_export.detect(Head(json.dumps(value).encode()))


def test_a_second_answer_is_the_chat_and_the_first_a_branch_that_opens_no_turns() -> None:
    found = drafts(
        "b2",
        a=node(None, "user", "Honey?"),
        b=node("a", "assistant", "No."),
        c=node("b", "user", "Why?"),
        b2=node("a", "assistant", "Yes."),
    )
    assert told(found) == [("Honey?", 0, None), ("No.", 1, "b"), ("Why?", 1, "b"), ("Yes.", 0, None)]
    assert events(found)[1].parent == events(found)[2].parent == events(found)[0].key


def test_without_a_current_node_the_deepest_newest_leaf_is_taken() -> None:
    found = drafts(
        a=node(None, "user", "Honey?", create_time=1.0),
        b=node("a", "assistant", "Yes.", create_time=9.0),
        c=node("a", "assistant", "No.", create_time=2.0),
    )
    assert told(found) == [("Honey?", 0, None), ("No.", 1, "c"), ("Yes.", 0, None)]


def test_children_stand_in_for_parents_that_a_saver_left_out() -> None:
    first, second = node(None, "user", "Honey?"), node(None, "assistant", "Yes.")
    first["children"] = ["b"]
    assert told(drafts("b", b=second, a=first)) == [("Honey?", 0, None), ("Yes.", 0, None)]


def test_nodes_without_any_links_are_told_in_their_order() -> None:
    found = drafts(a=node(None, "user", "one"), b=node(None, "assistant", "two"), c=node(None, "user", "three"))
    assert told(found) == [("one", 0, None), ("two", 0, None), ("three", 0, None)]


def test_a_result_belongs_to_the_call_above_it_also_behind_other_results() -> None:
    found = drafts(
        "d",
        a=node(None, "assistant", '{"q": 1}', recipient="web"),
        b=node("a", "tool", "page 1"),
        c=node("b", "tool", "page 2"),
        u=node("c", "user", "Thanks"),
        d=node("u", "tool", "stray"),
    )
    call, first, second, _, stray = events(found)
    assert call.tool.arguments == {"q": 1}
    assert (first.parent, second.parent, stray.parent) == (call.key, call.key, None)
    assert first.tool.name == "web" and first.tool.status is None


def test_arguments_that_are_no_json_stay_text() -> None:
    (event,) = events(drafts(a=node(None, "assistant", "print(1)", recipient="python")))
    assert event.tool.arguments == "print(1)"


def test_injected_messages_are_no_prompt() -> None:
    hidden = node(None, "user", "remember this", metadata={"is_visually_hidden_from_conversation": True})
    assert kinds(drafts(a=hidden)) == ["injected_context"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\ue200cite\ue202turn0search1\ue202turn0search2\ue201b", "ab"),
        ("see \ue200url\ue202The site\ue202https://x.example\ue201", "see The site"),
        ('\ue200entity\ue202["city","Bern","capital"]\ue201 is', "Bern is"),
        ("\ue200entity\ue202nonsense\ue201", ""),
        ("open \ue200cite and \ue202 loose", "open cite and  loose"),
        ("plain", "plain"),
    ],
)
def test_marks_of_references_are_not_shown(text: str, shown: str) -> None:
    assert plain(text)[0] == shown


def test_an_unknown_role_is_kept_raw_and_a_new_type_of_content_keeps_its_text() -> None:
    new = node("a", "assistant", "")
    new["message"]["content"] = {"content_type": "hologram", "text": "glows"}
    empty = node("b", "assistant", "")
    empty["message"]["content"] = {"content_type": "void"}
    found = drafts("c", a=node(None, "narrator", "Meanwhile"), b=new, c=empty)
    assert [(e.kind, e.text) for e in events(found)] == [("unknown", ""), ("agent_message", "glows"), ("unknown", "")]
    unknown = [draft.message for draft in found if getattr(draft, "rule", "") == "chatgpt-export.unknown-type"]
    assert len(unknown) == 3


def test_a_chat_that_went_on_tells_the_same_events_and_then_more() -> None:
    mapping = SAMPLE[0]["mapping"]
    first = events(drafts("call", **{key: mapping[key] for key in list(mapping)[:8]}))
    longer = events(read(chatgpt_export, SAMPLE[0]))
    assert len(first) == 7
    assert [event.key for event in longer][: len(first)] == [event.key for event in first]


def test_a_time_that_is_text_is_read_and_nonsense_is_not_stated() -> None:
    found = events(
        drafts(
            "b", a=node(None, "user", "x", create_time="2026-09-01T06:00:00Z"), b=node("a", "user", "y", create_time=-5)
        )
    )
    assert [event.at.isoformat() if event.at else None for event in found] == ["2026-09-01T06:00:00+00:00", None]


def test_a_circle_is_told_and_read() -> None:
    found = drafts(
        "a", a=node(None, "user", "in"), b=node("a", "user", "off"), x=node("y", "user", "1"), y=node("x", "user", "2")
    )
    assert len(events(found)) == 4 and "chatgpt-export.circle" in findings(found)


def test_a_cut_off_export_gives_the_chats_before_the_cut() -> None:
    found = read(chatgpt_export, json.dumps([chat(a=node(None, "user", "Hi")), chat()]).encode()[:-20])
    assert len(sessions(found)) == 1 and "chatgpt-export.cut-off-document" in findings(found)


def test_invalid_json_is_refused() -> None:
    with pytest.raises(FormatError):
        read(chatgpt_export, b'{"mapping": {"a"')


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, (list, dict)):
            assert_sound(read(chatgpt_export, value))
