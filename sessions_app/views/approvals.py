"""Everything that waits for a person, over all sessions, and what was decided lately."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from sessions_app.queries import approvals as queries

from . import access
from .pages import page_or_fragment

CARDS = 50


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The inbox: each card can be decided right here, the one that waits longest first."""
    workspace_id = request.member.workspace_id
    waiting = queries.with_turns(queries.waiting(workspace_id)[:CARDS])
    context = {"waiting": waiting, "decided": queries.decided(workspace_id)}
    return page_or_fragment(request, "approvals/index.html", "approvals/_list.html", context)


@require_safe
@access.viewer
def count(request: access.DeskRequest) -> HttpResponse:
    """How many wait, for the mark in the bar after a decision."""
    return render(request, "approvals/_count.html")
