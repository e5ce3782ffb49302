"""Tokens, money and time as people read them; what is not known is a dash."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.rendering import numbers


@pytest.mark.parametrize(
    ("count", "shown"),
    [(None, "—"), (0, "0"), (999, "999"), (1_000, "1.0 k"), (48_213, "48.2 k"), (99_949, "99.9 k"), (99_950, "100 k"),
     (212_000, "212 k"), (999_499, "999 k"), (999_500, "1.0 M"), (1_234_567, "1.2 M"), (10**9, "1.0 B")],
)  # fmt: skip
def test_tokens_are_short(count: int | None, shown: str) -> None:
    assert numbers.tokens(count) == shown


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(None, "—"), ("0", "$0.00"), ("0.031", "$0.031"), ("0.0000123", "$0.000012"), ("0.1", "$0.10"), ("0.996", "$1.00"),
     ("1", "$1.00"), ("12.345", "$12.35"), (Decimal("1234.5"), "$1,234.50"), ("-0.5", "−$0.50")],
)  # fmt: skip
def test_money_is_to_the_cent_or_to_two_digits(amount: str | None, shown: str) -> None:
    assert numbers.money(amount) == shown


def test_money_that_went_has_its_sign_before_the_dollar() -> None:
    assert numbers.dollars("-0.0012") == "−$0.0012"
    assert numbers.dollars("1.5") == "$1.5"


def test_a_lower_bound_is_never_above_the_truth() -> None:
    assert numbers.money("0.4399", partial=True) == "≥ $0.43"
    assert numbers.money("1.2399", partial=True) == "≥ $1.23"
    assert numbers.money("0.999", partial=True) == "≥ $0.99"
    assert numbers.money(None, partial=True) == "—"
    assert numbers.money("0.0000", partial=True) == "—", "at least nothing says nothing"
    assert numbers.tokens(5, partial=True) == "≥ 5"


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(None, "—"), (0, "0 ms"), (80, "80 ms"), (800, "0.8 s"), (9_960, "10 s"), (24_000, "24 s"), (59_600, "1 m"),
     (192_000, "3 m 12 s"), (3_840_000, "1 h 4 m"), (97_200_000, "1 d 3 h")],
)  # fmt: skip
def test_durations_are_short(milliseconds: float | None, shown: str) -> None:
    assert numbers.duration(milliseconds) == shown


def test_titles_hold_the_exact_number() -> None:
    assert numbers.exact(48_213) == "48,213"
    assert numbers.dollars(Decimal("0.012345")) == "$0.012345"
    assert (numbers.exact(None), numbers.dollars(None)) == ("—", "—")


def test_percent_and_size() -> None:
    assert (numbers.percent(81, 100), numbers.percent(1, 0), numbers.percent(None, 5)) == ("81 %", "—", "—")
    assert (numbers.size(812), numbers.size(48_213), numbers.size(None)) == ("812 B", "48.2 kB", "—")
