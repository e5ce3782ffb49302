"""JSON in canonical form, ours and that of the library rfc8785 (JCS); where the two differ, and by which section."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from vcon_app.formats.upg import canon
from vcon_app.formats.vcon.file import content
from vcon_app.signing import canonical

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
KEYS = TEXT.filter(lambda key: not re.fullmatch("[0-9]+", key))
"""Keys that JavaScript leaves in their place."""
SAFE = st.integers(1 - 2**53, 2**53 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
WITHOUT_FLOATS = st.none() | st.booleans() | SAFE | TEXT


def documents(scalars: st.SearchStrategy[Any], keys: st.SearchStrategy[str] = KEYS) -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(keys, inner, max_size=5), max_leaves=30
    )


@settings(max_examples=100, deadline=None)
@given(documents(WITHOUT_FLOATS | FLOATS))
def test_sorted_javascript_is_jcs(value: Any) -> None:
    assert canonical.javascript(value, sort=True) == rfc8785.dumps(value)


@settings(max_examples=100, deadline=None)
@given(documents(WITHOUT_FLOATS | FLOATS))
def test_a_product_graph_in_order_is_jcs(value: Any) -> None:
    assert canon.dump(canon.ordered(value)).encode() == rfc8785.dumps(value)


@settings(max_examples=100, deadline=None)
@given(documents(WITHOUT_FLOATS, st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFF))))
def test_the_hash_of_a_grant_is_over_jcs(value: Any) -> None:
    """Written by ``json.dumps``, so but for floats (s3.2.2.3) and astral characters in keys (s3.2.3)."""
    assert content.canonical(value) == rfc8785.dumps(value)


@settings(max_examples=500, deadline=None)
@given(FLOATS)
def test_a_number_is_the_double_that_it_was(value: float) -> None:
    assert float(canonical.number(value)) == value


@pytest.mark.parametrize(
    ("text", "ours", "says"),
    [
        ('{"10": 1, "9": 2}', b'{"9":2,"10":1}', None),
        ('"\\ud800"', b'"\\ud800"', "non-UTF-8"),
        ("9007199254740993", b"9007199254740992", "safe integer"),
        ("1e999", b"null", "not representable"),
    ],
    ids=[
        "keys that are indices: ECMA-262 moves them to the front, RFC 8785 s3.2.3 does not",
        "lone surrogates: JSON.stringify escapes them, RFC 8785 s3.2.2.2 ends there",
        "whole numbers over 2^53: JavaScript rounds them, RFC 8785 s3.1 (I-JSON) has none",
        "infinity: JSON.stringify writes null, RFC 8785 s3.2.2.3 ends there",
    ],
)
def test_where_javascript_is_not_jcs(text: str, ours: bytes, says: str | None) -> None:
    value = json.loads(text)
    assert canonical.javascript(value, sort=True) == ours
    if says is None:
        assert rfc8785.dumps(value) != ours
    else:
        with pytest.raises(rfc8785.CanonicalizationError, match=says):
            rfc8785.dumps(value)
