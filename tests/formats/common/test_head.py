"""The first bytes of a file, looked at once for all formats."""

from __future__ import annotations

import gzip
import tracemalloc
from tempfile import SpooledTemporaryFile

import pytest

from vcon_app.formats.common.head import SIZES, Head, open_plain


def test_the_shape_tells_the_outer_levels_of_the_first_document() -> None:
    head = Head(b'{"a": {"b": {"c": {"d": {"e": 1}}}}, "f": [{"g": 1}, {"h": 2}], "i": null}\n{"z": 1}')
    assert head.shape == {
        "": "{", "a": "{", "a.b": "{", "a.b.c": "{", "a.b.c.d": "{", "f": "[", "f.item": "{", "f.item.g": 1,
        "f.item.h": 2, "i": None,
    }  # fmt: skip
    assert head.keys == {"a", "f", "i"}


@pytest.mark.parametrize(
    "document",
    [
        b'{"a": {"b": {"c": {"d": {"e": 1}}}}, "f": [{"g": 1}, {"h": 2.5, "g": {"i": true}}], "j": null}',
        b'[1, {"a": [[], [{"b": ""}]]}, {"c": 12345678901234567}]',
        b'\xef\xbb\xbf{"": {"": 1, "x.y": []}, "item": [[1]], "a.b": false}',
        b'"text"',
        b"[]",
    ],
)
def test_a_document_that_may_be_held_has_the_shape_of_one_that_is_read_piece_by_piece(document: bytes) -> None:
    """Formats are told by it: one that is recognised in a small file is recognised in a large one."""
    small, large = Head(document).shape, Head(document + b" " * SIZES[0], SIZES[1]).shape
    assert list(small.items()) == list(large.items())


@pytest.mark.parametrize("rest", [b'"', b"[1,]", b"\x97", b"NaN", b"// x", b"1" * 5_000])
def test_keys_before_a_syntax_error_still_count(rest: bytes) -> None:
    assert Head(b'{"feed_type": "session", "x": ' + rest).shape["feed_type"] == "session"


@pytest.mark.parametrize("unit", [b"[", b'{"a":', b'[{"a":'])
def test_millions_of_levels_take_no_time(unit: bytes) -> None:
    assert len(Head(unit * (SIZES[2] // len(unit))).shape) < 10


def test_a_gzip_bomb_is_unpacked_no_further_than_asked() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    assert len(Head(bomb).data) == SIZES[0]
    assert len(Head(bomb, SIZES[1]).data) == SIZES[1]


def test_lines_are_the_objects_among_the_first_fifty() -> None:
    assert [line["n"] for line in Head(b'{"n": 1}\nnoise\n[2]\n{"n": 3}\n{"n":').lines] == [1, 3]
    assert len(Head(b"{}\n" * 80).lines) == 50


def test_a_line_with_nan_or_half_a_surrogate_is_a_line_all_the_same():
    odd = b'{"type": "user", "x": NaN}\n{"type": "user", "text": "\\ud83d"}\n'
    assert [line["type"] for line in Head(odd).lines] == ["user", "user"]


def test_a_packed_file_that_waits_in_a_temporary_one_is_unpacked():
    """Members of an archive do; such a file says it is open for writing."""
    with SpooledTemporaryFile() as file:
        file.write(gzip.compress(b'{"n": 1}\n'))
        file.seek(0)
        assert open_plain(file).read() == b'{"n": 1}\n'


def test_a_line_that_is_cut_off_is_not_parsed():
    """It was, with the reader for what orjson refuses: 220 MB for a file of 20 MB on one line."""
    head = Head(b'[{"a": "' + b"x" * SIZES[2], SIZES[2])
    tracemalloc.start()
    try:
        assert (head.lines, head.keys) == ([], frozenset())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3 * SIZES[2]


def test_a_whole_line_without_its_line_break_counts():
    assert Head(b'{"a": 1}\n{"a": 2}').lines == [{"a": 1}, {"a": 2}]
    assert len(Head(b'{"a": 1}\n' * 60).lines) == 50


@pytest.mark.parametrize("number", [str(10**19), str(-(10**20)), str(2**64), "9" * 5_000])
def test_an_integer_of_any_length_does_not_hide_what_stands_behind_it(number):
    data = b'{"nodes": [{"n": %s}], "$upg": {"format": "1"}}' % number.encode()
    assert Head(data).keys == {"nodes", "$upg"}
    assert Head(data).shape["$upg.format"] == "1"
    assert "late" not in Head(b'{"n": [1,,], "late": %s}' % number.encode()).keys
