"""All runs of an agent with what they led to, as a file."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.views.decorators.http import require_safe

from sessions_app.views import access
from vcon_app.services.exports import agent_graph

from .downloads import written_meanwhile


@require_safe
@access.viewer
def download(request: access.DeskRequest, slug: str) -> HttpResponseBase:
    """The product graph of an agent."""
    agent = access.agent_read(request, slug)
    return written_meanwhile(agent_graph.chunks(agent), f"{agent.slug}{agent_graph.SUFFIX}", agent_graph.MEDIA_TYPE)
