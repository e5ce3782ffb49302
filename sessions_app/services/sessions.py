"""Sessions: begun here by an agent, a person or a trigger. How they go on and end: see ``lifecycle`` and ``turns``."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Agent, Session

from . import audit
from .log import events
from .log.sanitise import identifier, storable

CLOSED = "this session is archived: it can be read and exported, but not continued"


class Archived(ValueError):
    """The session is read-only."""


@transaction.atomic
def create(agent: Agent, *, by: audit.Actor, origin: str = Session.Origin.API, **fields: Any) -> Session:
    """A new, empty session of an agent. ``fields``: title, summary, user_id, external_id (texts), metadata, tags."""
    fields = storable(fields) | {"external_id": identifier(fields.get("external_id", ""))}
    session = Session.objects.create(
        workspace_id=agent.workspace_id,
        agent=agent,
        agent_version=agent.version,
        origin=origin,
        started_at=timezone.now(),
        **fields,
    )
    audit.record(agent.workspace_id, by, "session.created", subject=("session", session.id), agent=agent.name)
    return session


def append_to_open(session: Session, new: list[events.NewEvent]) -> events.Appended:
    """``events.append`` for sessions that still take events. Raises ``Archived``."""
    with transaction.atomic():
        status = Session.objects.select_for_update().values_list("status", flat=True).get(pk=session.pk)
        if status == Session.Status.ARCHIVED:
            raise Archived(CLOSED)
        return events.append(session.pk, new)


def find_by_external_id(workspace_id: UUID, external_id: str, source_format: str) -> list[Session]:
    """Sessions that the same source knows by this id, newest first."""
    return list(
        Session.objects.filter(
            workspace_id=workspace_id, external_id=identifier(external_id), source_format=source_format
        ).order_by("-created_at")
    )
