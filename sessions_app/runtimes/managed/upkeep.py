"""Upkeep of sessions at the provider: questions answered there, archiving that failed. Every worker runs it, so it
imports no SDK (30 MB)."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef
from django.utils import timezone

from sessions_app.models import Agent, Event, Session, TurnInFlight
from sessions_app.services import secrets, task_queue
from sessions_app.services.fair_queue import Line
from sessions_app.services.log.events import key_of
from sessions_app.services.turns.resume import resume

ARCHIVED_KEY = "managed:archived"
"""The event that says that the runtime has archived its session, too."""
TRIED_FOR = timedelta(days=7)


def look_again() -> int:
    """Enqueue sessions that may have changed at the provider while nobody looked; how many.

    Those whose question may have been answered there, and those whose archiving it did not take.
    """
    waiting, open_there = _waiting(), _open_there()
    for session_id in waiting:
        resume(session_id)
    since = {session.pk: session.updated_at for session in open_there}
    lines = {session.pk: Line(session.workspace_id) for session in open_there}
    return len(waiting) + task_queue.requeue(task_queue.CLOSE_SESSION, since, lines)


def _waiting() -> list[UUID]:
    resting = TurnInFlight.objects.filter(
        worker=None, rung_at=None, session__agent__runtime=Agent.Runtime.MANAGED,
        session__workspace__in=secrets.workspaces_with_provider_key(),
    )  # fmt: skip
    return list(resting.values_list("session_id", flat=True))


def _open_there() -> list[Session]:
    told = Event.objects.filter(session_id=OuterRef("pk"), key=key_of(ARCHIVED_KEY))
    archived = Session.objects.filter(
        status=Session.Status.ARCHIVED, agent__runtime=Agent.Runtime.MANAGED,
        updated_at__gte=timezone.now() - TRIED_FOR, workspace__in=secrets.workspaces_with_provider_key(),
    )  # fmt: skip
    return list(archived.exclude(runtime_id="").exclude(Exists(told)).only("updated_at", "workspace_id"))
