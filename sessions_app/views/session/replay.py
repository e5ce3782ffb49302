"""Replay for a person: the transcript up to an event, and the times of what follows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from sessions_app.models import Session
from sessions_app.queries.log import replay as queries
from sessions_app.queries.log.replay import Step

from .. import access
from .addresses import number, session_at

SPEEDS = (1, 2, 5, 10, 30, 60)
PAUSES = (1, 2, 5, 10, 30)
"""Seconds on the clock of who looks on: longer pauses are skipped."""
USUAL_SPEED, USUAL_PAUSE = 5, 2


@dataclass(frozen=True, slots=True)
class Bar:
    """What the replay bar shows: where it stands among all events, and the steps beside."""

    seq: int
    at: datetime | None
    last_seq: int
    previous: int | None
    next: int | None
    speeds: tuple[int, ...] = SPEEDS
    pauses: tuple[int, ...] = PAUSES
    speed: int = USUAL_SPEED
    pause: int = USUAL_PAUSE


def bar(session: Session, seq: int) -> Bar:
    """The bar at an event, or at the one before it that is a step."""
    here = queries.before(session.pk, seq + 1, 2)
    onward = queries.after(session.pk, seq, 1)
    at = here[-1] if here else Step(0, None)
    before = here[0].seq if len(here) > 1 else None
    return Bar(at.seq, at.at, session.last_seq, before, onward[0].seq if onward else None)


@require_safe
@access.viewer
def steps(request: access.DeskRequest, agent_id: UUID, session_id: UUID) -> HttpResponse:
    """Numbers and times (milliseconds since 1970, null where unknown) of steps ``?after=SEQ`` or ``?before=SEQ``."""
    session = session_at(request, agent_id, session_id)
    before, after = (number(request.GET.get(name)) for name in ("before", "after"))
    found = queries.after(session.pk, after or 0) if before is None else queries.before(session.pk, before)
    listed: list[list[Any]] = [[step.seq, round(step.at.timestamp() * 1000) if step.at else None] for step in found]
    return JsonResponse({"steps": listed, "more": len(listed) == queries.STEPS})
