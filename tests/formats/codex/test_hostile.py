"""Files that are damaged or made to hurt, and files of others that look alike."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app.drafts import FormatError
from vcon_app.formats import codex
from vcon_app.formats.common.head import Head

from ..checks import check_odd_values, drafts_of, events, findings, jsonl
from .lines import META, event, item, line, said


def sample_lines() -> list[dict[str, Any]]:
    paths = sorted((SAMPLES / "codex").glob("*.jsonl"))
    return [json.loads(text) for path in paths for text in path.read_text().splitlines()]


def test_values_of_the_wrong_type_are_read_without_a_fault() -> None:
    check_odd_values(codex, jsonl(META), sample_lines())


def test_values_of_the_wrong_type_in_an_exec_stream_are_read_without_a_fault() -> None:
    lines = [json.loads(text) for text in (SAMPLES / "codex" / "exec.jsonl").read_text().splitlines()]
    check_odd_values(codex, jsonl({"type": "turn.started"}), lines)


def test_unknown_types_are_kept_raw_and_counted_once_a_type() -> None:
    odd = [line("moon"), line("moon"), item("dance"), event("song")]
    found = drafts_of(codex, jsonl(META, *odd))
    assert [event.kind for event in events(found)[1:]] == ["unknown"] * 4
    assert all("raw" in event.data for event in events(found)[1:])
    told = [draft.message.split(":")[0] for draft in found if getattr(draft, "rule", "") == "codex.unknown-type"]
    assert told == ["line type 'moon'", "response item 'dance'", "event 'song'"]


def test_equal_lines_at_the_same_time_are_all_kept() -> None:
    found = events(drafts_of(codex, jsonl(META, *[event("context_compacted")] * 3)))
    assert len({event.key for event in found}) == 4


def test_damaged_lines_are_told_and_the_others_read() -> None:
    data = b"\xef\xbb\xbf" + jsonl(META) + b"\0" * 20 + b"\n{oops}\n" + jsonl(said("user", "a"))[:-1]
    data += json.dumps(said("assistant", "b\ud83d\0")).encode() + b"\n"
    data += json.dumps(event("error", message="x", code=float("nan"))).encode() + b"\n"
    found = drafts_of(codex, data + jsonl(said("user", "cut off"))[:-30])
    assert [e.kind for e in events(found)] == ["system", "unknown", "user_message", "agent_message", "error"]
    assert events(found)[3].text == "b\ufffd\ufffd"
    assert findings(found).keys() >= {
        "codex.nul-bytes", "codex.malformed-line", "codex.glued-objects", "codex.repaired-line", "codex.cut-off-line",
    }  # fmt: skip


def test_regular_expressions_do_not_explode() -> None:
    texts = ["<environment_context" * 20_000, " " * 200_000, 'tools.exec_command({cmd: "' * 20_000, "rejected " * 50]
    lines = [said("user", text) for text in texts]
    lines += [item("custom_tool_call", name="exec", input=text, call_id="c") for text in texts]
    lines += [item("function_call_output", call_id="c", output=text) for text in texts]
    assert len(events(drafts_of(codex, jsonl(META, *lines)))) > len(lines)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"Dear diary,\n", b"[]\n"])
def test_a_file_without_any_object_is_refused_with_a_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="no Codex transcript"):
        drafts_of(codex, data)


@pytest.mark.parametrize(
    "values",
    [
        [{"type": "session_meta", "id": "no payload"}],
        [{"type": "message", "payload": {"text": "x"}}],
        [{"id": "1", "timestamp": "t"}],
        [{"type": "session", "id": "1", "cwd": "/srv"}],
        [{"type": "user", "uuid": "u", "message": {"content": "x"}}],
        [{"type": ["turn.started"]}],
    ],
)
def test_files_of_other_formats_are_not_claimed(values: list[dict[str, Any]]) -> None:
    assert not codex.detect(Head(jsonl(*values)))
