"""Lines of an agnt5 export: one message each, with its calls."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import agnt5
from vcon_app.formats.common.head import Head

from ..reads import CORPUS, assert_sound, claimed, counted, events, findings, kinds, mutants, read, sessions

DATA = (SAMPLES / "agnt5-jsonl" / "session.jsonl").read_bytes()
SAMPLE = [json.loads(line) for line in DATA.splitlines()]


def line(
    role: str, message: Any, calls: Any = (), time: str = "2026-05-13T09:00:00Z", **metadata: Any
) -> dict[str, Any]:
    return {"timestamp": time, "role": role, "message": message, "metadata": metadata, "tool_calls": list(calls)}


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def drafts(*values: Any) -> list[Any]:
    return read(agnt5, jsonl(*values))


@pytest.mark.parametrize(
    "value",
    [
        {"role": "user", "message": {"content": "Hi"}},  # Cursor
        {"timestamp": "t", "role": "user", "message": "Hi"},
        {"timestamp": "t", "role": "user", "message": {}, "metadata": {}, "type": "user"},
        {"timestamp": "t", "role": "user", "message": "Hi", "tool_calls": [], "uuid": "u"},
        {"timestamp": "t", "role": "user", "content": "Hi", "metadata": {}, "message": "Hi"},
    ],
)
def test_files_of_other_formats_are_not_claimed(value: Any) -> None:
    assert not agnt5.detect(Head(jsonl(value, value)))


@pytest.mark.skipif(not CORPUS.exists(), reason="needs ../shared/corpus")
def test_no_file_of_another_format_is_claimed() -> None:
    assert claimed(agnt5) == set()


def test_a_session_is_known_by_its_metadata_or_else_by_its_first_line() -> None:
    assert sessions(drafts(line("user", "Hi", session_id="s1")))[0].external_id == "s1"
    one, more = drafts(line("user", "Hi")), drafts(line("user", "Hi"), line("user", "Ho"))
    assert (
        sessions(one)[0].external_id
        == sessions(more)[0].external_id
        != sessions(drafts(line("user", "Ho")))[0].external_id
    )


def test_the_agent_is_known_before_the_first_event() -> None:
    found = drafts(line("user", "Hi"), line("assistant", "Hello", agent="Librarian"))
    assert sessions(found)[0].agent_name == "Librarian"


def test_calls_are_read_flat_and_in_the_shape_of_other_apis() -> None:
    calls = [
        {"id": "1", "function": {"name": "look", "arguments": '{"a": 1}'}},
        {"id": "2", "name": "look", "args": {"a": 2}},
        {"name": "mcp__files__read", "input": {"a": 3}, "output": "text"},
    ]
    found = [event for event in events(drafts(line("assistant", "", calls))) if event.kind == "tool_call"]
    assert [event.tool.arguments for event in found] == [{"a": 1}, {"a": 2}, {"a": 3}]
    assert found[2].tool.server == "files"


def test_a_result_beside_its_call_and_one_on_a_line_of_its_own_belong_to_it() -> None:
    beside = line("assistant", "", [{"id": "1", "name": "look", "result": {"n": 1}}])
    apart = [
        line("assistant", "", [{"id": "2", "name": "look"}]),
        line("tool", "gone", error=True) | {"tool_call_id": "2"},
    ]
    first, second = ([e for e in events(drafts(*values)) if e.tool] for values in ([beside], apart))
    assert first[1].parent == first[0].key and first[1].tool.result == {"n": 1} and first[1].tool.status is None
    assert second[1].parent == second[0].key and second[1].tool.status == "error" and second[1].text == "gone"


def test_usage_in_the_metadata_is_counted_once_a_line() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
    found = drafts(line("assistant", "Hi", [{"id": "1", "name": "look"}], usage=usage, model="m"))
    (counts,) = counted(found)
    assert (counts.input_tokens, counts.cache_read_tokens, counts.output_tokens) == (6, 4, 2)
    assert sessions(found)[-1].model == "m"


def test_other_metadata_and_further_keys_are_kept() -> None:
    (event,) = events(drafts(line("user", "Hi", channel="desk") | {"priority": 2}))
    assert event.data == {"channel": "desk", "priority": 2}


def test_times_may_be_seconds_and_nonsense_is_reported() -> None:
    found = drafts(line("user", "a", time=1778662810.5), line("user", "b", time="yesterday"))  # type: ignore[arg-type]
    assert [event.at is None for event in events(found)] == [False, True]
    assert "agnt5-jsonl.time" in findings(found)


def test_unknown_roles_and_messages_without_text_are_kept_raw() -> None:
    found = drafts(line("oracle", "?"), line("user", {"blob": 1}), line("user", 7))
    assert kinds(found) == ["unknown"] * 3 and events(found)[1].data["raw"]["message"] == {"blob": 1}


def test_the_same_line_twice_is_two_messages() -> None:
    found = events(drafts(line("user", "Again!"), line("user", "Again!")))
    assert len({event.key for event in found}) == 2


def test_the_first_half_gives_the_first_events_of_the_whole() -> None:
    lines = DATA.splitlines(keepends=True)
    whole = events(read(agnt5, DATA))
    for cut in range(1, len(lines)):
        before = events(read(agnt5, b"".join(lines[:cut])))
        assert before == whole[: len(before)]


def test_an_event_knows_its_bytes() -> None:
    for event in events(read(agnt5, DATA)):
        assert json.loads(DATA[event.offset : event.offset + event.length])


def test_file_without_any_object_is_refused() -> None:
    with pytest.raises(FormatError):
        read(agnt5, b"hello\n")


def test_any_part_of_a_file_may_be_anything() -> None:
    for value in mutants(SAMPLE):
        if isinstance(value, list) and value and isinstance(value[0], dict):
            assert_sound(read(agnt5, jsonl(*value)))
