"""Calls that take two steps to approve, on every page and in Slack: what destroys, or is marked as a high risk."""

from __future__ import annotations

from typing import Any

from sessions_app.models import Approval
from sessions_app.queries.approvals import HIGH
from sessions_app.rendering import toolline
from sessions_app.rendering.arguments import shape
from sessions_app.rendering.marks import risk_in_words


def why(approval: Approval, arguments: Any) -> list[str]:
    """Why this call, with these arguments, is approved in two steps; empty where one is enough."""
    if toolline.question_of(approval.tool_name, arguments, approval.tool_server):
        return []
    found = shape.destroys(approval.tool_name, arguments)
    return [*found, f"its risk is {risk_in_words(approval.risk, approval.terms)}"] if approval.risk in HIGH else found
