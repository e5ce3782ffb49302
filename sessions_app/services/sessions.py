"""Sessions: begun here by an agent or a person, archived when done."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import Agent, Session

from . import audit, events, notify
from .columns import identifier, storable


class Archived(ValueError):
    """The session is read-only."""


@transaction.atomic
def create(agent: Agent, *, by: audit.Actor, origin: str = Session.Origin.API, **fields: Any) -> Session:
    """A new, empty session of an agent. ``fields``: title, summary, user_id, external_id (texts), metadata, tags."""
    fields = storable(fields) | {"external_id": identifier(fields.get("external_id", ""))}
    session = Session.objects.create(
        workspace_id=agent.workspace_id, agent=agent, origin=origin, started_at=timezone.now(), **fields
    )
    audit.record(agent.workspace_id, by, "session.created", subject=("session", session.id), agent=agent.name)
    return session


def add_message(session: Session, text: str, *, by: audit.Actor) -> int:
    """A person's message at the end of the log; its seq. Raises ``Archived``.

    An agent that runs elsewhere reads it from the event stream.
    """
    message = events.NewEvent(
        kind="user_message",
        key=f"message:{uuid7()}",
        at=timezone.now(),
        actor_kind="person",
        actor_name=by.name,
        text=text,
    )
    return append_to_open(session, [message]).last_seq


def append_to_open(session: Session, new: list[events.NewEvent]) -> events.Appended:
    """``events.append`` for sessions that still take events. Raises ``Archived``."""
    with transaction.atomic():
        status = Session.objects.select_for_update().values_list("status", flat=True).get(pk=session.pk)
        if status == Session.Status.ARCHIVED:
            raise Archived("this session is archived: it can be read and exported, but not continued")
        return events.append(session.pk, new)


@transaction.atomic
def interrupt(session: Session, *, by: audit.Actor) -> None:
    """Cancel the turn in flight: what it asks is withdrawn, and its agent reads in the log that it has to stop.

    Raises ``Archived``.
    """
    from . import approvals

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
    approvals.cancel_all(session.pk, reason="interrupted", by=by)
    audit.record(session.workspace_id, by, "session.interrupted", subject=("session", session.pk))


@transaction.atomic
def archive(session: Session, *, by: audit.Actor) -> None:
    """Read-only from now on. What still waits for a person is cancelled. A second time changes nothing."""
    from . import approvals

    changed = Session.objects.filter(pk=session.pk).exclude(status=Session.Status.ARCHIVED)
    if not changed.update(status=Session.Status.ARCHIVED, updated_at=timezone.now()):
        return
    approvals.cancel_all(session.pk, reason="the session was archived", by=by)
    audit.record(session.workspace_id, by, "session.archived", subject=("session", session.pk))
    notify.session_changed(session.pk, session.last_seq)


def find_by_external_id(workspace_id: UUID, external_id: str, source_format: str) -> list[Session]:
    """Sessions that the same source knows by this id, newest first."""
    return list(
        Session.objects.filter(
            workspace_id=workspace_id, external_id=identifier(external_id), source_format=source_format
        ).order_by("-created_at")
    )
