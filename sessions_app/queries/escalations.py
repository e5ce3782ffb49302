"""Questions of agents to people (``escalate_to_human``): what the agent is given as the result of its call."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from sessions_app.models import Approval

READ = "A person read this and approved, without another word."
Status = Approval.Status
ERRORS = {Status.CANCELLED: "cancelled", Status.EXPIRED: "expired"}
"""Endings that have no reason worth telling; all others are ``denied``, with the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """A text, or an error as JSON: ``{"error": "denied" | "expired" | "cancelled", "reason": TEXT}``."""

    text: str
    is_error: bool = False


def result_of(approval: Approval) -> Result | None:
    """What the agent is given for a question that is no longer pending; None while it is."""
    made = approval.decision or {}
    if approval.status == Status.PENDING:
        return None
    if approval.status == Status.ANSWERED:
        return Result(str(made.get("answer", "")))
    if approval.status in (Status.APPROVED, Status.APPROVED_EDITED, Status.AUTO_ALLOWED):
        return Result(READ)
    return error(approval.status, str(made.get("reason") or ""))


def error(status: str, reason: str = "") -> Result:
    """The error that an agent is given for a question that nobody answered."""
    told = ERRORS.get(Status(status))
    said = {"error": told} if told else {"error": "denied", "reason": reason or "A person declined to answer."}
    return Result(orjson.dumps(said).decode(), is_error=True)
