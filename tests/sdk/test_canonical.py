"""Canonical JSON and digests are those that the desk makes, of whatever agents send."""

from __future__ import annotations

import hashlib
import json
import struct

import pytest
import rfc8785
from countersign import canonical
from hypothesis import given
from hypothesis import strategies as st

from sessions_app import canonical as desk

DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
WHOLE = st.integers(-(2**80), 2**80) | st.integers(-(2**53) - 2, 2**53 + 2)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | WHOLE | DOUBLES | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_values_are_written_as_the_desk_writes_them(value):
    assert canonical.canonical(value).encode() == desk.canonical(value)


EDGES = ("0000000000000001", "7fefffffffffffff", "4340000000000000", "4430000000000000", "44b52d02c7e14af5",
         "444b1ae4d6e2ef50", "3eb0c6f7a0b5ed8d", "41b3de4355555553")  # fmt: skip


@pytest.mark.parametrize("bits", EDGES)
def test_numbers_at_the_edges(bits):
    """Of RFC 8785, appendix B."""
    value = struct.unpack(">d", bytes.fromhex(bits))[0]
    assert canonical.number(value).encode() == rfc8785.dumps(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, b"x", object(), {"a": {None: 1}}])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(ValueError):
        canonical.canonical(value)


def test_a_digest_says_session_approval_tool_server_and_input():
    call = {"session": "s", "approval": "a", "tool": "refund", "server": None, "input": {"b": 1.0, "a": "ü"}}
    written = json.dumps(
        call | {"input": {"a": "ü", "b": 1}}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    expected = hashlib.sha256(written.encode()).hexdigest()
    assert canonical.digest("s", "a", "refund", None, {"b": 1.0, "a": "ü"}) == expected
