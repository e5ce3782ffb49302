"""The audit log of a period as a file, for admins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponseBase
from ninja import Query, Router
from pydantic import BaseModel, Field

from sessions_app.api.auth import admin
from sessions_app.api.problems import Problem, invalid
from sessions_app.api.schemas.common import Since, Until
from vcon_app.services.evidence import audit_export
from vcon_app.services.evidence.period import FAR_AHEAD, LONG_AGO, NoPeriod, Period
from vcon_app.views.downloads import written_meanwhile

router = Router(tags=["audit"])
FAULTS: dict[type[Exception], Callable[[Any], Problem]] = {NoPeriod: lambda error: invalid("/to", str(error))}


class PeriodQuery(BaseModel):
    """A period; without a beginning or an end all there is."""

    from_: Since = Field(None, alias="from")
    to: Until = None

    @property
    def period(self) -> Period:
        return Period(self.from_ or LONG_AGO, self.to or FAR_AHEAD)


class AuditQuery(PeriodQuery):
    format: Literal["jsonl", "csv", "agent-audit-trail"] = "jsonl"


@router.get(
    "/audit/export",
    auth=admin,
    openapi_extra={"responses": {200: {"description": "the file", "content": {"application/x-ndjson": {}}}}},
)
def export_audit(request: HttpRequest, asked: Annotated[AuditQuery, Query()]) -> HttpResponseBase:
    """The audit entries of a period, the first one first; ``docs/proof.md`` describes the formats."""
    workspace = request.auth.workspace
    chunks = audit_export.chunks(asked.format, workspace.id, asked.period)
    name = f"audit-{workspace.slug}.{audit_export.SUFFIXES[asked.format]}"
    return written_meanwhile(chunks, name, audit_export.MEDIA_TYPES[asked.format])
