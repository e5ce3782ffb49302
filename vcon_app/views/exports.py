"""Loss report of an export, before anybody takes it, and who took a session away."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from sessions_app.views import access
from sessions_app.views.pages import page_or_fragment
from vcon_app.services.exports import export_jobs, export_options, handing_on

from .parts import exports_taken, other_ways


@require_safe
@access.viewer
def report(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The same as the API says of the same parameters. Nothing is kept of it."""
    session = access.session_read(request, session_id)
    format = request.GET.get("format", "")
    context = {"session": session, "format": format, "template": "sources/_loss.html", "losses": [], "problem": ""}
    try:
        context["losses"] = export_jobs.report(session, format, _options(request))
    except export_options.CannotExport as error:
        context["problem"] = str(error)
    would = _("What %(format)s would leave out") % {"format": format}
    context["title"] = would if not context["problem"] else _("No such export")
    status = 422 if context["problem"] else 200
    return page_or_fragment(request, "sessions/alone.html", "sources/_loss.html", context, status=status)


@require_safe
@access.viewer
def formats(request: access.DeskRequest, session_id: UUID) -> HttpResponse:
    """The formats behind the first ways of the export menu, each with what can be chosen."""
    session = access.session_read(request, session_id)
    context = other_ways(session) | {"template": "sources/_ways.html", "title": _("Further formats")}
    return page_or_fragment(request, "sessions/alone.html", "sources/_ways.html", context)


@require_safe
@access.viewer
def taken(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Exports of a session: those that wait say where they are in line, and the section asks again until they are
    written."""
    session = access.session_read(request, session_id)
    context = exports_taken(session) | {"template": "sources/_taken.html", "title": _("Exports")}
    return page_or_fragment(request, "sessions/alone.html", "sources/_taken.html", context)


def _options(request: HttpRequest) -> dict[str, object]:
    """The parameters but for the wrapping and the answer about handing on: they lose nothing."""
    left_out = {"format", handing_on.PARAMETER, *export_options.FORMS}
    return {name: value for name, value in request.GET.items() if name not in left_out}
