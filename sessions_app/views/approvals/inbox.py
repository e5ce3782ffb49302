"""Inbox: all pending approvals over all sessions, the most urgent first, and the last decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from sessions_app.models import Approval
from sessions_app.prepared import by_ids
from sessions_app.queries import approvals as queries
from sessions_app.queries.log.timeline import Timeline

from .. import access
from ..pages import page_or_fragment
from ..session.addresses import at, event_url, place_in
from ..session.page import covered, fitted, imported_by
from ..tables import list_place, uuid_in

FIRST, LINES = 12, 50
"""Lines that the page opens with, and that follow at a time: the second ones are asked for as soon as it is there."""
FEW_DECIDED = 5
"""Decisions under a list of what waits."""
MOST_ASKED = 200
"""Lines that a page may ask for at once."""
MOST_CARDS = 12
PLACE = QueryDict()
"""No place in particular: everything is shown."""
CHIPS = {
    "all": (_("All"), ""), "high": (_("High risk"), "wrong"), "expiring": (_("Expiring"), "waits"),
    "mine": (_("Mine"), ""),
    "snoozed": (_("Snoozed"), ""),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Chip:
    """A choice of what the list shows, with how many there are."""

    show: str
    words: str
    tone: str
    number: int


@require_safe
@access.viewer
@by_ids
def index(request: access.DeskRequest) -> HttpResponse:
    """The inbox: a line for each that waits, the most urgent first; beside it the card of one and what led to it.

    ``?show=`` is one of ``queries.SHOWN``, ``?card=ID`` chooses; else it is the first. ``?decided=ID`` says what
    became of the one before.
    """
    show = _show(request.GET)
    waiting, more = _lines(request, show)
    decided = list(queries.decided(request.member.workspace_id)[: FEW_DECIDED if waiting else queries.RECENT])
    choices = chips(request)
    context = {
        "is_first": True,
        "show": show,
        "chips": choices,
        "waiting_count": choices[0].number,  # what the bar would ask for again
        "waiting": waiting,
        "more": more,
        "decided": decided,
        "just": next((one for one in decided if str(one.pk) == request.GET.get("decided")), None),
        "picked": "card" in request.GET,
        **_chosen(request, waiting, show),
    }
    return page_or_fragment(request, "approvals/index.html", "approvals/_list.html", context)


@require_safe
@access.viewer
@by_ids
def more_lines(request: access.DeskRequest) -> HttpResponse:
    """The lines after ``?after=ID``; without JavaScript the whole page of them."""
    show = _show(request.GET)
    waiting, more = _lines(request, show)
    if not request.htmx:
        return index(request)
    return render(request, "approvals/_rows.html", {"approvals": waiting, "more": more, "show": show})


@require_safe
@access.viewer
@by_ids
def lines(request: access.DeskRequest) -> HttpResponse:
    """The lines of ``?id=ID&id=ID`` as they are now, settled ones too, and the chips: what a page that stays open asks.

    ``?again=1`` adds the first page of lines: the page may have missed new ones.
    """
    found = queries.of_ids(request.member.workspace_id, _ids(request))
    if "again" in request.GET:
        known = {one.pk for one in found}
        first = queries.inbox(request.member, _show(request.GET), LINES)
        found += [one for one in first if one.pk not in known]
    context = {"approvals": found, "chips": chips(request), "show": _show(request.GET)}
    return render(request, "approvals/_lines.html", context)


@require_safe
@access.viewer
@by_ids
def cards(request: access.DeskRequest) -> HttpResponse:
    """The cards of ``?id=ID&id=ID``, at most ``MOST_CARDS``: fetched before they are wanted."""
    found = queries.of_ids(request.member.workspace_id, _ids(request)[:MOST_CARDS])
    return render(request, "approvals/_cards.html", {"approvals": queries.with_turns(found)})


@require_safe
@access.viewer
@by_ids
def led_here(request: access.DeskRequest, approval_id: UUID) -> HttpResponse:
    """What led to an approval: the rows of its session before it."""
    approval = access.approval_read(request, approval_id)
    return render(request, "approvals/_led.html", {"chosen": approval, **_led_here(approval)})


@require_safe
@access.viewer
def count(request: access.DeskRequest) -> HttpResponse:
    """Number of pending approvals, for the mark in the bar after a decision."""
    return render(request, "approvals/_count.html")


def chips(request: access.DeskRequest) -> list[Chip]:
    """What the list can be narrowed to. Always all of it: a chip that comes would move what is below."""
    return [
        Chip(show, str(CHIPS[show][0]), CHIPS[show][1], number)
        for show, number in asdict(queries.counts(request.member)).items()
    ]


def _ids(request: access.DeskRequest) -> list[UUID]:
    return [id_ for id_ in map(uuid_in, request.GET.getlist("id")[:MOST_ASKED]) if id_]


def _show(asked: QueryDict) -> str:
    show = asked.get("show", "all")
    return show if show in queries.SHOWN else "all"


def _lines(request: access.DeskRequest, show: str) -> tuple[list[Approval], str]:
    """A page of lines, and the address of the next one ("" at the end)."""
    after = list_place(request.GET, "after")
    last = next(iter(queries.of_ids(request.member.workspace_id, [after])), None) if after else None
    most = LINES if last else FIRST
    found = queries.inbox(request.member, show, most + 1, last)
    if len(found) <= most:
        return found, ""
    found = found[:most]
    return found, f"{reverse('approval-more')}?{urlencode({'show': show, 'after': found[-1].pk})}"


def _chosen(request: access.DeskRequest, waiting: Sequence[Approval], show: str) -> dict[str, Any]:
    """The card that is shown, the transcript before it, and where its decision leads: to the one that follows."""
    wanted = uuid_in(request.GET.get("card", ""))
    number = next((number for number, one in enumerate(waiting) if one.pk == wanted), None)
    if number is None:
        found = queries.of_ids(request.member.workspace_id, [wanted]) if wanted else []
        elsewhere = next((one for one in found if one.status == Approval.Status.PENDING), None)
        if elsewhere:
            return {"chosen": queries.with_turns([elsewhere])[0], **_next(elsewhere, waiting[:1], show)}
        if not waiting:
            return {}
        number = 0
    chosen = queries.with_turns([waiting[number]])[0]
    follows = (list(waiting[number + 1 :]) or list(waiting[:number]))[:1]
    return {"chosen": chosen, **_next(chosen, follows, show)}


def _next(chosen: Approval, follows: Sequence[Approval], show: str) -> dict[str, Any]:
    query = {"decided": str(chosen.pk)}
    if show != "all":
        query["show"] = show
    if follows:
        query["card"] = str(follows[0].pk)
    return {"next": f"{reverse('approval-list')}?{urlencode(query)}", **_led_here(chosen)}


def _led_here(approval: Approval) -> dict[str, Any]:
    """The rows before the question, as the page of the session shows them; its links lead there."""
    if not approval.event_seq:
        return {}
    session, place = approval.session, place_in(approval.session, PLACE)
    shown = fitted(session, Timeline(session.pk).before(approval.event_seq), place, covered(imported_by(session)))
    return at(session, place, shown=shown, opened={}) | {"here": event_url(session, None)}
