"""Downloads on the audit page: the entries of a period, and its evidence pack."""

from __future__ import annotations

from datetime import date
from tempfile import TemporaryFile
from typing import BinaryIO, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, Workspace
from sessions_app.services import audit
from sessions_app.views import access
from vcon_app.services.evidence import audit_export, pack
from vcon_app.services.evidence.period import NoPeriod, Period, of_days
from vcon_app.signing.keys import BadKey

from .downloads import attachment, written_meanwhile

LONGEST = 60
"""Characters of a field that comes back."""


@require_safe
@access.admin
def evidence_pack(request: access.DeskRequest) -> HttpResponseBase:
    """The evidence pack of ``?from=`` to ``?to=`` (days), with ``?agent=`` of one agent alone."""
    workspace = request.member.workspace
    try:
        period, agent = _period(request.GET), _agent(workspace, request.GET.get("agent", ""))
        file, size = packed(workspace, period, agent, by=access.actor(request))
    except (NoPeriod, LookupError, BadKey) as error:
        messages.error(request, gettext("There is no evidence pack: %(error)s.") % {"error": error})
        return _again(request.GET)
    return attachment(file, pack.file_name(workspace, period), size, "application/zip")


@require_safe
@access.admin
def audit_file(request: access.DeskRequest) -> HttpResponseBase:
    """The audit entries of ``?from=`` to ``?to=`` in ``?format=``."""
    workspace, format = request.member.workspace, request.GET.get("format", "")
    try:
        period = _period(request.GET)
        if format not in audit_export.MEDIA_TYPES:
            raise NoPeriod(gettext('there is no format "%(format)s"') % {"format": format[:40]})
    except NoPeriod as error:
        messages.error(request, gettext("Nothing was exported: %(error)s.") % {"error": error})
        return _again(request.GET)
    name = f"audit-{workspace.slug}.{audit_export.SUFFIXES[format]}"
    chunks = audit_export.chunks(format, workspace.pk, period)
    return written_meanwhile(chunks, name, audit_export.MEDIA_TYPES[format])


def _again(sent: QueryDict) -> HttpResponseBase:
    """Back to the form, with what was entered; its names there are not those of the filter of the page."""
    names = {"export_from": "from", "export_to": "to", "export_agent": "agent"}
    kept = {name: sent[field][:LONGEST] for name, field in names.items() if sent.get(field)}
    return redirect(f"{reverse('audit-list')}?{urlencode({'export': 'again', **kept})}")


def packed(workspace: Workspace, period: Period, agent: str, *, by: audit.Actor) -> tuple[BinaryIO, int]:
    """The evidence pack in a temporary file, and its size. Raises ``BadKey``, ``OSError``."""
    file = TemporaryFile()  # noqa: SIM115 - who sends it closes it
    try:
        for chunk in pack.write(workspace, period, agent=agent, by=by):
            file.write(chunk)
    except BaseException:
        file.close()
        raise
    size = file.tell()
    file.seek(0)
    return cast(BinaryIO, file), size


def _period(query: QueryDict) -> Period:
    try:
        first, last = (date.fromisoformat(query.get(name, "")) for name in ("from", "to"))
    except ValueError:
        raise NoPeriod(gettext("choose the first and the last day")) from None
    return of_days(first, last)


def _agent(workspace: Workspace, slug: str) -> str:
    if slug and not Agent.objects.filter(workspace=workspace, slug=slug).exists():
        raise LookupError(gettext('there is no agent "%(slug)s"') % {"slug": slug[:60]})
    return slug
