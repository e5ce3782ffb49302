"""Decisions and evidence that sessions led to, traced to the definition and the rules that allowed them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries.graph import runs
from sessions_app.services.graph import recording

from ..agents import agent_read
from ..auth import own_asker, own_reader, own_writer, reader
from ..idempotency import once
from ..paging import Cursor, Limit, Page, decode, encode, keyset
from ..parsing import reply
from ..problems import Problem, not_found
from ..sessions import session_read
from .schemas import GraphNode, GraphRun, NewDecision, NewEvidence, Status, StatusChange

router = Router(tags=["graph"])
FAULTS = {recording.SentBefore: lambda error: Problem(409, str(error))}
OfAgent = Annotated[UUID | None, Query(None, description="id of an agent")]
InStatus = Annotated[Status | None, Query(None, description="only decisions with this status")]
OfKind = Literal["decision", "evidence"]


@router.get("/decisions", auth=reader, response=Page[GraphNode])
def list_decisions(
    request: HttpRequest, limit: Limit, cursor: Cursor, agent_id: OfAgent, status: InStatus,
    kind: OfKind = "decision",
) -> HttpResponse:  # fmt: skip
    """List decisions, or evidence, that sessions led to, newest first."""
    found = models.GraphNode.objects.filter(workspace=request.auth.workspace, kind=kind)
    found = found.filter(agent_id=agent_id) if agent_id else found
    rows, next_cursor = keyset(found.filter(status=status) if status else found, "id", limit, cursor, UUID)
    return reply(Page(items=_shown(rows), next_cursor=next_cursor))


@router.get("/agents/{uuid:agent_id}/graph", auth=reader, response=Page[GraphRun])
def read_agent_graph(request: HttpRequest, agent_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the sessions of an agent that led to decisions or evidence, with these, newest first."""
    before = decode(cursor, lambda position: UUID(position[0])) if cursor else None
    found, following = runs.runs_of(agent_read(request, agent_id), limit, before)
    items = [GraphRun.from_run(run) for run in found]
    return reply(Page(items=items, next_cursor=encode([following]) if following else None))


@router.get("/sessions/{uuid:session_id}/graph", auth=own_reader, response=Page[GraphNode])
def read_session_graph(request: HttpRequest, session_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the decisions and evidence of a session, in the order in which they came in."""
    session = session_read(request, session_id)
    found = models.GraphNode.objects.filter(session=session)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID, ascending=True, within="session")
    return reply(Page(items=_shown(rows), next_cursor=next_cursor))


@router.post("/sessions/{uuid:session_id}/decisions", auth=own_asker, response={201: GraphNode})
@once
def record_decision(request: HttpRequest, session_id: UUID, new: NewDecision) -> HttpResponse:
    """Record a decision that a session led to. The session may be archived or imported.

    403 for a `status` other than `proposed` by a key with the role agent. The same `client_id` again records nothing;
    with other content it is a 409. At most 500 decisions and pieces of evidence of one session.
    """
    session = session_read(request, session_id)
    made = recording.decide(session.pk, new.values(), request.auth.role, by=request.auth.actor)
    return reply(_shown([made])[0], 201)


@router.post("/sessions/{uuid:session_id}/evidence", auth=own_asker, response={201: GraphNode})
@once
def record_evidence(request: HttpRequest, session_id: UUID, new: NewEvidence) -> HttpResponse:
    """Record evidence from a session, for or against one of its decisions or by itself.

    The same `client_id` again records nothing; with other content it is a 409.
    """
    session = session_read(request, session_id)
    return reply(_shown([recording.support(session.pk, new.values(), by=request.auth.actor)])[0], 201)


@router.patch("/sessions/{uuid:session_id}/decisions/{uuid:decision_id}", auth=own_writer, response=GraphNode)
def change_decision(request: HttpRequest, session_id: UUID, decision_id: UUID, change: StatusChange) -> HttpResponse:
    """Change the status of a decision: from proposed to reviewing; from reviewing to approved, rejected or proposed;
    from rejected to proposed; from approved to deprecated.

    422 for any other change, and for a decision that an event tells. The same status again changes nothing.
    """
    here = models.GraphNode.objects.filter(
        session=session_read(request, session_id), kind=models.GraphNode.Kind.DECISION
    )
    decision = here.filter(pk=decision_id).first()
    if decision is None:
        raise not_found("decision")
    return reply(_shown([recording.change_status(decision, change.status, by=request.auth.actor)])[0])


def _shown(rows: Sequence[models.GraphNode]) -> list[GraphNode]:
    ids = list({row.session_id for row in rows})
    versions = dict(models.Session.objects.filter(pk__in=ids).values_list("pk", "agent_version"))
    policies = runs.policies_of(ids)
    return [GraphNode.from_row(row, versions[row.session_id], policies.get(row.session_id, [])) for row in rows]
