"""What happened in a session."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from sessions_app.queries.log.file_changes import scan_of
from sessions_app.queries.sessions.run_summaries import happened_in

from ..auth import own_viewer
from ..parsing import reply
from ..problems import not_found
from ..schemas.summary import RunSummary
from ..sessions import session_read

router = Router(tags=["sessions"])


@router.get("/sessions/{uuid:session_id}/summary", auth=own_viewer, response=RunSummary)
def read_summary(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return what was asked and done in a session, how it ended, what went wrong, and the last test run. It is made by
    rules, without a model. 404 also while a session from before an upgrade has not been read for it yet.
    """
    session = session_read(request, session_id)
    happened = happened_in(session, scan_of(session.pk), request.auth.workspace.rules_off)
    if happened is None:
        raise not_found("summary")
    return reply(RunSummary.of(session, happened))
