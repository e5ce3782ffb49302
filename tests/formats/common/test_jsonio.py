"""JSON as it is found, and as we write it."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from vcon_app.formats.common.jsonio import Unreadable, dumps, loads


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": [1,\n]}', "a trailing comma before the closing ] at line 2, column 1"),
        ('{"a": 1,}', "a trailing comma before the closing }"),
        ('{"a": 1 /* why */}', "a comment, which JSON does not have, at line 1, column 9"),
        ("{'a': 1}", "a string in single quotes at line 1, column 2"),
        ('{"a": 1', "the file ends in the middle of a value"),
        ('{"a": ' + "1" * 5_000 + "}", "a number of more than 4,300 digits"),
        ("[" * 100_000, "nested deeper than 200 levels"),
    ],
)
def test_invalid_json_is_refused_with_place_and_reason(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said.replace("[", r"\[").replace("]", r"\]")):
        loads(text.encode())


@pytest.mark.parametrize("value", [{"a": [1, None, True, "ü\u2028"]}, 2**80, "", {}, -0.5])
def test_written_json_is_read_back(value: object) -> None:
    assert json.loads(dumps(value)) == value
    assert b"\n" not in dumps(value)


def test_values_that_json_cannot_hold_are_replaced() -> None:
    assert json.loads(dumps({"a": "\ud800", "b": [float("nan"), 2**80]})) == {"a": "\ufffd", "b": [None, 2**80]}
    assert dumps(Decimal("0.0000001")) == b'"0.0000001"'


def test_endless_nesting_is_cut_with_a_note() -> None:
    value: object = "deep"
    for _ in range(900):
        value = [value]
    assert b"nested deeper than 200 levels" in dumps(value)
