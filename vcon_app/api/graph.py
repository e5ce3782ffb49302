"""All runs of an agent with what they led to, as a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponseBase
from ninja import Router

from sessions_app.api.agents import agent_read
from sessions_app.api.auth import reader
from sessions_app.api.problems import Problem
from vcon_app.services.exports import agent_graph
from vcon_app.views.downloads import written_meanwhile

router = Router(tags=["graph"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {}
FILE: dict[str, Any] = {"responses": {200: {"description": "the file", "content": {agent_graph.MEDIA_TYPE: {}}}}}


@router.get("/agents/{uuid:agent_id}/graph/export", auth=reader, openapi_extra=FILE)
def export_graph(request: HttpRequest, agent_id: UUID) -> HttpResponseBase:
    """Return the definition, runs, tools, decisions and evidence of an agent as a Unified Product Graph,
    all of them.
    """
    agent = agent_read(request, agent_id)
    return written_meanwhile(agent_graph.chunks(agent), f"{agent.slug}{agent_graph.SUFFIX}", agent_graph.MEDIA_TYPE)
