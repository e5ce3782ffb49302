"""What an agent's definition says of its tools: run, ask a person, or never."""

from __future__ import annotations

from typing import Any, Literal

Verdict = Literal["allow", "ask", "deny"]
VERDICTS = ("allow", "ask", "deny")
ESCALATE = "escalate_to_human"
"""The tool by which every agent can ask a person a question; a person always answers it."""


def verdict(policy: dict[str, Any], tool: str, server: str | None) -> Verdict:
    """Of ``{"default": ..., "tools": {"server/tool" | "tool": ...}}``. Anything unknown asks: it fails closed."""
    if tool == ESCALATE:
        return "ask"
    tools = policy.get("tools")
    named = tools if isinstance(tools, dict) else {}
    said = named.get(f"{server}/{tool}") if server else None
    said = said or named.get(tool) or policy.get("default")
    return said if said in VERDICTS else "ask"
