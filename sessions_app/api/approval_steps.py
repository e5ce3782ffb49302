"""What is done with an approval besides deciding it: take back, claim, assign, snooze, and report its execution."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.services.approvals import cancelling, execution, handling, taking_back

from .approvals import find, given_to_asker
from .auth import own_asker, own_writer
from .parsing import reply
from .schemas.approvals import Approval, Assignment, Cancellation, Escalation, Execution, Snooze, Withdrawal
from .schemas.common import NOTHING, NoBody

router = Router(tags=["approvals"])
ONE = "/approvals/{uuid:approval_id}"


@router.post(f"{ONE}/withdraw", auth=own_writer, response=Approval)
def withdraw(request: HttpRequest, approval_id: UUID, body: Withdrawal) -> HttpResponse:
    """Take back your vote, until the decision takes effect (`takes_effect_at`): the approval is pending again.

    409 once it took effect; 403 for everybody who did not vote. Decisions of API keys take effect at once.
    """
    approval = find(request.auth, approval_id)
    taking_back.withdraw(approval, request.auth.decider, reason=body.reason or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/claim", auth=own_writer, response=Approval)
def claim(request: HttpRequest, approval_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Say that you are at it, for ten minutes: a hint to others, who may decide all the same. 409 while somebody is."""
    handling.claim(find(request.auth, approval_id), request.auth.decider)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.delete(f"{ONE}/claim", auth=own_writer, response=Approval)
def release(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Give your claim back."""
    handling.release(find(request.auth, approval_id), request.auth.decider)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/assign", auth=own_writer, response=Approval)
def assign(request: HttpRequest, approval_id: UUID, body: Assignment) -> HttpResponse:
    """Hand it to a member who may decide it, or to nobody in particular."""
    handling.assign(find(request.auth, approval_id), request.auth.decider, body.member, note=body.note or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/snooze", auth=own_writer, response=Approval)
def snooze(request: HttpRequest, approval_id: UUID, body: Snooze) -> HttpResponse:
    """Out of the way until then, at most a week, for everybody. What expires meanwhile expires all the same."""
    approval = find(request.auth, approval_id)
    if body.until is None:
        handling.unsnooze(approval, request.auth.decider)
    else:
        handling.snooze(approval, request.auth.decider, body.until, reason=body.reason or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/escalate", auth=own_writer, response=Approval)
def escalate(request: HttpRequest, approval_id: UUID, body: Escalation) -> HttpResponse:
    """Tell more people of it now, with the reason. It stays pending, and who was told is on the record."""
    handling.escalate(find(request.auth, approval_id), request.auth.decider, body.to, reason=body.reason)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/cancel", auth=own_asker, response=Approval)
def cancel(request: HttpRequest, approval_id: UUID, body: Cancellation) -> HttpResponse:
    """Withdraw what you asked, before you were told a decision: `status` is `cancelled`. 409 when that is too late.

    A reviewer cancels so a question to people (`escalate_to_human`); the agent is given `{"error": "cancelled"}`. Of
    any other call 403: it is denied instead.
    """
    cancelling.cancel(find(request.auth, approval_id), request.auth.decider, reason=body.reason or "")
    return reply(Approval.from_row(given_to_asker(request.auth, find(request.auth, approval_id))))


@router.post(f"{ONE}/execution", auth=own_asker, response=Approval)
def report_execution(request: HttpRequest, approval_id: UUID, body: Execution) -> HttpResponse:
    """Report that the call is being made, or was made. Only for whoever asked.

    409, and an entry in the audit log, for a `digest` other than that of the call that may be made (`decision.digest`):
    who gets it does not make the call. The same report again is a 200.
    """
    approval = find(request.auth, approval_id)
    execution.report(
        approval, by=request.auth.actor, digest=body.digest, state=body.status, detail=body.detail or ""
    )  # fmt: skip
    return reply(Approval.from_row(find(request.auth, approval_id)))
