"""The audit log and the evidence pack of a period as files, for admins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from django.db.models import Q
from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import admin
from sessions_app.api.problems import Problem, invalid
from sessions_app.api.schemas.common import Since, Until
from sessions_app.models import Agent
from vcon_app.services.evidence import audit_export, pack
from vcon_app.services.evidence.period import FAR_AHEAD, LONG_AGO, NoPeriod, Period
from vcon_app.views.downloads import attachment, written_meanwhile
from vcon_app.views.evidence import packed

router = Router(tags=["audit"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {NoPeriod: lambda error: invalid("/to", str(error))}


class PeriodQuery(BaseModel):
    """A period; without `from` or `to` it has no beginning or no end."""

    from_: Since = Field(None, alias="from", description="a day or a time (UTC); left out: from the beginning")
    to: Until = Field(None, description="before this time (UTC), or to the end of this day; left out: all that follows")

    @property
    def period(self) -> Period:
        return Period(self.from_ or LONG_AGO, self.to or FAR_AHEAD)


AUDIT_FILES: dict[str, dict[str, Any]] = {type_: {} for type_ in audit_export.MEDIA_TYPES.values()}


class AuditQuery(PeriodQuery):
    format: Literal["jsonl", "csv", "agent-audit-trail"] = "jsonl"


@router.get(
    "/audit/export",
    auth=admin,
    openapi_extra={"responses": {200: {"description": "the file", "content": AUDIT_FILES}}},
)
def export_audit(request: HttpRequest, asked: Annotated[AuditQuery, Query()]) -> HttpResponseBase:
    """Return the audit entries of a period as a file, oldest first. `docs/proof.md` describes the formats."""
    workspace = request.auth.workspace
    chunks = audit_export.chunks(asked.format, workspace.id, asked.period)
    name = f"audit-{workspace.slug}.{audit_export.SUFFIXES[asked.format]}"
    return written_meanwhile(chunks, name, audit_export.MEDIA_TYPES[asked.format])


class PackQuery(BaseModel):
    """The period, and the agent whose decisions count."""

    from_: Since = Field(alias="from", description="a day or a time (UTC)")
    to: Until = Field(description="before this time (UTC), or to the end of this day")
    agent: str = Field("", max_length=500, description="slug or name; empty: decisions of all agents")


@router.get(
    "/evidence",
    auth=admin,
    openapi_extra={"responses": {200: {"description": "the pack", "content": {"application/zip": {}}}}},
)
def export_evidence(request: HttpRequest, asked: Annotated[PackQuery, Query()]) -> HttpResponseBase:
    """Return the evidence pack of a period: decisions with receipts, who oversaw, rules, stops, incidents, audit log.

    `docs/proof.md` says what is in it and how to check it. That it was taken stands in the audit log.
    """
    workspace = request.auth.workspace
    period = Period(asked.from_ or LONG_AGO, asked.to or FAR_AHEAD)
    named = Q(slug=asked.agent) | Q(name=asked.agent)
    if asked.agent and not Agent.objects.filter(named, workspace=workspace).exists():
        raise invalid("/agent", f'there is no agent "{asked.agent[:100]}" in this workspace')
    file, size = packed(workspace, period, asked.agent, by=request.auth.actor)
    return attachment(file, pack.file_name(workspace, period), size, "application/zip")
