"""Rules for tools in an agent's definition: whether a call may run, and what it costs."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Literal

MOST_PRICE = 10_000
"""US dollars of one call."""
Verdict = Literal["allow", "ask", "deny"]
VERDICTS = ("allow", "ask", "deny")
ESCALATE = "escalate_to_human"
"""The tool by which every agent can ask a person a question; a person always answers it."""


def verdict(policy: dict[str, Any], tool: str, server: str | None) -> Verdict:
    """Verdict of a policy ``{"default": ..., "tools": {"server/tool" | "tool": ...}}`` on a call.

    Anything unknown asks: it fails closed.
    """
    if tool == ESCALATE:
        return "ask"
    tools = policy.get("tools")
    named = tools if isinstance(tools, dict) else {}
    stated = named.get(f"{server}/{tool}") if server else None
    stated = stated or named.get(tool) or policy.get("default")
    return stated if stated in VERDICTS else "ask"


def price_of(tools: Any, tool: str, server: str | None) -> Decimal | None:
    """The ``price`` of the entry that offers the tool, in US dollars a call; None where none is stated."""
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
    return amount if amount is not None and amount.is_finite() and 0 < amount <= MOST_PRICE else None
