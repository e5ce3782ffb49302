"""The agents of a workspace, and the page of one."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Budget
from sessions_app.queries import agents as queries
from sessions_app.queries.money import budgets
from sessions_app.queries.sessions import session_list as session_queries

from .. import access

AGENTS = 100
SESSIONS = 25
RUNTIMES = {
    "external": "external: known here from its files and events",
    "managed": "as a managed agent at its provider",
    "local": "here, in a loop of tools",
    "scripted": "by a script, without a model",
}
POLICY_WORDS = {"allow": "allows", "ask": "asks", "deny": "denies"}


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """What each agent did, what it cost, and what of it waits."""
    workspace_id = request.member.workspace_id
    page = Paginator(queries.by_last_seen(workspace_id), AGENTS).get_page(request.GET.get("page"))
    return render(request, "agents/index.html", {"page": page, "rows": queries.rows(workspace_id, page.object_list)})


@require_safe
@access.viewer
def detail(request: access.DeskRequest, slug: str) -> HttpResponse:
    """One agent: its definition and its sessions."""
    agent = access.agent_read(request, slug)
    row = queries.rows(agent.workspace_id, queries.by_last_seen(agent.workspace_id).filter(pk=agent.pk))[0]
    wanted = session_queries.SessionFilter(agent=agent.slug)
    found = session_queries.filtered(agent.workspace_id, wanted)
    page = session_queries.page(found, wanted.sort, SESSIONS, cursor=None)
    context = {"row": row, "agent": row.agent, "sessions": page.items, "runtime": RUNTIMES[agent.runtime]}
    context |= {"budget": _daily(agent), "policy_line": _policy_line(agent)}
    return render(request, "agents/detail.html", context)


def _daily(agent: Agent) -> budgets.BudgetState | None:
    """The daily budget of an agent with what was spent of it, where it has one."""
    budget = Budget.objects.filter(agent=agent, session=None, period=Budget.Period.DAY).first()
    return budgets.BudgetState(budget, budgets.spent_of(budget)) if budget else None


def _policy_line(agent: Agent) -> str:
    """``asks by default; allows 2, denies 1 by name``: what becomes of its calls."""
    tools = agent.policy.get("tools")
    verdicts = list(tools.values()) if isinstance(tools, dict) else []
    default = str(agent.policy.get("default", "ask"))
    named = [f"{words} {verdicts.count(value)}" for value, words in POLICY_WORDS.items() if value in verdicts]
    words = POLICY_WORDS.get(default, "asks")
    return f"{words} by default; {', '.join(named)} by name" if named else f"{words} by default"
