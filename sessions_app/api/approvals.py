"""Human decisions: an agent asks and waits, a reviewer decides."""

from __future__ import annotations

import time
from functools import partial
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
from sessions_app.services import actors, agents
from sessions_app.services.approvals import decisions, delivery, effects, endings, execution, requests

from .auth import Principal, own_asker, own_reader, own_writer
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import refuse_repaired, reply
from .problems import Problem, invalid, not_found
from .schemas.approvals import Approval, DecidedApproval, Decision, Question, Vote
from .sessions import session_read

router = Router(tags=["approvals"])
MAX_WAIT = 60.0
Wait = Annotated[
    float,
    Query(
        0,
        ge=0,
        allow_inf_nan=False,
        description=f"seconds to wait for a decision; more than {MAX_WAIT:.0f} count as {MAX_WAIT:.0f}",
    ),
]
Status = models.Approval.Status
InStatus = Annotated[str, Query("", description=", ".join(Status.values))]
OfSession = Annotated[UUID | None, Query(None, description="only approvals of this session")]
PEOPLE = ("claimed_by__user", "assigned_to__user")


@router.get("/approvals", auth=own_reader, response=Page[Approval])
def list_approvals(
    request: HttpRequest, limit: Limit, cursor: Cursor, status: InStatus, session_id: OfSession
) -> HttpResponse:
    """List approvals, newest first."""
    if status and status not in Status.values:
        raise invalid("/status", f'"{status}" is no status; use one of {", ".join(Status.values)}')
    wanted = {name: value for name, value in (("status", status), ("session_id", session_id)) if value}
    found = models.Approval.objects.filter(request.auth.sees_approvals(), **wanted)
    found = found.select_related(*PEOPLE).prefetch_related(votes.PREFETCH)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    rows = [given_to_asker(request.auth, row) for row in rows]
    return reply(Page(items=[Approval.from_row(row) for row in rows], next_cursor=next_cursor))


@router.get("/approvals/{uuid:approval_id}", auth=own_reader, response=Approval)
async def read_approval(request: HttpRequest, approval_id: UUID, wait: Wait) -> HttpResponse:
    """Return an approval; with `wait` once it is decided, or as it is when the time is up.

    A wait that ends changes nothing: ask again. 429 when the caller has too many streams and waits open.
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
            grace = GRACE if approval.takes_effect_at else 0.0
            await changes.wait(min(left, max(_seconds_to_change(approval) + grace, 0.0)))
            if readers.is_gone(caller):
                raise Problem(401, "the key or the member that asked may not read any more")
            approval = await in_thread(_current, request.auth, approval_id)
    return reply(Approval.from_row(approval))


@router.post("/approvals", auth=own_asker, response={201: Approval})
@once
def ask(request: HttpRequest, question: Question) -> HttpResponse:
    """Ask whether a tool call may be made. The answer is pending, or allowed or denied at once by a policy, a grant or
    a stop. The same `client_id` again is the same question: 201 with the approval as it stands.

    409 when the `client_id` was used for another question (the answer names what differs), and for a session that is
    archived or was imported from a signed file. 403 when the key is for another agent.
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
        fingerprint=question.tool.fingerprint,
    )
    by, is_told = request.auth.actor, partial(_is_told, request.auth)
    if question.session_id:
        approval = requests.request(session_read(request, question.session_id), asked, by=by, is_told=is_told)
    else:
        principal = request.auth
        if principal.agent and not agents.is_called(principal.agent, question.agent):
            raise Problem(403, f'this key is for the agent "{principal.agent}" only; ask in its name')
        approval = requests.request_in_own_session(
            principal.workspace.id, question.agent, asked, by=by, among=principal.sees,
            external_id=question.external_id or "", title=question.title or "", is_told=is_told,
        )  # fmt: skip
    return reply(Approval.from_row(_given_to(request.auth, approval)), 201)


