"""Sessions as lines of an agnt5 export: the five keys of the documentation, and everything back again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import EventDraft, FormatError, Losses, SessionDraft, ToolDraft, Usage
from vcon_app.formats import agnt5
from vcon_app.formats.common.head import Head

from ..golden import check
from ..llmfeed.test_write import SESSION, everything
from ..reads import CORPUS, assert_sound, claimed, events, mutants, read, sessions
from ..vcon_tools import Log, model

SAMPLE = SAMPLES / "agnt5-jsonl" / "session.jsonl"
KEYS = ["timestamp", "role", "message", "metadata", "tool_calls"]


def written(session: SessionDraft, log: list[EventDraft], losses: Losses | None = None) -> bytes:
    return b"".join(agnt5.write(session, Log(log), losses or Losses(), options={}))


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def without_place(log: list[EventDraft]) -> list[EventDraft]:
    return [replace(event, pointer="", offset=None, length=None) for event in log]


def response() -> list[EventDraft]:
    """A message with two calls, and their results."""
    usage = Usage(10, 4, None, 2)
    return [
        EventDraft("user_message", "a", actor_kind="person", text="Sell the lamps"),
        EventDraft("agent_message", "b", actor_kind="agent", actor_name="Clerk", text="Both?", model="m", request="r"),
        EventDraft("tool_call", "c", actor_kind="agent", actor_name="Clerk", request="r",
                   tool=ToolDraft("1", "sell", None, {"lamp": 1.5})),
        EventDraft("tool_call", "d", actor_kind="agent", actor_name="Clerk", request="r", usage=usage,
                   tool=ToolDraft("2", "sell", None, {"lamp": 2})),
        EventDraft("tool_result", "e", actor_kind="tool", actor_name="sell", text="gone", parent="c",
                   tool=ToolDraft("1", "sell", status="error")),
    ]  # fmt: skip


def test_every_line_begins_with_the_five_keys_of_the_documentation() -> None:
    for line in lines(written(SESSION, everything())):
        assert list(line)[:5] == KEYS and isinstance(line["tool_calls"], list) and isinstance(line["metadata"], dict)
        assert isinstance(line["message"], str) and line["role"] in ("user", "assistant", "system", "tool")


def test_a_message_stands_on_one_line_with_the_calls_of_its_response() -> None:
    asked, answered, result = lines(written(SessionDraft("s"), response()))
    assert (asked["role"], asked["message"]) == ("user", "Sell the lamps")
    assert [call["arguments"] for call in answered["tool_calls"]] == [{"lamp": 1.5}, {"lamp": 2}]
    assert answered["metadata"] == {"session_id": "s", "agent": "Clerk", "model": "m"}
    assert (result["tool_call_id"], result["metadata"]["error"]) == ("1", True)


def test_events_of_sub_agents_are_lines_too() -> None:
    log = [*response(), EventDraft("agent_message", "f", actor_kind="subagent", text="sold", depth=1, parent="d")]
    assert lines(written(SessionDraft("s"), log))[-1]["message"] == "sold"


@pytest.mark.parametrize("log", [everything(), response()], ids=["everything", "response"])
def test_written_file_is_read_back_to_the_last_field(log: list[EventDraft]) -> None:
    found = read(agnt5, written(SESSION, log))
    assert without_place(events(found)) == log
    assert [sessions(found)[0], sessions(found)[-1]] == [SESSION, SESSION]


def test_an_import_comes_back_the_same_and_a_second_export_has_the_same_bytes() -> None:
    before = read(agnt5, SAMPLE.read_bytes())
    session, log = sessions(before)[-1], events(before)
    data = written(session, log)
    after = read(agnt5, data)
    assert without_place(events(after)) == without_place(log) and sessions(after)[-1] == session
    assert written(session, events(after)) == data


def test_readers_that_know_the_five_keys_alone_see_the_same_words_and_calls() -> None:
    data = b"".join(json.dumps({key: line[key] for key in line if key != "countersign"}).encode() + b"\n"
                    for line in lines(written(SessionDraft("s"), response())))  # fmt: skip
    before, after = ([model(event)[:2] for event in log] for log in (response(), events(read(agnt5, data))))
    assert after == before


def test_a_half_is_the_beginning_of_the_whole() -> None:
    rows = written(SESSION, everything()).splitlines(keepends=True)
    whole = events(read(agnt5, b"".join(rows)))
    assert events(read(agnt5, b"".join(rows[:6]))) == whole[:6]


def test_written_file_is_recognised_and_equals_the_stored_one() -> None:
    data = written(SESSION, everything())
    assert agnt5.detect(Head(data))
    check(SAMPLE.with_name("written.messages.jsonl.expected"), data.decode())


def test_a_session_without_messages_is_an_empty_file_and_that_is_reported() -> None:
    losses = Losses()
    assert written(replace(SESSION, record={"upg": {}}), [], losses) == b""
    assert len(losses.rows()) == 2


def test_events_are_not_gathered() -> None:
    class Endless(Log):
        def __iter__(self) -> Iterator[EventDraft]:
            number = 0
            while True:
                yield EventDraft("user_message", str(number := number + 1), text="x")

    made = agnt5.write(SESSION, Endless([]), Losses(), options={})
    assert [json.loads(next(made))["message"] for _ in range(3)] == ["x"] * 3


def test_lines_of_ours_that_somebody_changed_are_read_all_the_same() -> None:
    rows = lines(written(SESSION, everything()))
    for changed in mutants(rows[5]):
        data = b"".join(json.dumps(row).encode() + b"\n" for row in [*rows[:5], changed, *rows[6:]])
        try:
            assert_sound(read(agnt5, data))
        except FormatError:
            continue


def test_a_line_that_stands_twice_is_two_messages() -> None:
    (row,) = written(SessionDraft("s"), response()[:1]).splitlines()
    assert len({event.key for event in events(read(agnt5, row + b"\n" + row + b"\n"))}) == 2


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_no_other_file_is_claimed() -> None:
    assert claimed(agnt5) == set()
