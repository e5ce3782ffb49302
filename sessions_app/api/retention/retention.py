"""Retention of sessions: their policies, what is due, what is out of sight; and pruning."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Query, Router

from sessions_app import models
from sessions_app.queries.retention import hidden, over, plans, strategies
from sessions_app.services.retention import advised, keeping, policies, pruning, showing, sweeping, workspaces

from ..auth import admin, own_asker, own_reader, own_writer, reader
from ..idempotency import once, once_in_steps
from ..paging import Cursor, Limit, Page, decode, encode, keyset
from ..parsing import reply
from ..problems import Problem, invalid
from ..schemas.common import NOTHING, NoBody
from ..sessions import session_read
from .schemas import (
    DueSession,
    Marker,
    NewPruning,
    OutOfSight,
    OverSession,
    PruningResult,
    Retention,
    SessionRetention,
    ShownAgain,
    Span,
    WorkspacePolicy,
    WorkspaceRules,
)

router = Router(tags=["retention"])
MARKERS = 50
SPANS = 200
LAST = 2**31 - 1
Before = Annotated[int, Query(LAST, ge=1, le=LAST, description="only spans that begin before this event (seq)")]
Days = Annotated[
    int | None, Query(ge=1, le=keeping.MOST_DAYS, description="`keep_days` to try; without it that of the workspace")
]
FAULTS = {
    strategies.BadStrategy: lambda error: invalid(f"/{error.field}", str(error)),
    policies.Held: lambda error: Problem(409, str(error)),
    policies.NotAllowed: lambda error: Problem(403, str(error)),
}


@router.get("/retention", auth=reader, response=Page[SessionRetention])
def list_policies(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the sessions that have been given a retention of their own, newest first, each with what is due now."""
    found = models.SessionRetention.objects.filter(workspace=request.auth.workspace, is_set=True)
    found = found.select_related("session__agent", "session__workspace").defer("session__source_record")
    rows, next_cursor = keyset(found, "session_id", limit, cursor, UUID)
    items = [SessionRetention.from_row(row, sweeping.due_of(row)) for row in rows]
    return reply(Page(items=items, next_cursor=next_cursor))


@router.get("/retention/due", auth=reader, response=Page[DueSession])
def list_due(request: HttpRequest, limit: Limit, cursor: Cursor) -> HttpResponse:
    """List the sessions of which messages are due to be pruned, and whether the next sweep will do it; oldest first.

    A page goes through `limit` sessions and has only those with something due, perhaps none: go on until `next_cursor`
    is null.
    """
    after = decode(cursor, lambda position: UUID(position[0])) if cursor else None
    due, last = sweeping.report_page(request.auth.workspace.pk, after, limit)
    return reply(Page(items=[DueSession.of(one) for one in due], next_cursor=encode([last]) if last else None))


@router.get("/retention/workspace", auth=reader, response=WorkspacePolicy)
def read_workspace_policy(request: HttpRequest) -> HttpResponse:
    """Return the retention of sessions that have none of their own, and for how many days all sessions are kept."""
    return reply(WorkspacePolicy.of(request.auth.workspace))


@router.patch("/retention/workspace", auth=admin, response=WorkspacePolicy)
def change_workspace_policy(request: HttpRequest, wanted: WorkspaceRules) -> HttpResponse:
    """Change the retention of sessions that have none of their own, and for how many days all sessions are kept.

    `keep_days` deletes sessions: see first with `GET /api/v1/retention/over?days=…` which.
    """
    changed = workspaces.change(request.auth.workspace.pk, wanted.said(), by=request.auth.actor)
    return reply(WorkspacePolicy.of(changed))


@router.get("/retention/over", auth=reader, response=Page[OverSession])
def list_over(request: HttpRequest, limit: Limit, cursor: Cursor, days: Days = None) -> HttpResponse:
    """List the sessions that `keep_days` deletes, and those of that age that stay and why, oldest first. Empty where
    sessions are kept for good. With `days` it is a dry run for that number.
    """
    workspace = request.auth.workspace
    after = decode(cursor, lambda position: UUID(position[0])) if cursor else None
    found, last = over.page(workspace.pk, days or workspace.keep_days, after, limit)
    return reply(Page(items=[OverSession.of(one) for one in found], next_cursor=encode([last]) if last else None))


@router.get("/sessions/{uuid:session_id}/retention", auth=own_reader, response=Retention)
def read_retention(request: HttpRequest, session_id: UUID) -> HttpResponse:
    """Return the retention of a session, what is due by it, and what was pruned."""
    session = session_read(request, session_id)
    row = policies.of_session(session.pk)
    row.session = session
    due = sweeping.due_of(row)
    prunings = [Marker.from_row(marker) for marker in hidden.markers(session.pk, MARKERS)]
    in_sight = plans.messages_in_sight(session.pk)
    return reply(Retention.from_row(row, due, messages_in_sight=in_sight, prunings=prunings))


@router.get("/sessions/{uuid:session_id}/pruned", auth=own_reader, response=OutOfSight)
def read_pruned(request: HttpRequest, session_id: UUID, before: Before) -> HttpResponse:
    """Return which events of a session are out of sight: at most 200 spans, the last one first. They stay in its log
    and in exports.
    """
    session = session_read(request, session_id)
    spans = hidden.spans_before(session.pk, before, SPANS + 1)
    told = hidden.summary_of(session.pk) if spans else None
    shown = [Span.of(span) for span in spans[:SPANS]]
    return reply(
        OutOfSight(
            last_seq=session.last_seq, spans=shown, more=len(spans) > SPANS,
            summary=told.summary if told else None, summary_seq=told.last_seq if told else None,
        )
    )  # fmt: skip


@router.post("/sessions/{uuid:session_id}/prune", auth=own_asker, response=PruningResult)
@once_in_steps  # a model may be asked, for a minute; again there is nothing left to prune
def prune_session(request: HttpRequest, session_id: UUID, wanted: NewPruning) -> HttpResponse:
    """Prune a session: its old messages go out of sight. Agents no longer read them and the page folds them; the log
    stays as it is.

    409 while the session is on hold. Where there is nothing to prune, `pruned` is 0.
    """
    session, strategy = session_read(request, session_id), wanted.read()
    if wanted.dry_run:
        return reply(PruningResult.of(pruning.preview(session, strategy), dry_run=True))
    done = advised.prune(session.pk, strategy, by=request.auth.actor)
    assert done is not None
    return reply(PruningResult.of(done, dry_run=False))


@router.post("/sessions/{uuid:session_id}/show-pruned", auth=own_writer, response=ShownAgain)
@once
def show_pruned(request: HttpRequest, session_id: UUID, nothing: NoBody = NOTHING) -> HttpResponse:
    """Bring everything that was pruned of a session back into sight. Where nothing was pruned, `messages` is 0.

    It is not pruned automatically again until somebody prunes by hand or changes the retention of the session; events
    that come in later are pruned as before.
    """
    session = session_read(request, session_id)
    shown = showing.show_again(session.pk, by=request.auth.actor)
    return reply(ShownAgain(messages=shown.messages, events=shown.events))
