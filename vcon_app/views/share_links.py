"""Share links: the page on which a reviewer makes, accepts and withdraws them, and the workspace's switch."""

from __future__ import annotations

from typing import Any
from urllib.parse import urljoin
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from sessions_app.models import Session
from sessions_app.views import access
from sessions_app.views.settings import shown_once
from vcon_app.models import ShareLink
from vcon_app.queries import redactions as redaction_queries
from vcon_app.queries import share_links as queries
from vcon_app.services.exports import export_options, handing_on, redactions, sharing
from vcon_app.services.redaction.redaction_rules import EVERY, WHOLE, BadRule
from vcon_app.services.shares import share_links

from .redaction_draft import KINDS

LIFETIMES = {
    1: gettext_lazy("1 hour"),
    24: gettext_lazy("1 day"),
    7 * 24: gettext_lazy("7 days"),
    sharing.LONGEST_HOURS: gettext_lazy("30 days"),
}
USUAL = 24
LISTED_REDACTIONS = 20


@require_http_methods(["GET", "HEAD", "POST"])
@access.reviewer
def page(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The links of a session, and a form for another one. The address of a new link is shown this once."""
    session = access.session_read(request, session_id)
    return _make(request, session) if request.method == "POST" else _page(request, session, **_made(request, session))


def _made(request: access.DeskRequest, session: Session) -> dict[str, Any]:
    """The link that was just made, with its address."""
    shown = shown_once.take(request)
    link = queries.of_session(session.pk).filter(pk=shown["made"]).first() if shown else None
    return {"made": queries.shown([link])[0], "address": shown["address"]} if link else {}


def _page(request: access.DeskRequest, session: Session, status: int = 200, **more: Any) -> HttpResponse:
    state = handing_on.state_of(session)
    context = {
        "session": session,
        "is_on": queries.is_on(session.workspace_id),
        "links": queries.shown(list(queries.of_session(session.pk)[: queries.SHOWN])),
        "lifetimes": LIFETIMES.items(),
        "hours": USUAL,
        "kinds": KINDS.items(),
        "chosen": [],
        "redactions": _usable_redactions(session),
        "handing_on": state if state != "granted" else "",
        **more,
    }
    response = render(request, "shares/index.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _usable_redactions(session: Session) -> list[Any]:
    made = redaction_queries.finished_redactions(session.pk)[:LISTED_REDACTIONS]
    return [one for one in made if redactions.state_of(one) == "ready"]


def _make(request: access.DeskRequest, session: Session) -> HttpResponse:
    sent = request.POST
    kinds = [what for what in sent.getlist("what") if what in (*EVERY, *WHOLE)]
    hours = int(sent["hours"]) if sent.get("hours", "") in map(str, LIFETIMES) else 0
    without_cost = "without_cost" in sent
    again = {
        "chosen": kinds, "hours": hours or USUAL, "picked": sent.get("redaction", ""), "without_cost": without_cost,
    }  # fmt: skip
    try:
        confirmed = handing_on.is_confirmed(session, sent.get(handing_on.PARAMETER) or handing_on.CHECK)
        link, secret = sharing.make(
            session, hours=hours, by=access.actor(request), redaction=_chosen_redaction(session, sent.get("redaction")),
            rules=[{"what": what} for what in kinds], without_cost=without_cost, handing_on_confirmed=confirmed,
        )  # fmt: skip
    except (sharing.CannotShare, BadRule, export_options.CannotExport, handing_on.NotGranted) as error:
        return _page(request, session, 422, problem=str(error), **again)
    page_of_links = reverse("share-links", args=[session.pk])
    return shown_once.lead_to(request, page_of_links, made=str(link.pk), address=address_of(request, secret))


def _chosen_redaction(session: Session, given: str | None) -> Any:
    """The redaction of this session that was picked; None where none was."""
    if not given:
        return None
    found = next((one for one in _usable_redactions(session) if str(one.pk) == given), None)
    if found is None:
        raise sharing.CannotShare(
            gettext("there is no such redaction of this session; choose another one"), "redaction"
        )
    return found


def address_of(request: Any, secret: str) -> str:
    """Address of a link as others open it: below the public one where it is set, for a Host header can say anything."""
    path = reverse("shared", args=[secret])
    return urljoin(settings.PUBLIC_URL, path) if settings.PUBLIC_URL else request.build_absolute_uri(path)


@require_POST
@access.reviewer
def withdraw(request: access.DeskRequest, session_id: UUID, link_id: UUID) -> HttpResponse:
    link = _link_read(request, session_id, link_id)
    share_links.withdraw(link, by=access.actor(request))
    messages.success(request, _("The link is withdrawn: it opens nothing any more."))
    return redirect("share-links", link.session_id)


@require_POST
@access.reviewer
def accept(request: access.DeskRequest, session_id: UUID, link_id: UUID) -> HttpResponse:
    link = _link_read(request, session_id, link_id)
    try:
        share_links.accept(link, by=access.actor(request))
    except share_links.NotHeld as error:
        messages.error(request, f"{error}.")
    return redirect("share-links", link.session_id)


@require_POST
@access.admin
def switch(request: access.DeskRequest) -> HttpResponse:
    """Turn links of the workspace on or off."""
    on = request.POST.get("on") == "true"
    share_links.switch(request.member.workspace, on, by=access.actor(request))
    said = _("Sessions can be shared by links now.") if on else _("Share links are off: none opens any more.")
    messages.success(request, said)
    return redirect(f"{reverse('settings')}#share-links")


def _link_read(request: access.DeskRequest, session_id: UUID, link_id: UUID) -> ShareLink:
    session = access.session_read(request, session_id)
    link = queries.of_session(session.pk).filter(pk=link_id).first()
    if link is None:
        raise Http404(gettext("There is no such share link of this session."))
    return link
