"""Grants: what people allowed for more than one call."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app import models
from sessions_app.queries import policies as queries
from sessions_app.services.policies import grants

from .auth import reader, writer
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import refuse_repaired, reply
from .problems import Problem, invalid, not_found
from .schemas.grants import Grant, NewGrant, Revocation

router = Router(tags=["grants"])


@router.get("/grants", auth=reader, response=Page[Grant])
def list_grants(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List grants, newest first, with how often each was used."""
    rows, next_cursor = keyset(queries.grants_of(request.auth.workspace.id), "id", limit, cursor, UUID)
    return reply(Page(items=[Grant.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/grants", auth=writer, response={201: Grant})
@once
def make_grant(request: HttpRequest, new: NewGrant) -> HttpResponse:
    """Let calls like one that was asked for pass without a decision; or, for admins, calls of a tool of an agent.

    403 for whoever may not decide that approval. 409 where such calls have to be decided one by one.
    """
    refuse_repaired(request)
    wish = new.wish()
    try:
        if new.approval:
            made = grants.make_from(_approval(request, new.approval), wish, decider=request.auth.decider)
        else:
            target = grants.Target(_agent(request, new.agent), new.tool or "", new.server, new.fingerprint)
            made = grants.make(target, wish, decider=request.auth.decider)
    except grants.NotOffered as refused:
        raise Problem(409, str(refused)) from None
    return reply(Grant.from_row(made), 201)


@router.post("/grants/{uuid:grant_id}/revoke", auth=writer, response=Grant)
def revoke(request: HttpRequest, grant_id: UUID, revocation: Revocation) -> HttpResponse:
    """End a grant at once. 409 when it has ended already."""
    grant = queries.grants_of(request.auth.workspace.id).filter(pk=grant_id).first()
    if grant is None:
        raise not_found("grant")
    try:
        grants.revoke(grant, by=request.auth.actor, reason=revocation.reason)
    except grants.NotInForce as ended:
        raise Problem(409, str(ended)) from None
    return reply(Grant.from_row(queries.grants_of(request.auth.workspace.id).get(pk=grant_id)))


def _approval(request: HttpRequest, approval_id: UUID) -> models.Approval:
    found = models.Approval.objects.filter(request.auth.sees_approvals(), pk=approval_id)
    approval = found.select_related("session__agent").first()
    if approval is None:
        raise invalid("/approval", "there is no such approval in this workspace")
    return approval


def _agent(request: HttpRequest, agent_id: UUID | None) -> models.Agent:
    agent = models.Agent.objects.filter(workspace=request.auth.workspace, pk=agent_id).first()
    if agent is None:
        raise invalid("/agent", "there is no such agent in this workspace")
    return agent
