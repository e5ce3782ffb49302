"""Bytes to objects for every reader of transcripts: documents one after the other, and keys of lines without ids."""

from __future__ import annotations

import gzip
import io
import json
import tracemalloc
from time import process_time
from typing import Any

import pytest

from vcon_app.drafts import EventDraft, Finding, FormatError
from vcon_app.formats.common import lines as line_reader
from vcon_app.formats.common.lines import MALFORMED_TOLD, Line, json_documents, json_lines
from vcon_app.formats.common.reading import Keys
from vcon_app.formats.common.times import parse

ONE, TWO = {"a": {"b": [1, {"c": "}\n{"}]}}, {"d": []}


def found(data: bytes) -> tuple[list[Line], list[str]]:
    """Documents and rules of the findings."""
    items = list(json_documents(io.BytesIO(data), "x"))
    lines = [item for item in items if isinstance(item, Line)]
    return lines, [item.rule for item in items if isinstance(item, Finding)]


def written(*values: Any, indent: int | None = 2) -> bytes:
    return b"".join(json.dumps(value, indent=indent).encode() + b"\n" for value in values)


@pytest.mark.parametrize("data", [
    written(ONE, TWO), written(ONE, TWO, indent=None), written(ONE, TWO).rstrip(), b"\xef\xbb\xbf" + written(ONE, TWO),
    written(ONE) + b"\n\n  \n" + written(TWO, indent=None), written(ONE, indent=0) + written(TWO, indent=0),
])  # fmt: skip
def test_documents_are_read_however_they_are_laid_out(data: bytes) -> None:
    lines, rules = found(data)
    assert [line.value for line in lines] == [ONE, TWO] and not rules
    for line in lines:
        assert line.offset is not None
        assert json.loads(data[line.offset : line.offset + len(line.raw)]) == line.value


def test_a_list_is_an_object_of_items() -> None:
    lines, _ = found(written([1, 2], TWO))
    assert [line.value for line in lines] == [{"items": [1, 2]}, TWO]
    assert [line.pointer for line in lines] == ["L1", "L5"]


def test_objects_glued_together_are_each_read() -> None:
    lines, rules = found(written(TWO, indent=None).rstrip() + written(ONE, indent=None))
    assert [line.value for line in lines] == [TWO, ONE] and rules == ["x.glued-objects"]


def test_a_broken_document_ends_where_the_next_begins() -> None:
    lines, rules = found(written(ONE)[:-9] + b"\n" + written(TWO, ONE) + written(TWO)[:-4])
    assert [line.value for line in lines] == [TWO, ONE] and rules == ["x.malformed-line", "x.cut-off-line"]


def test_what_looks_like_ends_again_and_again_is_given_up() -> None:
    lines, rules = found(b"{\n" + b"}\n}\n" * 200 + written(TWO))
    assert "x.malformed-line" in rules and len(rules) < 20


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_reader, "MAX_UNPACKED", 1000)
    source = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(written(TWO) * 1000)))
    with pytest.raises(FormatError, match="unpacked it is larger"):
        list(json_documents(source, "x", packed=True))


def line(value: dict[str, Any], time: str | None = "2026-10-05T08:00:00Z") -> Line:
    made = Line(value, "L1", json.dumps(value).encode(), 0)
    made.at = parse(time)[0]
    return made


def test_a_line_with_a_time_keeps_its_key_wherever_it_stands() -> None:
    keys, again = Keys(), Keys()
    first = [keys.derived("k", line({"n": n})) for n in (1, 2, 1, 1)]
    assert first[2:] == [f"{first[0]}#1", f"{first[0]}#2"]
    assert again.derived("k", line({"n": 2})) == first[1]


def test_a_line_without_a_time_is_known_by_the_one_before() -> None:
    keys = Keys()
    assert len({keys.derived("k", line({"n": n}, None)) for n in (1, 1, 1, 2, 1)}) == 5


def test_an_id_on_several_lines_is_told_apart_by_their_bytes() -> None:
    keys = Keys()
    found = [keys.named("u", line({"n": n})) for n in (1, 2, 1, 2, 3)]
    assert found[0] == found[2] == "u" and found[1] == found[3] and len(set(found)) == 3


def test_an_event_of_a_line_tells_its_place() -> None:
    event = line({"n": 1}).event("system", part=":p", at_path="/n", data={"a": 1})
    assert isinstance(event, EventDraft)
    assert (event.key, event.pointer, event.offset, event.length) == (":p", "L1/n", 0, 8)


def test_a_document_of_many_lines_that_never_ends_takes_time_in_proportion() -> None:
    """3 MB of blanks before 20,000 lines: looked through for each of them, that is a minute."""
    data = b"{" + b" " * 3_000_000 + b"\n" + b"{\n" * 20_000
    began = process_time()
    assert len(list(json_documents(io.BytesIO(data), "x"))) == 1
    assert process_time() - began < 2


@pytest.mark.parametrize("shift", range(7))
def test_every_nul_of_a_long_line_is_replaced_and_no_backslash_is_split(shift: int, monkeypatch) -> None:
    monkeypatch.setattr(line_reader, "REPLACED_AT_ONCE", 8)
    text = "x" * shift + "\0\\u0000\\\0\\\\u0000\0\0" * 5
    read = line_reader.json_lines(io.BytesIO(json.dumps({"a": text}).encode() + b"\n"), "x")
    (line,) = (item for item in read if isinstance(item, Line))
    assert line.value == {"a": text.replace("\0", "\ufffd")}


def test_replacing_many_nuls_takes_a_few_times_their_size() -> None:
    data = b'{"a": "' + b"\\u0000" * 200_000 + b'"}'
    tracemalloc.start()
    try:
        assert line_reader._without_nul(data).count(b"\\ufffd") == 200_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(data)


def test_of_malformed_lines_by_the_hundred_thousand_the_first_are_told_and_the_others_counted() -> None:
    """600,000 of them took over 8 s. Objects between them are read all the same, and what begins as one is told."""
    data = b"not an object\n" * (MALFORMED_TOLD + 5) + written(ONE, indent=None) + b'["a", 1]\n{"cut\n' + b"\n" * 3
    items = list(json_lines(io.BytesIO(data), "x"))
    told = [item for item in items if isinstance(item, EventDraft)]
    assert [item.value for item in items if isinstance(item, Line)] == [ONE]
    assert len(told) == MALFORMED_TOLD + 1 and told[-1].text == '{"cut'
    last = items[-1]
    assert isinstance(last, Finding) and last.rule == "x.malformed-line"
    assert last.message == "6 further lines that hold no object"
