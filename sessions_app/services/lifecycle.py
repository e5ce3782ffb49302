"""What people do with a session: say something, stop its agent, close it."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Case, F, Value, When
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import Session

from . import audit, notify, task_queue, turns
from .approvals import decisions
from .log import events
from .sessions import append_to_open


def add_message(session: Session, text: str, *, by: audit.Actor, interrupting: bool = False) -> turns.Submitted:
    """A person's message. ``interrupting`` stops the turn in flight first, so that it is the next thing read.

    An agent that runs elsewhere reads it from the event stream. Raises like ``turns.submit``.
    """
    with transaction.atomic():
        stops = interrupting and session.status == Session.Status.RUNNING
        if stops:
            interrupt(session, by=by)
        return turns.submit(session.pk, text, by=by.name, interrupts=stops)


@transaction.atomic
def interrupt(session: Session, *, by: audit.Actor) -> None:
    """Cancel the turn in flight: what it asks is withdrawn, and its agent reads in the log that it has to stop.

    Where an agent of ours is at rest nothing is done. Raises ``sessions.Archived``.
    """
    if turns.is_at_rest(session.pk):
        return
    request = events.NewEvent(
        kind="status",
        key=f"interrupt:{uuid7()}",
        at=timezone.now(),
        actor_kind="person",
        actor_name=by.name,
        text="interrupt requested",
        data={"status": "interrupt_requested"},
    )
    append_to_open(session, [request])
    turns.interrupt(session.pk)
    decisions.cancel_all(session.pk, reason="interrupted", by=by)
    audit.record(session.workspace_id, by, "session.interrupted", subject=("session", session.pk))


@transaction.atomic
def archive(session: Session, *, by: audit.Actor) -> None:
    """Read-only from now on, and ended, so that it can be signed; a turn in flight is stopped. What waits for a person
    is cancelled, what was queued stays unsent. A second time changes nothing.
    """
    changed = Session.objects.filter(pk=session.pk).exclude(status=Session.Status.ARCHIVED)
    ended = Case(When(phase=Session.Phase.ACTIVE, then=Value(Session.Phase.COMPLETED)), default=F("phase"))
    if not changed.update(status=Session.Status.ARCHIVED, phase=ended, updated_at=timezone.now()):
        return
    turns.interrupt(session.pk)
    decisions.cancel_all(session.pk, reason="the session was archived", by=by)
    audit.record(session.workspace_id, by, "session.archived", subject=("session", session.pk))
    notify.session_changed(session.pk, session.last_seq)
    if Session.objects.filter(pk=session.pk).exclude(runtime_id="").exists():
        task_queue.enqueue(task_queue.CLOSE_SESSION, session.pk)
