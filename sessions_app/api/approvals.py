"""Human decisions: an agent asks and waits, a reviewer decides."""

from __future__ import annotations

import time
from typing import Annotated
from uuid import UUID

from asgiref.sync import sync_to_async
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app import models
from sessions_app.live import readers
from sessions_app.live.hub import hub
from sessions_app.live.threads import in_thread, release
from sessions_app.queries import votes
from sessions_app.services import agents
from sessions_app.services.approvals import decisions, endings, requests

from .auth import Principal, own_asker, own_reader, own_writer
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import refuse_repaired, reply
from .problems import Problem, invalid, not_found
from .schemas.approvals import Approval, Decision, Question
from .sessions import session_read

router = Router(tags=["approvals"])
MAX_WAIT = 60.0
Wait = Annotated[
    float, Query(0, ge=0, allow_inf_nan=False, description=f"seconds to wait for a decision, {MAX_WAIT:.0f} at most")
]
Status = models.Approval.Status


@router.get("/approvals", auth=own_reader, response=Page[Approval])
def list_approvals(
    request: HttpRequest, limit: Limit, cursor: Cursor, status: str = "", session_id: UUID | None = None
) -> HttpResponse:
    """Approvals of the workspace, the newest first."""
    if status and status not in Status.values:
        raise invalid("/status", f'"{status}" is no status; use one of {", ".join(Status.values)}')
    wanted = {name: value for name, value in (("status", status), ("session_id", session_id)) if value}
    found = models.Approval.objects.filter(request.auth.sees_approvals(), **wanted).prefetch_related(votes.PREFETCH)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[Approval.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/approvals/{uuid:approval_id}", auth=own_reader, response=Approval)
async def read_approval(request: HttpRequest, approval_id: UUID, wait: Wait) -> HttpResponse:
    """One approval; with ``wait`` as soon as it is decided, and as it is when the time is up.

    A wait that ends changes nothing: the call stays undecided, and may be asked for again.
    """
    if not wait:
        return reply(Approval.from_row(await sync_to_async(_current)(request.auth, approval_id)))
    caller, address = request.auth.caller, request.META.get("REMOTE_ADDR", "")
    until = time.monotonic() + min(wait, MAX_WAIT)
    readers.check(caller, address)
    with readers.reading(caller, address), hub().reader("approval", approval_id) as changes:
        await release()
        approval = await in_thread(_current, request.auth, approval_id)
        while approval.status == Status.PENDING and (left := until - time.monotonic()) > 0:
            await changes.wait(min(left, _seconds_to_expiry(approval)))
            if readers.is_gone(caller):
                raise Problem(401, "the key or the member that asked may not read any more")
            approval = await in_thread(_current, request.auth, approval_id)
    return reply(Approval.from_row(approval))


@router.post("/approvals", auth=own_asker, response={201: Approval})
@once
def ask(request: HttpRequest, question: Question) -> HttpResponse:
    """Ask whether a tool call may be made. The same ``client_id`` again is the same question.

    409 when the client id was used with anything else, which the answer names, or the session is archived or was read
    from a signed file.
    """
    refuse_repaired(request)
    asked = requests.Question(
        question.tool.name,
        question.tool.arguments,
        server=question.tool.server,
        context=question.context or "",
        risk=question.risk or "",
        expires_in=question.expires_in,
        client_id=question.client_id or "",
    )
    by = request.auth.actor
    if question.session_id:
        approval = requests.request(session_read(request, question.session_id), asked, by=by)
    else:
        principal = request.auth
        if principal.agent and agents.slug_of(question.agent) != principal.agent.slug:
            raise Problem(403, f'this key is for the agent "{principal.agent}" only; ask in its name')
        approval = requests.request_in_own_session(
            principal.workspace.id, question.agent, asked, by=by, among=principal.sees,
            external_id=question.external_id or "", title=question.title or "",
        )  # fmt: skip
    return reply(Approval.from_row(approval), 201)


@router.post("/approvals/{uuid:approval_id}/decision", auth=own_writer, response=Approval)
def decide(request: HttpRequest, approval_id: UUID, decision: Decision) -> HttpResponse:
    """Approve (also with other arguments), deny or answer. Bound to the version and digest that were shown.

    403 for whoever asked: nobody decides what they asked themselves.

    The same decision again is the same answer; another one is 409 and names the ``winner``.
    """
    refuse_repaired(request)
    decided = decisions.decide(
        _find(request.auth, approval_id),
        request.auth.decider,
        decisions.Decision(
            decision.verdict,
            version=decision.version,
            digest=decision.digest,
            arguments=decision.arguments,
            answer=decision.answer or "",
            reason=decision.reason or "",
            confirmation=decision.confirmation or "",
        ),
    )
    return reply(Approval.from_row(decided))


def conflict(error: decisions.Conflict) -> Problem:
    """409 with how things stand: ``winner`` is who decided what and when, null while nobody did."""
    approval = Approval.from_row(error.approval)
    decision = approval.decision
    winner = (
        {name: decision.get(name) for name in ("by", "by_kind", "verdict", "status", "at", "reason")}
        if decision
        else None
    )
    return Problem(409, str(error), winner=winner, approval=approval.model_dump(mode="json"))


def _find(principal: Principal, approval_id: UUID) -> models.Approval:
    found = models.Approval.objects.filter(principal.sees_approvals(), pk=approval_id)
    approval = found.select_related("session").prefetch_related(votes.PREFETCH).first()
    if approval is None:
        raise not_found("approval")
    return approval


def _current(principal: Principal, approval_id: UUID) -> models.Approval:
    """As it stands now: expired if its time is up, delivered if an API key is told a decision."""
    approval = _find(principal, approval_id)
    if approval.status == Status.PENDING and _seconds_to_expiry(approval) <= 0:
        endings.expire_due(approval_id=approval_id)
        approval = _find(principal, approval_id)
    if approval.status != Status.PENDING and principal.api_key_id:
        endings.mark_delivered(approval)
    return approval


def _seconds_to_expiry(approval: models.Approval) -> float:
    if approval.expires_at is None:
        return MAX_WAIT
    return (approval.expires_at - timezone.now()).total_seconds()
