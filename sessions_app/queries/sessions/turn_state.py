"""State of the last turn of a session: the one in flight, the messages queued behind it, or how the last one ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from sessions_app.compiled import Compiled
from sessions_app.models import Event, QueuedMessage, Session, Turn, TurnInFlight

from .. import waiting as waiting_places
from ..waiting import Place

SHOWN = 20
"""Queued messages that are listed; those beyond are only counted."""
LOOKED_AT = 6
"""Last events of a turn that are read to tell how it ended: an error, then perhaps why no message followed."""


@dataclass(frozen=True, slots=True)
class TurnState:
    """``turn`` belongs to ``flight``, with its usage so far; ``ended`` says how the last turn went wrong."""

    flight: TurnInFlight | None
    turn: Turn | None
    queued: list[QueuedMessage]
    queued_count: int
    ended: str
    """error, interrupted, or empty when it went well."""
    place: Place | None = None
    """Where the turn in flight waits for a worker; None where one is at it, or it waits for a person."""


def turn_state_of(session: Session, *, tells_end: bool = True) -> TurnState:
    """State of the last turn, in at most four queries, and two more while it waits for a worker; ``said`` and ``state``
    of the turn in flight are not loaded. ``ended`` is asked for by ``tells_end``.
    """
    flight = _FLIGHT.first(session.pk)
    turn = Turn.objects.filter(session=session, index=flight.turn).first() if flight else None
    queued = _QUEUED(session.pk)
    count = QueuedMessage.objects.filter(session=session).count() if len(queued) > SHOWN else len(queued)
    place = None
    if flight and not flight.worker and flight.rung_at:
        place = waiting_places.places(session.workspace_id, [session.pk]).get(session.pk)
    ended = _ended(session) if tells_end and not flight else ""
    return TurnState(flight, turn, queued[:SHOWN], count, ended, place)


_FLIGHT = Compiled[TurnInFlight](
    lambda session_id: TurnInFlight.objects.filter(session=session_id).defer("said", "state")[:1]
)
_QUEUED = Compiled[QueuedMessage](
    lambda session_id: QueuedMessage.objects.filter(session=session_id).in_line()[: SHOWN + 1]
)


@dataclass(frozen=True, slots=True)
class QueueAndContinuations:
    """Number of queued messages of a session, and ids of the sessions that continue it."""

    queued: int
    continued_by: list[UUID]


def queue_and_continuations_of(session_ids: Collection[UUID]) -> dict[UUID, QueueAndContinuations]:
    """Queue and continuations by session, in one query: every reader of a live session asks it at every change."""
    waiting = QueuedMessage.objects.filter(session=OuterRef("pk")).values("pk")
    later = Session.objects.filter(continues=OuterRef("pk")).order_by("id").values("pk")
    rows = Session.objects.filter(pk__in=session_ids).values_list("pk", ArraySubquery(waiting), ArraySubquery(later))
    return {pk: QueueAndContinuations(len(queued), continued) for pk, queued, continued in rows}


def _ended(session: Session) -> str:
    """ "error", "interrupted", or "" when the turn ended with a message of the agent or a tool result."""
    if not session.last_turn or session.status != Session.Status.IDLE:
        return ""
    last = Event.objects.filter(session=session, turn=session.last_turn).order_by("-seq")[:LOOKED_AT]
    for kind, data in last.values_list("kind", "data"):
        status = data.get("status") if kind == "status" and isinstance(data, dict) else None
        if kind == "error" or status == "interrupted":
            return status or "error"
        if kind != "status":
            return ""
    return ""
