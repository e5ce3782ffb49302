"""Stops: nothing that an agent, or every agent, would do next is done, until somebody lifts it."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries import stops as queries
from sessions_app.services.stops import stops

from .auth import reader, writer
from .idempotency import once_in_steps, repeat_id
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import invalid, not_found
from .schemas.stops import Lifting, NewStop, Stop

router = Router(tags=["stops"])
AgentNamed = Annotated[str, Query("", description="id, slug or name of an agent; 422 for one that does not exist")]
InForce = Annotated[bool | None, Query(None, description="true: those in force; false: those that ended; else both")]


@router.get("/stops", auth=reader, response=Page[Stop])
def list_stops(
    request: HttpRequest, limit: Limit, cursor: Cursor, agent: AgentNamed, in_force: InForce
) -> HttpResponse:
    """List stops, newest first. Those for every agent are among those of an `agent`."""
    workspace_id = request.auth.workspace.id
    found = queries.recent(workspace_id)
    if in_force is not None:
        holding = queries.in_force(workspace_id).values("pk")
        found = found.filter(pk__in=holding) if in_force else found.exclude(pk__in=holding)
    if agent:
        found = found.filter(Q(agent=None) | Q(agent=_agent(request, agent)))
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    return reply(Page(items=[Stop.from_row(row) for row in rows], next_cursor=next_cursor))


@router.post("/stops", auth=writer, response={201: Stop})
@once_in_steps  # in one transaction its locks would be held to the end, and one that is not given undo it
def stop(request: HttpRequest, new: NewStop) -> HttpResponse:
    """Stop an agent, or every agent: calls that wait are denied, turns are interrupted, and nothing new begins.

    Nothing new begins once this is answered, even while `carried_out_at` is still null.
    """
    until = timezone.now() + timedelta(seconds=new.for_seconds) if new.for_seconds else new.until
    made = stops.make(
        request.auth.workspace, by=request.auth.actor, role=request.auth.role, reason=new.reason,
        agent=_agent(request, new.agent) if new.agent else None, until=until, id_=repeat_id(request),
    )  # fmt: skip
    return reply(Stop.from_row(_stop(request, made.pk)), 201)


@router.get("/stops/{uuid:stop_id}", auth=reader, response=Stop)
def read_stop(request: HttpRequest, stop_id: UUID) -> HttpResponse:
    """Return a stop with what it ended."""
    return reply(Stop.from_row(_stop(request, stop_id)))


@router.post("/stops/{uuid:stop_id}/lift", auth=writer, response=Stop)
def lift(request: HttpRequest, stop_id: UUID, lifting: Lifting) -> HttpResponse:
    """Lift a stop. What it ended stays ended. 403 for anybody but an admin or whoever made it; 409 when it is over."""
    found = _stop(request, stop_id)
    stops.lift(found, by=request.auth.actor, role=request.auth.role, reason=lifting.reason)
    return reply(Stop.from_row(_stop(request, stop_id)))


def _stop(request: HttpRequest, stop_id: UUID) -> models.Stop:
    found = queries.recent(request.auth.workspace.id).filter(pk=stop_id).first()
    if found is None:
        raise not_found("stop")
    return found


def _agent(request: HttpRequest, named: str) -> models.Agent:
    """The agent of this id, slug or name. A misspelt name must not stop everybody, or nobody."""
    agents = models.Agent.objects.filter(workspace=request.auth.workspace)
    try:
        found = agents.filter(pk=UUID(named)).first()
    except ValueError:
        found = agents.filter(slug=named).first() or agents.filter(name=named).order_by("created_at").first()
    if found is None:
        raise invalid("/agent", f'there is no agent "{named[:100]}" in this workspace')
    return found
