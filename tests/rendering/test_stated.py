"""Totals that a file states, under whichever name; what is no number is none."""

from decimal import Decimal

import pytest

from sessions_app.rendering.stated import stated_totals


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"upg": {"turns": 917, "error_count": 613, "tokens_used": 5, "cost": 0.25}},
         {"turns": 917, "errors": 613, "tokens": 5, "cost": Decimal("0.25")}),
        ({"stated": {"token-usage": {"total": 12}, "total-cost-usd": "1.50"}},
         {"tokens": 12, "cost": Decimal("1.50")}),
        ({"turns": 4, "stats": {"tool_calls": 3}}, {"turns": 4, "tool_calls": 3}),
        ({"turns": True, "errors": ["one"], "tokens": "many", "cost": "NaN"}, {}),
        ({"turns": -1, "cost": 10**13, "tokens": float("inf")}, {}),
        ({"upg": "no map", "stats": None}, {}),
    ],
)  # fmt: skip
def test_totals_are_found_by_their_names(metadata, told):
    assert stated_totals(metadata) == told
