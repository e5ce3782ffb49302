"""What an agent is told of a decision."""

from __future__ import annotations

from .answers import Decision


def why(decision: Decision) -> str:
    """Who decided what, and why; for a call that nobody decided, that it did not run and is not to be repeated."""
    by, reason = decision.by or "the desk", decision.reason
    said = {
        "approved": f"Approved by {by}.",
        "approved_edited": f"Approved by {by}, with other arguments.",
        "auto_allowed": f"Allowed by {by}.",
        "denied": f"Denied by {by}.",
        "auto_denied": f"Denied by {by}.",
        "answered": f"Not run. {by} answers: {decision.answer}",
        "pending": "Not run: nobody has decided yet. Do not repeat this call; say that it waits for a decision.",
        "expired": "Not run: nobody decided in time.",
        "cancelled": "Not run: the question was withdrawn.",
        "settled_elsewhere": "Not run: this was settled elsewhere.",
    }.get(decision.status, "Not run: there is no decision from the Countersign desk.")
    return f"{said} {reason}".strip() if reason else said
