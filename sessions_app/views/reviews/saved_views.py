"""Tools of the session list: saved views, columns, and what is done to many sessions at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import prefetch_related_objects
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_POST
from django_htmx.http import HttpResponseClientRedirect

from sessions_app.models import SavedView, Session
from sessions_app.queries.reviews.saved_views import columns_of
from sessions_app.queries.sessions import comparison, session_list
from sessions_app.rendering import numbers
from sessions_app.services.reviews import assignments, bulk, saved_views
from sessions_app.services.reviews.problems import NotAllowed, Refused

from .. import access, compare, list_columns
from .. import session_list as session_list_page
from ..pages import wants_fragment
from ..tables import csv_response
from .box import member_named

HEAD = (
    "session", "title", "agent", "status", "ended", "started at", "turns", "tokens", "cost USD", "cost is at least",
    "errors", "verdict", "assigned to", "tags",
)  # fmt: skip


@require_POST
@access.viewer
def save(request: access.DeskRequest) -> HttpResponse:
    """Keep the list as it is shown under a name."""
    query = request.POST.get("query", "")
    try:
        view = saved_views.save(
            request.member, request.POST.get("name", ""), query, shared="shared" in request.POST,
            by=access.actor(request),
        )  # fmt: skip
    except Refused as refused:
        messages.error(request, gettext("The view was not saved: %(refused)s.") % {"refused": refused})
    except NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    else:
        messages.success(request, gettext("The view %(name)s is saved.") % {"name": view.name})
    return _back(query)


@require_POST
@access.viewer
def rename(request: access.DeskRequest, view_id: UUID) -> HttpResponse:
    """Give a view another name."""
    view = _view(request, view_id)
    try:
        saved_views.rename(view, request.member, request.POST.get("name", ""), by=access.actor(request))
    except Refused as refused:
        messages.error(request, gettext("The view keeps its name: %(refused)s.") % {"refused": refused})
    except NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    else:
        messages.success(request, gettext("The view is called %(name)s now.") % {"name": view.name})
    return _back(request.POST.get("query", ""))


@require_POST
@access.viewer
def remove(request: access.DeskRequest, view_id: UUID) -> HttpResponse:
    """Forget a view."""
    view = _view(request, view_id)
    try:
        saved_views.remove(view, request.member, by=access.actor(request))
    except NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    messages.success(request, gettext("The view %(name)s is removed.") % {"name": view.name})
    return _back(request.POST.get("query", ""))


def _view(request: access.DeskRequest, view_id: UUID) -> SavedView:
    view = access.one(SavedView.objects.all(), request, view_id)
    if not view.is_shared and view.member_id != request.member.pk:
        raise PermissionDenied(gettext("This view is somebody else's."))
    return view


@require_POST
@access.viewer
def columns(request: access.DeskRequest) -> HttpResponse:
    """The columns that the reader wants to see, in the order of the menu; ``move`` moves one of them (cost:left).

    After a move the menu is open again: a column may have to go on.
    """
    moved, query = request.POST.get("move", ""), request.POST.get("query", "")
    names = list_columns.move(request.POST.getlist("column"), moved)
    try:
        saved_views.choose_columns(request.member, names, list_columns.CHOICE)
    except Refused as refused:
        messages.error(request, gettext("The columns stay as they were: %(refused)s.") % {"refused": refused})
        moved = ""
    if not moved:
        return _back(query)
    here = QueryDict(query.removeprefix("?"), mutable=True)
    here[list_columns.MOVED] = moved
    return _back(here.urlencode())


@require_POST
@access.viewer
def widths(request: access.DeskRequest) -> HttpResponse:
    """How wide the reader made columns, each by its name; none: as wide as they are by themselves."""
    given = {name: str(value) for name, value in request.POST.items() if name != "csrfmiddlewaretoken"}
    try:
        saved_views.choose_widths(request.member, given, list_columns.SIZED)
    except Refused as refused:
        return HttpResponse(f"{refused}\n", "text/plain; charset=utf-8", 422)
    return HttpResponse(status=204)


@require_POST
@access.viewer
def do(request: access.DeskRequest) -> HttpResponse:
    """What was chosen (``do``) with the sessions that are ticked; what is not there is told and left alone.

    Answers with the list as it was, to htmx with what came of it: the rows stay where they are.
    """
    ids = _ticked(request)
    what = request.POST.get("do", "")
    if not ids or len(ids) > bulk.MOST:
        messages.error(
            request,
            gettext("Choose 1 to %(most)s sessions; %(ids)s are chosen.") % {"most": bulk.MOST, "ids": len(ids)},
        )
        return _done(request)
    here = Session.objects.filter(workspace_id=request.member.workspace_id, pk__in=ids)
    missing = len(ids) - here.count()
    if missing:
        messages.warning(request, gettext("%(missing)s of them are not there any more.") % {"missing": missing})
    if what == "csv":
        return _csv(request, ids)
    if what == "compare":
        return _compare(request, ids)
    if what not in DEEDS:
        messages.error(request, gettext("Choose what to do with them."))
        return _done(request)
    try:
        messages.success(request, DEEDS[what](request, ids))
    except Refused as refused:
        messages.error(request, gettext("Nothing was changed: %(refused)s.") % {"refused": refused})
        return _done(request)
    except NotAllowed as refused:
        raise PermissionDenied(f"{refused}.") from None
    return _done(request, ids)


def _done(request: access.DeskRequest, changed: Sequence[UUID] = ()) -> HttpResponse:
    if not wants_fragment(request):
        return _back(request.POST.get("query", ""))
    rows = list(session_list.by_id(request.member.workspace_id, list(changed)).values())
    prefetch_related_objects(rows, "assignee__user")
    shown = list_columns.shown(columns_of(request.member).names)
    now = session_list_page.totals_now(request, request.POST.get("query", "")) if rows else {}
    context = {"changed": rows, "shown": shown, "may_review": True, "is_told": bool(now), **now}
    return render(request, "sessions/list/_bulk_done.html", context)


def _ticked(request: access.DeskRequest) -> list[UUID]:
    found: dict[UUID, None] = {}
    for value in request.POST.getlist("session"):
        try:
            found[UUID(value)] = None
        except ValueError:
            raise PermissionDenied(gettext("A session that was chosen has no valid id.")) from None
    return list(found)


def _tag(request: access.DeskRequest, ids: list[UUID]) -> str:
    name = request.POST.get("tag", "")
    count = bulk.tag(ids, name, request.member, by=access.actor(request))
    return ngettext("%(count)s session tagged.", "%(count)s sessions tagged.", count) % {"count": count}


def _untag(request: access.DeskRequest, ids: list[UUID]) -> str:
    name = request.POST.get("tag", "")
    count = bulk.tag(ids, name, request.member, by=access.actor(request), remove=True)
    told = ngettext("The tag was taken off %(count)s session.", "The tag was taken off %(count)s sessions.", count)
    return told % {"count": count}


def _assign(request: access.DeskRequest, ids: list[UUID]) -> str:
    to = member_named(request, request.POST.get("assignee", ""))
    count = assignments.assign(ids, to, request.member, by=access.actor(request))
    if to is None:
        told = ngettext("%(count)s session assigned to nobody.", "%(count)s sessions assigned to nobody.", count)
    else:
        told = ngettext(
            "%(count)s session assigned to %(member)s.", "%(count)s sessions assigned to %(member)s.", count
        )
    return told % {"count": count, "member": to}


def _archive(request: access.DeskRequest, ids: list[UUID]) -> str:
    count = bulk.archive(ids, request.member, by=access.actor(request))
    return ngettext("%(count)s session archived.", "%(count)s sessions archived.", count) % {"count": count}


DEEDS: dict[str, Callable[[access.DeskRequest, list[UUID]], str]] = {
    "tag": _tag, "untag": _untag, "assign": _assign, "archive": _archive,
}  # fmt: skip


def _compare(request: access.DeskRequest, ids: list[UUID]) -> HttpResponse:
    """To the page that shows them beside each other, in the order of the list."""
    found = comparison.sessions(request.member.workspace_id, ids)
    if not 1 < len(found) <= comparison.MOST:
        told = gettext("Choose 2 to %(most)s sessions to compare; %(ids)s are chosen.")
        messages.error(request, told % {"most": comparison.MOST, "ids": len(found)})
        return _done(request)
    url = compare.address(found)
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


def _csv(request: access.DeskRequest, ids: list[UUID]) -> HttpResponse:
    here = Session.objects.filter(workspace_id=request.member.workspace_id, pk__in=ids)
    rows = (
        here.select_related("agent", "assignee__user").defer("source_record", "metadata").order_by("-started_at", "id")
    )
    return csv_response(
        "sessions.csv", HEAD,
        (
            (
                str(one.pk), str(one), one.agent.name, one.status, one.ended, one.started_at, one.turn_count,
                one.total_tokens,
                numbers.dollars(one.cost_amount).removeprefix("$") if one.cost_amount is not None else None,
                "yes" if one.unpriced_tokens or one.under_reported else "no", one.error_count, one.verdict,
                str(one.assignee) if one.assignee else None, ", ".join(one.tags),
            )
            for one in rows
        ),
    )  # fmt: skip


def _back(query: str) -> HttpResponse:
    """To the list as it was: the query comes from a form, and nothing but a query is taken from it."""
    query = query.removeprefix("?")
    return redirect(f"{reverse('session-list')}?{query}" if query else reverse("session-list"))
