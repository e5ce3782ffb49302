"""What an agent's definition says of its tools: the verdict on all calls of one, and what a call costs."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from sessions_app.services.policies.gate import ESCALATE as ESCALATE

MOST_PRICE = 10_000
"""US dollars of one call."""
Verdict = Literal["allow", "ask", "deny"]
VERDICTS = ("allow", "ask", "deny")


def verdict(policy: dict[str, Any], tool: str, server: str | None) -> Verdict:
    """Verdict of a policy ``{"default": ..., "tools": {"server/tool" | "tool": ...}}`` on every call of a tool.

    For providers that take one word a tool. Single calls are judged by ``services.policies.gate``. Anything unknown
    asks: it fails closed.
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
