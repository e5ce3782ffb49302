"""CBOR as the library cbor2 writes it, read by our reader; where the two differ, the section that lets them."""

from __future__ import annotations

from typing import Any

import cbor2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.formats.vac.tools import SAMPLE
from vcon_app.signing import cbor

WHOLE = st.integers(-(2**64), 2**64 - 1)
"""What major types 0 and 1 hold (RFC 8949 s3.1); beyond that a number is a tagged byte string."""
SCALARS = st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS | st.binary(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text() | WHOLE, inner, max_size=5),
    max_leaves=30,
)


def same(ours: Any, theirs: Any) -> bool:
    """Equal in value and kind: 1, 1.0 and True are one to ``==``."""
    return repr(ours) == repr(theirs)


@settings(max_examples=100, deadline=None)
@given(VALUES, st.booleans())
def test_what_the_library_writes_is_read_as_it_was(value: Any, indefinite: bool) -> None:
    assert same(cbor.loads(cbor2.dumps(value, indefinite_containers=indefinite), raw=True), value)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_the_deterministic_encoding_is_read_as_the_library_reads_it(value: Any) -> None:
    """Keys sorted, floats in the fewest bytes that hold them (RFC 8949 s4.2.1)."""
    data = cbor2.dumps(value, canonical=True)
    assert same(cbor.loads(data, raw=True), cbor2.loads(data))


@settings(max_examples=100, deadline=None)
@given(VALUES, st.integers(0))
def test_what_ends_early_is_refused_by_both(value: Any, place: int) -> None:
    data = cbor2.dumps(value)
    cut = data[: place % len(data)]
    with pytest.raises(cbor2.CBORDecodeEOF):
        cbor2.loads(cut)
    with pytest.raises(ValueError, match="CBOR ends in the middle of an item"):
        cbor.loads(cut)


@pytest.mark.parametrize("data", ["ff", "1c", "5f01ff", "bf01ff", "7f6161f6ff", "81" * 101 + "00"])
def test_what_is_not_well_formed_or_too_deep_is_refused_by_both(data: str) -> None:
    with pytest.raises(cbor2.CBORDecodeError):
        cbor2.loads(bytes.fromhex(data), max_depth=cbor.DEEPEST)
    with pytest.raises(ValueError, match="CBOR"):
        cbor.loads(bytes.fromhex(data))


def test_a_record_is_the_same_through_both() -> None:
    data = cbor2.dumps(cbor2.loads(cbor2.dumps(SAMPLE.read_text())))
    assert cbor.loads(data) == SAMPLE.read_text()


@pytest.mark.parametrize(
    ("data", "ours", "theirs"),
    [
        pytest.param("c249010000000000000000", b"\x01" + bytes(8), 2**64, id="bignum: a tag is data here, s3.4"),
        pytest.param("d90102820101", [1, 1], {1}, id="set: a tag is data here, s3.4"),
        pytest.param("fa7f800000", None, float("inf"), id="infinity: JSON has none, RFC 8259 s6"),
        pytest.param("a2616101616102", {"a": 2}, {"a": 2}, id="a key twice: the last one counts, s5.6"),
        pytest.param("0102", None, 1, id="more than one item: ours says so, theirs stops at the first, s5.3"),
    ],
)
def test_where_the_two_differ(data: str, ours: Any, theirs: Any) -> None:
    encoded = bytes.fromhex(data)
    assert cbor2.loads(encoded) == theirs
    if data == "0102":
        with pytest.raises(ValueError, match="1 bytes follow"):
            cbor.loads(encoded)
    else:
        assert cbor.loads(encoded, raw=True) == ours


def test_only_our_reader_goes_on_and_names_every_key_that_stands_twice() -> None:
    """The library tells of none, or refuses the map at the first."""
    encoded, doubled = bytes.fromhex("a4616101616102616203616204"), []
    assert cbor.loads(encoded, doubled=doubled) == {"a": 2, "b": 4}
    assert doubled == ["a", "b"]
    with pytest.raises(cbor2.CBORDecodeError, match="Duplicate map key: 'a'"):
        cbor2.loads(encoded, allow_duplicate_keys=False)
