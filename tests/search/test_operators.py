"""Operators among the words of a search: taken apart, refused with a sentence, or looked for as words."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions_app.search import operators
from sessions_app.search.operators import BadOperator, read


def clauses(typed: str) -> list[tuple]:
    return [(one.name, one.value, one.is_excluded) for one in read(typed).clauses]


@pytest.mark.parametrize(
    ("typed", "words", "found"),
    [
        ("refund", "refund", []),
        ("refund tool:Bash parcel", "refund parcel", [("tool", "Bash", False)]),
        ('agent:"Refund agent" x', "x", [("agent", "Refund agent", False)]),
        ("-tag:vip TOOL:Read", "", [("tag", "vip", True), ("tool", "Read", False)]),
        ("ended:error -ended:broke-off", "", [("ended", "error", False), ("ended", "broke-off", True)]),
        ("is:error -is:archived", "", [("has_errors", True, False), ("status", "archived", True)]),
        ("cost>$0.50 errors>=3", "", [("cost", (">", Decimal("0.50")), False), ("errors", (">=", Decimal(3)), False)]),
        ("file:src/app.py", "", [("file", "src/app.py", False)]),
        ("on:2026-01-31", "", [
            ("from", datetime(2026, 1, 31, tzinfo=UTC), False), ("to", datetime(2026, 2, 1, tzinfo=UTC), False)]),
        ('"tool:Bash"', '"tool:Bash"', []),
        ('say "is:error now" -"cost>1"', 'say "is:error now" -"cost>1"', []),
        ("a or b tool:Bash", "a or b", [("tool", "Bash", False)]),
        ("std::vector http://example.org file:///etc 12:30", "std::vector http://example.org file:///etc 12:30", []),
        ("日本 tool:検索", "日本", [("tool", "検索", False)]),
        ("a<b x>1", "a<b x>1", []),
    ],
)  # fmt: skip
def test_what_is_typed_is_taken_apart(typed, words, found):
    assert (read(typed).words, clauses(typed)) == (words, found)


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("tool:", "has no value"), ('x agent:""', "has no value"), ("is:purple", '"purple" is nothing'),
        ("cost>abc", '"abc" is no amount of dollars; write it as 0.50'), ("errors>-1", '"-1" is no number'),
        ("cost>NaN", "is no amount"), ("cost:5", "write it as cost>1"), ("tool>Bash", "write it as tool:Bash"),
        ("from:yesterday", '"yesterday" is no date'), ("to:9999-12-31", "is no date"),
        ("on:2026-01-31T09:30Z", "is no day"), ("-from:2026-01-31", "leaves out a time"),
        ("tool:a or tool:b", "“or” stands between words"), ("tool:a or b", "“or” stands between words"),
        (" ".join(["tag:x"] * 21), "more than 20"),
    ],
)  # fmt: skip
def test_a_value_that_means_nothing_is_told_in_one_sentence(typed, says):
    with pytest.raises(BadOperator) as refused:
        read(typed)
    assert says in str(refused.value) and "\n" not in str(refused.value)


def test_what_is_no_operator_is_told_and_stays_a_word():
    typed = read("tols:Bash refund colour:red")
    assert typed.words == "tols:Bash refund colour:red" and typed.unknown == ("tols", "colour")
    assert typed.told.startswith("“tols:”, “colour:” are no operators and are looked for as words; there are tool:")
    assert read("refund").told == ""


def test_an_operator_is_taken_out_of_what_was_typed():
    typed = 'refund tool:Bash agent:"Refund agent" parcel'
    first, second = read(typed).clauses
    assert operators.without(typed, first) == 'refund agent:"Refund agent" parcel'
    assert operators.without(typed, second) == "refund tool:Bash parcel"


@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            ["tool:", "is:error", "cost>", "1", '"', "-", " ", "or", "from:", "2026-01-31", "x", "\0", "file:/a"]
        )
    ).map("".join)
)
def test_whatever_is_typed_is_taken_apart_or_refused(typed):
    try:
        found = read(typed)
    except BadOperator:
        return
    assert found.clauses or found.words == typed
