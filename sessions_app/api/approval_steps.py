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
    """Take back your vote: until the decision takes effect (`takes_effect_at`), or while others have still to vote.

    409 once it has taken effect, which a decision of an API key does at once. 403 for whoever has no vote to take back.
    """
    approval = find(request.auth, approval_id)
    taking_back.withdraw(approval, request.auth.decider, reason=body.reason or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/claim", auth=own_writer, response=Approval)
def claim(request: HttpRequest, approval_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Claim an approval for ten minutes: a hint to others, who may still decide it. Claiming again renews it.

    For members alone: 403 for keys. 409 while somebody else has claimed it, and once it is decided.
    """
    handling.claim(find(request.auth, approval_id), request.auth.decider)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.delete(f"{ONE}/claim", auth=own_writer, response=Approval)
def release(request: HttpRequest, approval_id: UUID) -> HttpResponse:
    """Release your claim; without one nothing changes. For members alone: 403 for keys."""
    handling.release(find(request.auth, approval_id), request.auth.decider)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/assign", auth=own_writer, response=Approval)
def assign(request: HttpRequest, approval_id: UUID, body: Assignment) -> HttpResponse:
    """Assign an approval to a member who may decide it, or to nobody. 422 for others; 409 once it is decided."""
    handling.assign(find(request.auth, approval_id), request.auth.decider, body.member, note=body.note or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/snooze", auth=own_writer, response=Approval)
def snooze(request: HttpRequest, approval_id: UUID, body: Snooze) -> HttpResponse:
    """Snooze an approval for everybody, for at most seven days. It may still expire meanwhile. 409 once
    it is decided.
    """
    approval = find(request.auth, approval_id)
    if body.until is None:
        handling.unsnooze(approval, request.auth.decider)
    else:
        handling.snooze(approval, request.auth.decider, body.until, reason=body.reason or "")
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/escalate", auth=own_writer, response=Approval)
def escalate(request: HttpRequest, approval_id: UUID, body: Escalation) -> HttpResponse:
    """Tell more people of an approval now, with the reason. It stays pending, and its log says who was told.

    422 when `to` reaches nobody here; 409 once it is decided.
    """
    handling.escalate(find(request.auth, approval_id), request.auth.decider, body.to, reason=body.reason)
    return reply(Approval.from_row(find(request.auth, approval_id)))


@router.post(f"{ONE}/cancel", auth=own_asker, response=Approval)
def cancel(request: HttpRequest, approval_id: UUID, body: Cancellation) -> HttpResponse:
    """Withdraw a question that you asked, as long as you were not told a decision: its `status` becomes `cancelled`.

    A reviewer may cancel a question to people (`escalate_to_human`) of somebody else; the agent is then given
    `{"error": "cancelled"}`. 403 for any other call of somebody else: deny it instead. 409 when it is too late. The
    same caller again changes nothing.
    """
    cancelling.cancel(find(request.auth, approval_id), request.auth.decider, reason=body.reason or "")
    return reply(Approval.from_row(given_to_asker(request.auth, find(request.auth, approval_id))))


@router.post(f"{ONE}/execution", auth=own_asker, response=Approval)
def report_execution(request: HttpRequest, approval_id: UUID, body: Execution) -> HttpResponse:
    """Report that an approved call is being made, or was made. 403 for anybody but whoever asked.

    Report `running` before you make the call, and do not make it on a 409: `digest` is not that of the approved call
    (`decision.digest`), the call was not approved or was made already, or a stop is in force. Such a report stands in
    the audit log, unless the call was made already. The same report again is a 200.
    """
    approval = find(request.auth, approval_id)
    execution.report(
        approval, by=request.auth.actor, digest=body.digest, state=body.status, detail=body.detail or ""
    )  # fmt: skip
    return reply(Approval.from_row(find(request.auth, approval_id)))
