"""JSON without the package ``json`` is the same JSON."""

from __future__ import annotations

import json

import pytest
from countersign import plain_json
from hypothesis import given

from .test_canonical import VALUES


@given(VALUES)
def test_what_is_written_is_read_again_by_either(value):
    written = plain_json.dumps(value)
    assert repr(json.loads(written)) == repr(value) == repr(plain_json.loads(written.encode()))
    assert repr(plain_json.loads(json.dumps(value).encode())) == repr(value)


NONE = (
    b"", b" ", b"{", b"[1,]", b"{} {}", b'{"a": NaN}', b"Infinity", b"-Infinity", b"\xff", b"\xef\xbb\xbf{}", b"'a'",
    b'"\n"', b"{1: 2}", b"truely", b"01", b"+1", b'"\\x"', "{}".encode("utf-16"),
)  # fmt: skip


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_json_is_refused(text):
    with pytest.raises(ValueError):
        plain_json.loads(text)


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), {1: 2}, b"x", object(), {"a": {None: 1}}, [float("-inf")]]
)
def test_what_cannot_be_written_is_refused(value):
    with pytest.raises(ValueError):
        plain_json.dumps(value)
