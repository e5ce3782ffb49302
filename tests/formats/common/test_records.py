"""Records come out of lists, lines, event streams and single objects alike, also out of broken ones."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from vcon_app.drafts import Finding, FormatError
from vcon_app.formats.common.head import Head
from vcon_app.formats.common.lines import Item, Line
from vcon_app.formats.common.records import first_records, records

TWO = [{"a": 1}, {"a": 2}]


def read(data: bytes, wrapper: str = "") -> list[Item]:
    return list(records(io.BytesIO(data), "test", wrapper))


def values(items: list[Item]) -> list[object]:
    return [item.value for item in items if isinstance(item, Line)]


def rules(items: list[Item]) -> list[str]:
    return [item.rule for item in items if isinstance(item, Finding)]


@pytest.mark.parametrize(
    "data",
    [
        b'[{"a":1},{"a":2}]',
        b'\xef\xbb\xbf\r\n[ {"a": 1},\n {"a": 2} ]\n',
        b'{"a":1}\n{"a":2}\n',
        b'{"a":1}\n{"a":2}',
        b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n',
        b' data: {"a":1}\n\n: a comment\n\nevent: x\nid: 7\ndata:{"a":2}\n\n',
        b'event: x\r\ndata: {"a":1}\r\n\r\nevent: x\r\ndata: {"a":2}',
        b'data: {"a":1}\ndata: {"a":2}\n',
        b'data: {"a":\ndata: 1}\n\ndata: {"a":2}\n\n',
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_the_same_records_come_out_of_every_container(data: bytes, pack: object) -> None:
    items = read(pack(data))  # type: ignore[operator]
    assert values(items) == TWO and not rules(items)


def test_one_object_is_one_record_however_it_is_laid_out() -> None:
    for data in (b'{"a": {"b": 1}}', b'{\n "a": {\n  "b": 1\n }\n}\n'):
        assert values(read(data)) == [{"a": {"b": 1}}]


def test_a_list_may_stand_under_a_key() -> None:
    items = read(b'{"version": 1, "chats": [{"a":1},{"a":2}], "more": []}', "chats")
    assert values(items) == TWO
    assert [item.pointer for item in items if isinstance(item, Line)] == ["/chats/0", "/chats/1"]


def test_a_record_of_an_event_stream_knows_its_bytes() -> None:
    data = b': hello\n\nevent: x\ndata: {"a": 1}\n\n'
    (line,) = (item for item in read(data) if isinstance(item, Line))
    assert line.pointer == "L4" and line.offset is not None
    assert data[line.offset : line.offset + len(line.raw)] == b'{"a": 1}'


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b'[{"a":1},{"a":2},{"a', "test.cut-off-document"),
        (b'[{"a":1},{"a":2},NaN]', "test.malformed-line"),
        (b'[{"a":1},{"a":2}', "test.cut-off-document"),
        (b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: {"a', "test.cut-off-line"),
        (b'data: {"a":1}\n\ndata: {"a":2}\n\ndata: ping\n\n', "test.malformed-line"),
        (b'{"a":1}\n{"a":2}\n{"a', "test.cut-off-line"),
    ],
)
def test_records_before_a_syntax_error_are_read_and_the_error_is_reported(data: bytes, rule: str) -> None:
    items = read(data)
    assert values(items) == TWO
    assert rule in rules(items)


def test_numbers_and_texts_that_are_hard_to_stream_are_read() -> None:
    odd = b'[{"a":1},{"n":NaN,"big":123456789012345678901234567890},{"t":"\\u0000"},{"t":"\xff"}]'
    items = read(odd)
    assert values(items)[1:] == [{"n": None, "big": 123456789012345678901234567890}, {"t": "\ufffd"}, {"t": "\ufffd"}]
    assert "test.repaired-document" in rules(items)


@pytest.mark.parametrize("data", [b"{", b'{"a": }', b'{"a": "' + b"x" * 100])
def test_one_object_that_is_broken_is_refused_with_the_reason(data: bytes) -> None:
    with pytest.raises(FormatError, match="it cannot be read"):
        read(data)


def test_a_list_may_hold_things_that_are_no_objects() -> None:
    items = read(json.dumps([1, {"a": 1}, None]).encode())
    assert values(items) == [{"a": 1}] and rules(items) == ["test.malformed-line"] * 2


def test_the_first_records_are_seen_for_detection() -> None:
    assert first_records(Head(b'event: x\ndata: {"a":1}\n\ndata: [DONE]\n')) == [{"a": 1}]
    assert first_records(Head(b'{"a":1}\n{"a":2}\n')) == TWO
