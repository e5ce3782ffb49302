"""Totals that a file states of a whole session: shown beside what is counted here, never instead of it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

MOST = 10**12
NAMES = {
    "turns": ("turns", "turn_count", "total_turns", "num_turns"),
    "errors": ("error_count", "errors", "total_errors", "num_errors"),
    "tool_calls": ("tool_call_count", "tool_calls", "total_tool_calls", "num_tool_calls"),
    "tokens": ("tokens_used", "total_tokens", "token_count", "tokens", "total"),
    "cost": ("cost", "total_cost", "total_cost_usd", "cost_usd"),
}
"""Total -> the names that it goes by, in snake_case."""
PLACES = ("stated", "upg", "usage", "token_usage", "totals", "stats", "statistics", "metrics")
"""Members of the metadata of a session, and of each other, in which totals of it stand."""


def stated_totals(metadata: Mapping[str, Any]) -> dict[str, int | Decimal]:
    """``turns``, ``errors``, ``tool_calls``, ``tokens``, and ``cost`` in US dollars; what is no number is left out."""
    top = _in_snake_case(metadata)
    near = [_in_snake_case(top.get(name)) for name in PLACES]
    maps = [*near, *(_in_snake_case(place.get(name)) for place in near if place for name in PLACES), top]
    maps = [place for place in maps if place]  # of 73 places a session has one or none, and lists ask for each row
    totals: dict[str, int | Decimal] = {}
    for total, names in NAMES.items():
        found = (_number(total, place.get(name)) for place in maps for name in names)
        if (value := next((one for one in found if one is not None), None)) is not None:
            totals[total] = value
    return totals


def _in_snake_case(place: Any) -> dict[str, Any]:
    return {str(name).replace("-", "_"): value for name, value in place.items()} if isinstance(place, Mapping) else {}


def _number(total: str, value: Any) -> int | Decimal | None:
    """A count as a whole number, an amount as a decimal; lists and words under these names are something else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str) if total == "cost" else (int, float)):
        return None
    try:
        amount = Decimal(str(value))
    except InvalidOperation:
        return None
    if not amount.is_finite() or not 0 <= amount < MOST:
        return None
    return amount if total == "cost" else int(amount)