@router.post("/approvals/{uuid:approval_id}/decision", auth=own_writer, response=DecidedApproval)
def decide(request: HttpRequest, approval_id: UUID, decision: Decision) -> HttpResponse:
    """Approve a call (also with other arguments), deny it, or answer a question. `version` and `call.digest` have to be
    those of the approval as you saw it.

    It stays `pending` where the rules want more votes. With `grant`, calls like it need no decision from then on:
    `decision.grant` is its id, or `decision.no_grant` says why there is none.

    403 for whoever asked, and for anybody whom the rules do not let decide. The same decision by the same caller again
    is a 200; its first reason stands, and `not_kept` says so. Another decision, or a `version` or digest that has
    changed, is a 409: `winner` says who decided what and when, null while nobody did.
    """
    refuse_repaired(request)
    decided = decisions.decide(
        find(request.auth, approval_id),
        request.auth.decider,
        decisions.Decision(
            decision.verdict,
            version=decision.version,
            digest=decision.digest,
            arguments=decision.arguments,
            answer=decision.answer or "",
            reason=decision.reason or "",
            confirmation=decision.confirmation or "",
            grant=decision.grant.wish() if decision.grant else None,
            sure=True,  # a program has no second button: it says by the digest which call it means
        ),
    )
    return reply(DecidedApproval.from_row(decided))


def conflict(error: decisions.Conflict) -> Problem:
    """409 with how things stand: ``winner`` is who decided what and when, null while nobody did."""
    approval = Approval.from_row(error.approval)
    decision = approval.decision or _taken_back_perhaps(error.approval)
    winner = (
        {name: decision.get(name) for name in ("by", "by_kind", "verdict", "status", "at", "reason")}
        if decision
        else None
    )
    return Problem(409, str(error), winner=winner, approval=approval.model_dump(mode="json"))


def _taken_back_perhaps(approval: models.Approval) -> dict[str, object] | None:
    """The decision that takes effect in some seconds, if nobody takes it back."""
    last = votes.tally(approval).last if approval.takes_effect_at else None
    return {**Vote.of(last).model_dump(mode="json"), "status": approval.status} if last else None


def find(principal: Principal, approval_id: UUID) -> models.Approval:
    """An approval that the caller sees. Raises 404."""
    found = models.Approval.objects.filter(principal.sees_approvals(), pk=approval_id)
    found = found.select_related("session", *PEOPLE).defer("session__source_record")
    approval = found.prefetch_related(votes.PREFETCH).first()
    if approval is None:
        raise not_found("approval")
    return approval


def _current(principal: Principal, approval_id: UUID) -> models.Approval:
    """As it stands now: expired or in effect if its time is up, delivered if its asker is told a decision."""
    approval = find(principal, approval_id)
    if approval.status == Status.PENDING and _seconds_to_change(approval) <= 0:
        if approval.takes_effect_at:
            effects.settle(approval_id)
        else:
            endings.expire_due(approval_id=approval_id)
        approval = find(principal, approval_id)
    return _given_to(principal, approval)


def _given_to(principal: Principal, approval: models.Approval) -> models.Approval:
    """The approval as it is told to the caller, noted as delivered where that is who asked, or another program.

    What is noted is what is told: between reading and noting it may have become void.
    """
    owed = approval.status in execution.EXECUTABLE and approval.delivery in delivery.OWED
    if owed and not _is_told(principal, approval):
        endings.held_to_stop(approval)
        approval = find(principal, approval.pk)
    while approval.status != Status.PENDING and approval.delivery in delivery.OWED and _is_told(principal, approval):
        if endings.tell(approval):
            break
        approval = find(principal, approval.pk)
    return approval


def given_to_asker(principal: Principal, approval: models.Approval) -> models.Approval:
    """The same for a list or a stream, which others read, too: delivered where the very key that asked reads it."""
    is_asker = principal.api_key_id is not None and principal.api_key_id == approval.asked_by_key_id
    return _given_to(principal, approval) if is_asker else approval


def _is_told(principal: Principal, approval: models.Approval) -> bool:
    """Whether the answer has reached a program by reaching this caller: not whoever decided and did not ask."""
    if not principal.is_told:
        return False
    if principal.api_key_id:
        decided_by = (approval.decision or {}).get("by_id")
        return principal.api_key_id == approval.asked_by_key_id or str(principal.api_key_id) != decided_by
    user = approval.asked_by_user_id
    return user is not None and actors.user_id_of(principal.actor) == user


GRACE = 0.25
"""Seconds that a reader leaves to the timer of the process that decided before it does the same itself."""


def _seconds_to_change(approval: models.Approval) -> float:
    """Until time alone changes it."""
    if approval.takes_effect_at:
        return (approval.takes_effect_at - timezone.now()).total_seconds()
    if approval.expires_at is None:
        return MAX_WAIT
    return (approval.expires_at - timezone.now()).total_seconds()
