"""Deletion of sessions that their workspace has kept for its days, as if somebody had deleted each.

Where all sessions of a part of the events go, the part is dropped at the end (``months``); in a month of which some are
over and some are not, the events of each go by themselves.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from sessions_app.ids import first_id
from sessions_app.models import Session, Workspace
from sessions_app.queries.retention.over import going
from sessions_app.services import audit
from sessions_app.services.retention import keeping
from sessions_app.services.upkeep.one_at_a_time import one_at_a_time

from . import months
from .months import Erased, Part

log = logging.getLogger(__name__)
SECONDS = 120.0
"""After so long the next sweep goes on, and the worker does what others wait for. A part that goes whole is brought to
its end: 1,000 sessions of it take some 15 s."""


def sweep() -> int:
    """Delete what is over; how many sessions. 0 where another sweep is under way."""
    with one_at_a_time("sessions that are over") as is_alone:
        workspaces = keeping.due_workspaces() if is_alone else []
        return _sweep(workspaces) if workspaces else 0


def _sweep(workspaces: Sequence[Workspace]) -> int:
    done, until = Erased(), time.monotonic() + SECONDS
    for part in takewhile(lambda _: time.monotonic() < until, months.parts_before(first_id(timezone.now()))):
        _erase_of(part, workspaces, done, until)
    for session_id, why in done.stays.items():
        log.info("session %s is over and stays: %s", session_id, why)
    return done.sessions


def _erase_of(part: Part, workspaces: Sequence[Workspace], done: Erased, until: float) -> None:
    """Delete what is over of one part of the events."""
    over = [(one, going(one).filter(part.ids)) for one in workspaces]
    all_go = part.is_whole and _all_go(part, [sessions for _, sessions in over])
    for workspace, sessions in over:
        reason = f"kept for {workspace.keep_days} days, as the workspace says"
        for session in months.in_order(sessions):
            if not all_go and time.monotonic() > until:
                return
            done.erase(session, by=audit.SYSTEM, reason=reason, leave_events=all_go, only_if=keeping.is_going)
    if all_go:
        months.clear(part.name, done)


def _all_go(part: Part, over: Sequence[QuerySet[Session, Any]]) -> bool:
    """Whether something of a part is over, and all of it."""
    number = sum(sessions.count() for sessions in over)
    return number > 0 and number == Session.objects.filter(part.ids).count()
