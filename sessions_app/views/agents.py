"""The agents of a workspace, and the page of one."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.queries import agents as queries
from sessions_app.queries import sessions as session_queries

from . import access

AGENTS = 100
SESSIONS = 25
RUNTIMES = {
    "external": "elsewhere: known here from its files and events",
    "managed": "as a managed agent at its provider",
    "local": "here, in a loop of tools",
    "scripted": "by a script, without a model",
}


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """What each agent did, what it cost, and what of it waits."""
    found = queries.with_totals(request.member.workspace_id)
    page = Paginator(found, AGENTS).get_page(request.GET.get("page"))
    return render(request, "agents/index.html", {"page": page, "rows": queries.rows(page.object_list)})


@require_safe
@access.viewer
def detail(request: access.DeskRequest, slug: str) -> HttpResponse:
    """One agent: its definition and its sessions."""
    agent = access.agent_read(request, slug)
    row = queries.rows(queries.with_totals(agent.workspace_id).filter(pk=agent.pk))[0]
    wanted = session_queries.SessionFilter(agent=agent.slug)
    found = session_queries.filtered(agent.workspace_id, wanted)
    page = session_queries.page(found, wanted.sort, SESSIONS, cursor=None)
    context = {"row": row, "agent": row.agent, "sessions": page.items, "runtime": RUNTIMES[agent.runtime]}
    return render(request, "agents/detail.html", context)
