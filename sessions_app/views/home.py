"""The first page: what waits, what runs, what went wrong, what came in, what it cost today."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from sessions_app import extensions
from sessions_app.prepared import by_ids
from sessions_app.queries import approvals, stuck
from sessions_app.queries import home as queries
from sessions_app.queries.money import budgets
from sessions_app.queries.reviews import comments, queues
from sessions_app.queries.sessions.run_summaries import note_summaries

from . import access

CARDS = 4
MENTIONS = 3
ASSIGNED = 9
"""Counted up to here, ``9+`` then."""


@require_safe
@access.numbers
@by_ids
def index(request: access.DeskRequest) -> HttpResponse:
    """Empty workspaces get three ways to begin instead; who sees numbers only goes to them."""
    if request.member.numbers_only:
        return redirect("usage")
    workspace_id = request.member.workspace_id
    newest = queries.newest(workspace_id)
    came_in = queries.came_in(workspace_id, newest)
    if not came_in.page.items:
        address = request.build_absolute_uri("/").rstrip("/")
        start = extensions.parts(extensions.HOME_START, request)
        return render(request, "home/begin.html", {"address": address, "start": start})
    running, went_wrong = list(queries.running(workspace_id)), list(queries.went_wrong(workspace_id))
    note_summaries([*running, *went_wrong, *came_in.page.items], request.member.workspace.rules_off)
    context = {
        **_for_reader(request),
        "waiting": approvals.with_turns(approvals.inbox(request.member, "all", CARDS)),
        "stuck": stuck.stuck(workspace_id),
        "running": running,
        "went_wrong": went_wrong,
        "came_in": came_in,
        "today": queries.today(workspace_id),
        "has_untimed": queries.has_untimed_today(newest),
        "budgets": budgets.today(workspace_id),
    }
    return render(request, "home/index.html", context)


def _for_reader(request: access.DeskRequest) -> dict[str, Any]:
    """Where others named the reader, and how much they are to review."""
    named = list(comments.mentions_of(request.member)[: MENTIONS + 1])
    assigned = len(queues.assigned_to(request.member).values("pk")[: ASSIGNED + 1])
    return {
        "mentions": named[:MENTIONS], "more_mentions": len(named) > MENTIONS,
        "assigned": assigned, "most_assigned": ASSIGNED,
    }  # fmt: skip
