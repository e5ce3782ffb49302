"""What a call of a tool costs, as the agent's definition states it: ``price`` of its entry, in US dollars a call."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

MOST = 10_000


def price_of(tools: Any, tool: str, server: str | None) -> Decimal | None:
    """The price of the entry that offers the tool; None where none is stated."""
    for entry in tools if isinstance(tools, list) else ():
        if isinstance(entry, dict) and _offers(entry, tool, server):
            return _amount(entry.get("price"))
    return None


def _offers(entry: dict[str, Any], tool: str, server: str | None) -> bool:
    if server is not None:
        return entry.get("type") == "mcp" and (entry.get("server") or entry.get("name")) == server
    return entry.get("type") != "mcp" and entry.get("name") == tool


def _amount(price: Any) -> Decimal | None:
    try:
        amount = Decimal(str(price)) if isinstance(price, (str, int, float)) and price is not True else None
    except InvalidOperation:
        return None
    return amount if amount is not None and amount.is_finite() and 0 < amount <= MOST else None
