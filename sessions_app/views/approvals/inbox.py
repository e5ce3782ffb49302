"""Inbox: all pending approvals over all sessions, and the last decisions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from sessions_app.models import Approval
from sessions_app.queries import approvals as queries
from sessions_app.queries.log.timeline import Timeline

from .. import access
from ..pages import page_or_fragment
from ..session.addresses import at, event_url, place_in
from ..session.page import fitted

LINES = 50
PLACE = QueryDict()
"""No place in particular: everything is shown."""


@require_safe
@access.viewer
def index(request: access.DeskRequest) -> HttpResponse:
    """The inbox: a line for each that waits, the longest first; beside it the card of one and what led to it.

    ``?card=ID`` chooses; else it is the first. ``?decided=ID`` says what became of the one before.
    """
    waiting = list(queries.waiting(request.member.workspace_id)[:LINES])
    decided = list(queries.decided(request.member.workspace_id))
    context = {
        "waiting": waiting,
        "decided": decided,
        "just": next((one for one in decided if str(one.pk) == request.GET.get("decided")), None),
        "picked": "card" in request.GET,
        **_chosen(waiting, request.GET.get("card", "")),
    }
    return page_or_fragment(request, "approvals/index.html", "approvals/_list.html", context)


@require_safe
@access.viewer
def count(request: access.DeskRequest) -> HttpResponse:
    """Number of pending approvals, for the mark in the bar after a decision."""
    return render(request, "approvals/_count.html")


def _chosen(waiting: list[Approval], wanted: str) -> dict[str, Any]:
    """The card that is shown, the transcript before it, and where its decision leads: to the one that follows."""
    if not waiting:
        return {}
    number = next((number for number, one in enumerate(waiting) if str(one.pk) == wanted), 0)
    chosen = queries.with_turns([waiting[number]])[0]
    follows = (waiting[number + 1 :] or waiting[:number])[:1]
    return {"chosen": chosen, "next": _address(chosen.pk, follows), **_led_here(chosen)}


def _address(decided: UUID, follows: list[Approval]) -> str:
    card = f"&card={follows[0].pk}" if follows else ""
    return f"{reverse('approval-list')}?decided={decided}{card}"


def _led_here(approval: Approval) -> dict[str, Any]:
    """The rows before the question, as the page of the session shows them; its links lead there."""
    if not approval.event_seq:
        return {}
    session, place = approval.session, place_in(approval.session, PLACE)
    shown = fitted(session, Timeline(session.pk).before(approval.event_seq), place)
    return at(session, place, shown=shown, opened={}) | {"here": event_url(session, None)}
