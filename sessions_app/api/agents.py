"""Agent definitions."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries import stops
from sessions_app.queries.agents.agent_list import MOST_TYPED, matching
from sessions_app.services import agents

from .auth import reader, writer
from .idempotency import once
from .paging import Cursor, Limit, Page, keyset
from .parsing import reply
from .problems import not_found
from .schemas.agents import Agent, AgentChanges, AgentVersion, NewAgent

router = Router(tags=["agents"])
Words = Annotated[
    str,
    Query(
        "",
        max_length=MOST_TYPED,
        description="only agents with each of these words in name, slug, model or description",
    ),
]


@router.get("/agents", auth=reader, response=Page[Agent])
def list_agents(request: HttpRequest, limit: Limit, cursor: Cursor, q: Words) -> HttpResponse:
    """List the agents of the workspace, newest first."""
    found = matching(models.Agent.objects.filter(workspace=request.auth.workspace), q)
    rows, next_cursor = keyset(found, "id", limit, cursor, UUID)
    held = stops.of_agents(request.auth.workspace.id)
    items = [Agent.from_row(row, held.get(None) or held.get(row.pk)) for row in rows]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.post("/agents", auth=writer, response={201: Agent})
@once
def create_agent(request: HttpRequest, agent: NewAgent) -> HttpResponse:
    """Define an agent. 409 when its name is taken; 403 when anybody but an admin sets `policy`, `tools` or
    `environment`.
    """
    values, may_grant = agent.values(), request.auth.role.covers(models.Role.ADMIN)
    made = agents.create(request.auth.workspace.id, by=request.auth.actor, may_grant=may_grant, **values)
    return reply(_shown(made), 201)


@router.get("/agents/{uuid:agent_id}", auth=reader, response=Agent)
def read_agent(request: HttpRequest, agent_id: UUID) -> HttpResponse:
    """Return an agent."""
    return reply(_shown(agent_read(request, agent_id)))


@router.patch("/agents/{uuid:agent_id}", auth=writer, response=Agent)
def change_agent(request: HttpRequest, agent_id: UUID, changes: AgentChanges) -> HttpResponse:
    """Change the fields that are sent. A change of the definition makes a new version, which ends the agent's grants; a
    change of `status` alone does not.

    403 when anybody but an admin changes `policy`, `tools` or `environment`, and for what is fixed in the built-in
    agent. 409 when `version` is sent and is no longer the newest.
    """
    agent, may_grant = agent_read(request, agent_id), request.auth.role.covers(models.Role.ADMIN)
    changed = agents.change(agent, changes.values(), by=request.auth.actor, seen=changes.version, may_grant=may_grant)
    return reply(_shown(changed))


@router.get("/agents/{uuid:agent_id}/versions", auth=reader, response=Page[AgentVersion])
def list_versions(request: HttpRequest, agent_id: UUID, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the versions of an agent's definition, newest first."""
    found = models.AgentVersion.objects.filter(agent=agent_read(request, agent_id))
    rows, next_cursor = keyset(found, "version", limit, cursor, int)
    return reply(Page(items=[AgentVersion.from_row(row) for row in rows], next_cursor=next_cursor))


def _shown(agent: models.Agent) -> Agent:
    return Agent.from_row(agent, stops.of_agent(agent.workspace_id, agent.pk))


def agent_read(request: HttpRequest, agent_id: UUID) -> models.Agent:
    """An agent of the workspace; 404 otherwise."""
    agent = models.Agent.objects.filter(workspace=request.auth.workspace, pk=agent_id).first()
    if agent is None or not request.auth.may_see_agent(agent.pk):
        raise not_found("agent")
    return agent
