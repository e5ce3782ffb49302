"""What a stop does, once its row shuts the doors: end what waits, interrupt what runs, and say so in the sessions.

Each session is a transaction of its own and may be done twice, so that a process that dies in the middle leaves the
rest to the sweep.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.models import Approval, Event, Session, Stop, StoppedSession, TurnInFlight
from sessions_app.queries import stops as queries

from .. import audit, sessions
from ..approvals import endings
from ..log import events, links
from ..notices import announcing
from ..turns import in_flight
from ..turns.resume import stop as stop_turn

AT_ONCE_SECONDS = 3.0
"""Of the request that makes a stop; what is left then, the sweep does."""
SWEEP_SECONDS = 30.0


def sweep() -> int:
    """Finish stops that were left half done, end those whose time is over; in how many sessions something was ended.

    Those in force are looked at again each time: a process that hung at a door may have let something in.
    """
    for stop in Stop.objects.filter(lifted_at=None, until__lte=timezone.now()).order_by("id"):
        _end_expired(stop.pk)
    until = time.monotonic() + SWEEP_SECONDS
    holding = Stop.objects.filter(Q(lifted_at=None) | Q(carried_out_at=None) | Q(audited_at=None))
    ended = 0
    for stop in holding.select_related("agent").order_by("id"):
        ended += carry_out(stop, seconds=until - time.monotonic())
    return ended


def carry_out(stop: Stop, *, seconds: float) -> int:
    """End what is under a stop, within about so many seconds; in how many sessions. A second time ends the rest."""
    until = time.monotonic() + seconds
    _audit(stop)
    found = _sessions_under(stop) if queries.holds(stop) else []
    ended = 0
    for session_id in found:
        if time.monotonic() > until:
            return ended
        ended += _end_in(session_id, stop)
    Stop.objects.filter(pk=stop.pk, carried_out_at=None).update(carried_out_at=timezone.now())
    return ended


@transaction.atomic
def end(stop: Stop, *, by: audit.Actor, reason: str, at: datetime) -> None:
    """Write down that a stop is over. The caller has locked its row."""
    stop.lifted_at, stop.lifted_by, stop.lift_reason = at, by.name, reason
    stop.save(update_fields=["lifted_at", "lifted_by", "lift_reason"])
    lifted = by.kind != audit.SYSTEM.kind
    said = f"{by.name} lifted the stop" if lifted else "the time of the stop is over"
    said += f": {reason}" if reason and lifted else ""
    for stopped in stop.sessions.order_by("id"):
        if Session.objects.filter(pk=stopped.session_id).exists():
            new = [_event(stop, "stop_lifted", said, by)]
            events.append(stopped.session_id, new, origin=links.desk_for(by))
    audit.record(
        stop.workspace_id, by, "stop.lifted" if lifted else "stop.expired", subject=("stop", stop.pk),
        agent=stop.agent.name if stop.agent else None, reason=reason,
    )  # fmt: skip
    announcing.of_stop(stop, "stop.lifted")


@transaction.atomic
def _end_expired(stop_id: UUID) -> None:
    stop = Stop.objects.select_for_update(of=("self",)).select_related("agent").get(pk=stop_id)
    if stop.lifted_at is None and stop.until is not None:
        end(stop, by=audit.SYSTEM, reason="its time was over", at=stop.until)


@transaction.atomic
def _audit(stop: Stop) -> None:
    """Tell the audit log, once; whoever is killed here has it told by the sweep."""
    if not Stop.objects.filter(pk=stop.pk, audited_at=None).update(audited_at=timezone.now()):
        return
    made_by = audit.Actor(stop.made_by_kind, stop.made_by_id, stop.made_by)
    audit.record(
        stop.workspace_id, made_by, "stop.made", subject=("stop", stop.pk),
        agent=stop.agent.name if stop.agent else None, reason=stop.reason,
        until=stop.until.isoformat() if stop.until else None,
    )  # fmt: skip
    announcing.of_stop(stop, "stop.made")


def _sessions_under(stop: Stop) -> Iterable[UUID]:
    """Sessions in which something waits or runs."""
    mine = Q(session__agent_id=stop.agent_id) if stop.agent_id else Q(session__workspace_id=stop.workspace_id)
    calls = Approval.objects.filter(endings.stoppable(), mine).values_list("session_id", flat=True)
    begun = StoppedSession.objects.filter(stop=stop, turn_interrupted=True).values("session_id")
    turns = TurnInFlight.objects.filter(Q(interrupted_at=None) | ~Q(session_id__in=begun), mine)
    return sorted({*calls, *turns.values_list("session_id", flat=True)})


@transaction.atomic
def _end_in(session_id: UUID, stop: Stop) -> bool:
    """End what waits and runs in one session; whether there was anything."""
    session = sessions.lock(session_id)
    flight = TurnInFlight.objects.filter(session_id=session_id).first()
    calls = list(Approval.objects.filter(endings.stoppable(), session_id=session_id).select_related("session"))
    if not flight and not calls:
        return False
    by = audit.Actor(*stop.actor)
    executing = _executing(flight)
    new = [in_flight.stopped_event(stop)]
    if executing:
        said = f"the call of {executing} had begun before the stop and was not undone"
        new.append(_event(stop, "ran_before_stop", said, by))
    events.append(session.pk, new, origin=links.desk_for(by))
    denied = sum(endings.deny_by_stop(approval, stop) for approval in calls)
    if flight:
        stop_turn(session_id)
    _note(stop, session_id, denied, turn_interrupted=flight is not None, executing=executing)
    return True


def _note(stop: Stop, session_id: UUID, denied: int, *, turn_interrupted: bool, executing: str) -> None:
    new = {"turn_interrupted": turn_interrupted, "executing": executing, "at": timezone.now(), "denied": denied}
    row, is_new = StoppedSession.objects.get_or_create(stop=stop, session_id=session_id, defaults=new)
    if not is_new:
        StoppedSession.objects.filter(pk=row.pk).update(
            denied=F("denied") + denied, turn_interrupted=row.turn_interrupted or turn_interrupted,
            executing=row.executing or executing,
        )  # fmt: skip


def _executing(flight: TurnInFlight | None) -> str:
    """Name of the tool whose call is being made right now; empty where none is."""
    call_id = flight.state.get("executing") if flight else None
    if not flight or not call_id:
        return ""
    made = Event.objects.filter(session_id=flight.session_id, kind="tool_call", call_id=call_id)
    return made.values_list("tool_name", flat=True).first() or "a tool"


def _event(stop: Stop, status: str, said: str, by: audit.Actor) -> EventDraft:
    """A status event; the same of the same stop is in a session once."""
    return in_flight.status_event(by.name, status, said, key=f"{status}:{stop.pk}", stop=str(stop.pk))
