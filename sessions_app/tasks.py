"""Celery's doors into the desk: each takes ids, may run twice, and finds its place again."""

from __future__ import annotations

from uuid import UUID

from celery import shared_task

from .services import approvals, search


@shared_task
def expire_approvals() -> int:
    """Rung by beat: deny what nobody decided in time."""
    return approvals.expire_due()


@shared_task
def index_session(session_id: str) -> None:
    """Rung after a bulk import: make its text searchable."""
    search.index(UUID(session_id))


@shared_task
def index_sessions_left_over() -> int:
    """Rung by beat: index what a lost message left unindexed."""
    left = list(search.sessions_behind())
    for session_id in left:
        search.index(session_id)
    return len(left)
