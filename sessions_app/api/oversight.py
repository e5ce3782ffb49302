"""Figures of oversight, and planted calls."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app.models import Agent, Member, Role
from sessions_app.queries import oversight as queries
from sessions_app.services.approvals import requests
from sessions_app.services.oversight import planting

from .auth import admin, reader
from .idempotency import once
from .parsing import refuse_repaired, reply
from .problems import Problem, invalid
from .schemas.approvals import Approval
from .schemas.oversight import Figures, Oversight, OversightQuery, PlantedCall, RuleFigures

router = Router(tags=["oversight"])
DAYS = 30
LONGEST = timedelta(days=366)


@router.get("/oversight", auth=reader, response=Oversight)
def read_oversight(request: HttpRequest, asked: Annotated[OversightQuery, Query()]) -> HttpResponse:
    """Return how people decided in a period of at most 366 days: how often, how fast and how; which rules people only
    ever approve; and which planted calls they stopped.

    Everybody sees their own figures and those of the workspace; only admins see those of each person and team.
    """
    until = asked.to or timezone.now()
    since = asked.from_ or until - timedelta(days=DAYS)
    if not timedelta(0) < until - since <= LONGEST:
        raise invalid("/from", "the period must end after it begins, and be at most 366 days long")
    found = queries.oversight(request.auth.workspace.id, since, until)
    is_admin = request.auth.role == Role.ADMIN
    member_id = request.auth.member_id
    return reply(
        Oversight(
            since=since,
            until=until,
            you=Figures.from_row(found.of(member_id)) if member_id else None,
            workspace=Figures.from_row(found.all),
            expired=found.expired,
            answered_by_policy=found.by_policy,
            answered_by_grant=found.by_grant,
            answered_by_stop=found.by_stop,
            rules=[RuleFigures.from_row(row) for row in found.rules],
            members=[Figures.from_row(row) for row in found.people] if is_admin else None,
            teams=[Figures.from_row(row) for row in found.teams] if is_admin else None,
        )
    )


@router.post("/planted-calls", auth=admin, response={201: Approval})
@once
def plant(request: HttpRequest, asked: PlantedCall) -> HttpResponse:
    """Place a test call in the inbox. It looks like any other until it is decided, and is never executed.

    403 for API keys: it has to be an admin who is signed in, who then cannot decide it. 409 while its agent is stopped.
    """
    refuse_repaired(request)
    member = Member.objects.select_related("user").filter(pk=request.auth.member_id).first()
    if member is None:
        raise Problem(403, "a person has to place a test call, signed in as an admin: an API key is nobody")
    agent = Agent.objects.filter(Q(slug=asked.agent) | Q(name=asked.agent), workspace=request.auth.workspace).first()
    if agent is None:
        raise invalid("/agent", f'there is no agent "{asked.agent}" in this workspace')
    question = requests.Question(
        asked.tool.name, asked.tool.arguments, server=asked.tool.server, context=asked.context or "",
        risk=asked.risk or "", expires_in=asked.expires_in,
    )  # fmt: skip
    return reply(Approval.from_row(planting.plant(agent, question, by=member)), 201)
