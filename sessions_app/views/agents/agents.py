"""The agents of a workspace, and the page of one."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Budget
from sessions_app.queries.agents import agent_health, agent_list
from sessions_app.queries.agents import agents as queries
from sessions_app.queries.money import budgets
from sessions_app.queries.sessions import session_list as session_queries
from sessions_app.queries.sessions.run_summaries import note_summaries

from .. import access
from ..list_columns import Column
from ..tables import page_number
from . import costs

SESSIONS = 25
FEW = 10
"""Sessions of an agent below which those with errors are a number: 100 % of one says no more than that."""
COLUMNS = (
    (_("Agent"), "", "name"), (_("Last seen"), "", "seen"), (_("Sessions a day"), "", ""),
    (_("Sessions"), "right", "sessions"), (_("With errors"), "right", "errors"), (_("Findings"), "", "findings"),
    (_("Tokens"), "right", "tokens"), (_("Cost"), "right", "cost"), (_("Pending"), "", "pending"),
)  # fmt: skip
"""Heads of the list: words, class, and the order that each leads to."""
RUNTIMES = {
    "external": _("external: known here from its files and events"),
    "managed": _("as a managed agent at its provider"),
    "local": _("here, in a loop of tools"),
    "scripted": _("by a script, without a model"),
    "built_in": _("here: it is built in, and reads sessions for the members who ask it"),
}
BY_DEFAULT = {
    "allow": _("allows by default"),
    "ask": _("asks by default"),
    "deny": _("denies by default"),
}
BY_NAME = {
    "allow": _("allows %(count)s"),
    "ask": _("asks %(count)s"),
    "deny": _("denies %(count)s"),
}
"""Before how many tools a policy names."""


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """What each agent did, what it cost, and what of it waits."""
    asked = agent_list.read(request.GET)
    if asked.problem:
        return render(request, "agents/index.html", {"asked": asked, "columns": _columns(asked)}, status=400)
    off = request.member.workspace.rules_off
    listed = agent_list.page_of(request.member.workspace_id, asked, page_number(request.GET), off)
    context = {"asked": asked, "listed": listed, "page": listed.page, "rows": listed.rows, "columns": _columns(asked)}
    context |= {"earlier": "", "next": "", "few": FEW}
    if listed.page.has_previous():
        context["earlier"] = asked.query(page=f"{listed.page.previous_page_number()}")
    if listed.page.has_next():
        context["next"] = asked.query(page=f"{listed.page.next_page_number()}")
    return render(request, "agents/index.html", context)


def _columns(asked: agent_list.AskedAgents) -> list[Column]:
    """Heads of the table; those of numbers sort by the largest first."""
    heads = []
    for text, css, key in COLUMNS:
        direction = ("descending" if asked.is_descending else "ascending") if key and asked.key == key else ""
        first = key if key == "name" else f"-{key}"
        other = key if asked.is_descending else f"-{key}"
        heads.append(Column(str(text), css, asked.query(sort=other if direction else first) if key else "", direction))
    return heads


@require_safe
@access.viewer
def detail(request: access.DeskRequest, slug: str) -> HttpResponse:
    """One agent: its definition and its sessions."""
    agent = access.agent_read(request, slug)
    off = request.member.workspace.rules_off
    seen = queries.by_last_seen(agent.workspace_id).filter(pk=agent.pk)
    row = queries.rows(agent.workspace_id, seen, off, agent_health.DAYS)[0]
    wanted = session_queries.SessionFilter(agent=agent.slug)
    found = session_queries.filtered(agent.workspace_id, wanted)
    page = session_queries.page(found, wanted.sort, SESSIONS, cursor=None)
    note_summaries(page.items, off)
    context = {"row": row, "agent": row.agent, "sessions": page.items, "runtime": str(RUNTIMES[agent.runtime])}
    context |= {"health": agent_health.health_of(agent), "health_days": agent_health.DAYS}
    context |= {"budget": _daily(agent), "policy_line": _policy_line(agent)}
    context["costs"] = costs.by_day(agent, agent_health.DAYS)
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
    named = [words % {"count": verdicts.count(value)} for value, words in BY_NAME.items() if value in verdicts]
    by_default = str(BY_DEFAULT.get(default, BY_DEFAULT["ask"]))
    if not named:
        return by_default
    return gettext("%(by_default)s; %(named)s by name") % {"by_default": by_default, "named": ", ".join(named)}
