"""How a session stands for somebody who wants to say something: what runs, what waits behind it, how it ended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef

from sessions_app.models import Event, QueuedMessage, Session, Turn, TurnInFlight

SHOWN = 20
"""Messages of a queue that are shown; more of them are counted."""
LOOKED_AT = 6
"""Events at the end of a turn among which its end stands: an error, then perhaps why the next message is held back."""


@dataclass(frozen=True, slots=True)
class Standing:
    """``turn`` is the one in flight, with what it used so far; ``ended`` is how the last one went wrong."""

    flight: TurnInFlight | None
    turn: Turn | None
    queued: list[QueuedMessage]
    queued_count: int
    ended: str
    """error, interrupted, or empty when it went well."""


def of(session: Session) -> Standing:
    """In at most four queries."""
    flight = TurnInFlight.objects.filter(session=session).defer("said", "state").first()
    turn = Turn.objects.filter(session=session, index=flight.turn).first() if flight else None
    waiting = QueuedMessage.objects.filter(session=session)
    queued = list(waiting.in_line()[: SHOWN + 1])
    count = waiting.count() if len(queued) > SHOWN else len(queued)
    return Standing(flight, turn, queued[:SHOWN], count, "" if flight else _ended(session))


@dataclass(frozen=True, slots=True)
class Around:
    """What belongs to a session beside its own row: messages that wait, and sessions that go on from it."""

    queued: int
    continued_by: list[UUID]


def around(session_ids: Collection[UUID]) -> dict[UUID, Around]:
    """Of these sessions, in one query: every reader of a live session asks it at every change."""
    waiting = QueuedMessage.objects.filter(session=OuterRef("pk")).values("pk")
    later = Session.objects.filter(continues=OuterRef("pk")).order_by("id").values("pk")
    rows = Session.objects.filter(pk__in=session_ids).values_list("pk", ArraySubquery(waiting), ArraySubquery(later))
    return {pk: Around(len(queued), continued) for pk, queued, continued in rows}


def _ended(session: Session) -> str:
    """A turn that went well ends with what the agent said or a tool gave back."""
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
