"""Documents as streams of tokens and list items: the same values as a parser gives, at any depth, in little memory."""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import ijson
import pytest

from vcon_app.formats.common.jsonio import MAX_DEPTH
from vcon_app.formats.common.streamed import LARGEST, PIECE, items, tokens

VALUES: list[Any] = [
    {"a": {"b": [1, 2.5, None, True, "x", [], {}]}, "c": {}},
    [],
    {},
    [[1], [[]]],
    "text",
    7,
    None,
    False,
]


def test_items_are_those_of_the_list() -> None:
    assert list(items(io.BytesIO(json.dumps(VALUES).encode()))) == VALUES


def test_items_of_a_list_in_an_object_are_found_wherever_it_stands() -> None:
    document = {"other": [1, [2]], "deep": {"list": [3]}, "list": VALUES, "after": {"list": [4]}}
    assert list(items(io.BytesIO(json.dumps(document).encode()), "list")) == VALUES


@pytest.mark.parametrize(
    "document", [{"list": {"a": 1}}, {"list": 7}, {"other": [1]}, [{"list": [1]}], [1], "list", None]
)
def test_document_without_the_list_gives_no_items(document: Any) -> None:
    assert list(items(io.BytesIO(json.dumps(document).encode()), "list")) == []


def test_items_before_a_syntax_error_are_given() -> None:
    found = []
    with pytest.raises(ijson.JSONError):
        for value in items(io.BytesIO(b'[{"a": 1}, [2], {"b": ')):
            found.append(value)
    assert found == [{"a": 1}, [2]]


@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_what_is_nested_too_deep_is_a_note_and_the_rest_is_read(start: bytes, end: bytes) -> None:
    depth = MAX_DEPTH + 50
    deep, after = items(io.BytesIO(b"[" + start * depth + b"1" + end * depth + b', {"after": 1}]'))
    levels = 0
    while not isinstance(deep, str):
        deep, levels = (deep[0] if isinstance(deep, list) else deep["a"]), levels + 1
    assert (levels, deep, after) == (MAX_DEPTH - 1, f"(nested deeper than {MAX_DEPTH} levels)", {"after": 1})


def test_deep_nesting_takes_no_memory_for_its_paths() -> None:
    """ijson's own ``parse`` keeps the path of every container: 800 MB for these 120 KB."""
    document = b'{"a":' * 20_000 + b"1" + b"}" * 20_000
    tracemalloc.start()
    assert sum(1 for _ in tokens(io.BytesIO(document))) == 3 * MAX_DEPTH + 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


class Source(io.BytesIO):
    """A stream that remembers how much was asked for at once."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.sizes: list[int] = []

    def read(self, size: int | None = -1) -> bytes:
        self.sizes.append(size or 0)
        return super().read(size)


def test_a_long_text_is_read_in_growing_pieces_and_what_follows_in_small_ones() -> None:
    text, numbers = "é" * 2 * LARGEST, list(range(PIECE))
    source = Source(json.dumps([text, numbers]).encode())
    assert [value for _, event, value in tokens(source) if event == "string"] == [text]
    assert max(source.sizes) == LARGEST
    assert source.sizes[-1] == PIECE
