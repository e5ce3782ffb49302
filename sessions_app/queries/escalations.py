"""Questions of agents to people (``escalate_to_human``): what the agent is given as the result of its call."""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from sessions_app.models import Approval

READ = "A person read this and approved, without another word."
Status = Approval.Status
ERRORS = {Status.CANCELLED: "cancelled", Status.EXPIRED: "expired"}
"""All other endings are ``denied``, with the reason."""


@dataclass(frozen=True, slots=True)
class Result:
    """A text, or an error as JSON: ``{"error": "denied" | "expired" | "cancelled", "reason": TEXT}``.

    What is cancelled or expired has a reason where a person gave one.
    """

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
    return refusal_of(approval)


def refusal_of(approval: Approval) -> Result:
    """The error that an agent is given for what a person was to answer, and did not."""
    made = approval.decision or {}
    reason = str(made.get("reason") or "")
    told = ERRORS.get(Status(approval.status))
    by_person = approval.decides_by == Approval.DecidesBy.PERSON
    return error(approval.status, reason if by_person or not told else "")


def error(status: str, reason: str = "") -> Result:
    """The error for an ending, with its reason where that is told."""
    told = ERRORS.get(Status(status), "denied")
    reason = reason or ("A person declined to answer." if told == "denied" else "")
    said = {"error": told} | ({"reason": reason} if reason else {})
    return Result(orjson.dumps(said).decode(), is_error=True)
