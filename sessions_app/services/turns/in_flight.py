"""Turns in flight: what workers claim, park and finish.

A session whose status is ``running`` has one ``TurnInFlight``. That row, not a Celery message, says what is to be
done: a worker claims it by compare-and-set, keeps it fresh, and what a dead one left is found by ``sweep`` and gone
on with from the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from sessions_app.drafts import ActorKind, EventDraft
from sessions_app.ids import uuid7
from sessions_app.models import Agent, Approval, QueuedMessage, Session, Stop, TurnInFlight
from sessions_app.queries import stops as queries

from .. import audit, fair_queue, notify, sessions, task_queue
from ..fair_queue import Line
from ..log import events, links
from ..money import budgets, usage
from ..stops import doors
from .resume import WAITING, enqueue, line_of, task_of, wake

LEASE = timedelta(seconds=15)
"""A worker writes a heartbeat every second; silent for so long it is taken for dead."""
MESSAGE_LOST_AFTER = timedelta(seconds=15)
"""So long after it was enqueued without a worker that claims it, a turn is enqueued again."""

BEAT = """
UPDATE sessions_app_turninflight AS turn SET heartbeat_at = clock_timestamp()
FROM unnest(%(sessions)s::uuid[], %(workers)s::uuid[]) AS mine (session_id, worker)
WHERE turn.session_id = mine.session_id AND turn.worker = mine.worker
RETURNING turn.session_id, turn.interrupted_at IS NOT NULL
"""


class LeaseLost(Exception):
    """Another worker holds the turn now: this one must not write any more."""


def claim(session_id: UUID) -> TurnInFlight | None:
    """The turn of a session, owned by the caller from now on; None when there is none, or a worker is at it.

    None, too, where its sender has as many at work as one may have: then it waits in line again.
    """
    free = Q(worker=None) | Q(heartbeat_at__lt=timezone.now() - LEASE)
    found = TurnInFlight.objects.filter(free, session_id=session_id)
    waiting = found.select_related("session").only(*WAITING).first()
    token = uuid4()
    if waiting is None or not _claim(waiting, found, token):
        return None
    rows = TurnInFlight.objects.select_related("session__agent").defer("session__source_record")
    flight = rows.filter(session_id=session_id, worker=token).first()
    if flight and not flight.interrupted_at:
        _interrupt_where_stopped(flight)
    return flight


@transaction.atomic
def _claim(waiting: TurnInFlight, found: QuerySet[TurnInFlight], token: UUID) -> bool:
    if fair_queue.is_at_most(task_queue.queue_of(task_of(waiting)), line_of(waiting)):
        enqueue(waiting)
        return False
    # Compare-and-set in one UPDATE: of two workers at once only one changes the row.
    return bool(found.update(worker=token, heartbeat_at=timezone.now(), attempt=F("attempt") + 1))


def _interrupt_where_stopped(flight: TurnInFlight) -> None:
    """Interrupt a turn under a stop that was not carried out yet: its process may have died."""
    session = flight.session
    if stop := queries.of_agent(session.workspace_id, session.agent_id):
        with owned(flight):
            flight.interrupted_at = timezone.now()
            still_owned(flight).update(interrupted_at=flight.interrupted_at)
            by = audit.Actor(*stop.actor)
            events.append(session.pk, [stopped_event(stop)], origin=links.desk_for(by))


def still_owned(flight: TurnInFlight) -> QuerySet[TurnInFlight]:
    """Query of the row while the caller still owns it; empty once another worker claimed it."""
    return TurnInFlight.objects.filter(session_id=flight.session_id, worker=flight.worker)


@contextmanager
def owned(flight: TurnInFlight) -> Iterator[None]:
    """A transaction in which no other worker can claim the turn. Raises ``LeaseLost`` if one has."""
    with transaction.atomic():
        # The session before its turn, as everywhere: what is appended inside locks it, and a stop, a person's decision
        # and ``finish`` hold it when they come to the turn.
        if not sessions.lock_row(flight.session_id) or not still_owned(flight).select_for_update().exists():
            raise LeaseLost
        yield


@transaction.atomic
def park(flight: TurnInFlight, busy_ms: int) -> None:
    """Park a turn that waits for a person. If everything was decided meanwhile, it is enqueued again."""
    sessions.lock(flight.session_id)
    waits = Approval.objects.filter(session_id=flight.session_id, status=Approval.Status.PENDING).exists()
    # A person may have decided or interrupted after the runtime looked and before the session was locked.
    interrupted = TurnInFlight.objects.filter(session_id=flight.session_id).exclude(interrupted_at=None)
    goes_on = not waits or interrupted.exists()
    parked = still_owned(flight).update(
        worker=None, heartbeat_at=None, busy_ms=F("busy_ms") + busy_ms, said="", said_request="",
        rung_at=timezone.now() if goes_on else None,
    )  # fmt: skip
    if parked and goes_on:
        enqueue(flight)
    elif parked:
        wake(flight)


@transaction.atomic
def release(flight: TurnInFlight) -> None:
    """Give a turn back that this worker cannot go on with, and enqueue it for another."""
    if still_owned(flight).update(worker=None, heartbeat_at=None, rung_at=timezone.now()):
        enqueue(flight)


def beat(flights: Iterable[TurnInFlight]) -> dict[UUID, bool]:
    """Write the heartbeat of turns. By session: whether a person interrupted; those of another worker are missing."""
    mine = {flight.session_id: flight.worker for flight in flights}
    with connection.cursor() as cursor:
        cursor.execute(BEAT, {"sessions": list(mine), "workers": list(mine.values())})
        return dict(cursor.fetchall())


@transaction.atomic
def finish(flight: TurnInFlight, busy_ms: int, last: list[EventDraft] | None = None) -> bool:
    """End a turn: log its ``last`` events, book what it used, and begin the next one if a message waits.

    False when the caller does not own the turn any more; then nothing is done.
    """
    session = sessions.lock(flight.session_id)
    row = still_owned(flight).first()
    if row is None:
        return False
    last = last or []
    if row.interrupted_at and not any(event.data.get("status") == "interrupted" for event in last):
        last = [*last, too_late_event(row.turn, "it had ended by itself")]
    if last:
        events.append(session.pk, last, origin=links.RUNTIME)
    row.delete()
    wake(flight)
    usage.book_turn(session.pk, row.turn, row.busy_ms + busy_ms)
    budgets.record_reached(session)
    session.refresh_from_db(fields=["last_seq", "last_turn", "status"])
    if session.status == Session.Status.RUNNING:
        _begin_next(session)
    return True


def sweep() -> int:
    """Enqueue turns again that lost their worker or their message; how many."""
    now = timezone.now()
    lost = TurnInFlight.objects.filter(
        Q(worker__isnull=False, heartbeat_at__lt=now - LEASE) | Q(worker=None, rung_at__lt=now - MESSAGE_LOST_AFTER)
    )
    since: dict[str, dict[UUID, datetime]] = {task_queue.RUN_TURN: {}, task_queue.RUN_TRIGGERED_TURN: {}}
    lines: dict[UUID, Line] = {}
    for flight in lost.select_related("session").only("heartbeat_at", "rung_at", "worker", *WAITING):
        since[task_of(flight)][flight.session_id] = (flight.heartbeat_at if flight.worker else flight.rung_at) or now
        lines[flight.session_id] = line_of(flight)
    return sum(task_queue.requeue(task, turns, lines) for task, turns in since.items())


# --- inside of a transaction that has locked the session ---------------------------------------------------------


def begin(session: Session, message: QueuedMessage) -> int:
    """Log the message and begin its turn; the message's ``seq``."""
    appended = events.append(session.pk, [message_event(message)], origin=message_origin(message))
    session.refresh_from_db(fields=["last_seq", "last_turn"])
    triggered = message.by_kind == "trigger" and session.origin == Session.Origin.WEBHOOK
    put_in_flight(session, session.last_turn, sender_of(message), triggered=triggered)
    assert appended.last_seq is not None  # the message's key is new, so its event is
    return appended.last_seq


def begin_first_waiting(session: Session) -> None:
    """Begin the turn of the message that waits in front. There is one, and nothing forbids its turn."""
    message = QueuedMessage.objects.filter(session=session).in_line()[0]
    QueuedMessage.objects.filter(pk=message.pk).delete()
    begin(session, message)


def put_in_flight(session: Session, turn: int, requester: audit.Actor, *, triggered: bool = False) -> None:
    """Make the session ``running``, and enqueue a turn of it in the line of who asked for it."""
    asked = fair_queue.person(requester)
    flight = TurnInFlight.objects.create(session=session, turn=turn, triggered=triggered, requester=asked)
    Session.objects.filter(pk=session.pk).update(
        status=Session.Status.RUNNING, phase=Session.Phase.ACTIVE, updated_at=timezone.now()
    )
    notify.session_changed(session.pk, session.last_seq)
    enqueue(flight)


def message_event(message: QueuedMessage) -> EventDraft:
    return EventDraft(
        kind="user_message",
        key=f"message:{message.pk}",
        at=timezone.now(),
        actor_kind=cast(ActorKind, message.by_kind),
        actor_name=message.by,
        text=message.text,
        data=message.data,
    )


def message_origin(message: QueuedMessage) -> links.Origin:
    """Who sent a message, at whatever time it is read; a message queued before senders were kept has a name alone."""
    return links.sent_by(sender_of(message))


def sender_of(message: QueuedMessage) -> audit.Actor:
    """Who sent a message; of one that was queued before senders were kept, by name alone."""
    return audit.Actor(message.sender_kind or message.by_kind, message.sender_id, message.by)


def status_event(
    by: str, status: str, text: str, *, actor_kind: ActorKind = "system", key: str = "", **data: Any
) -> EventDraft:
    """A step of the turn itself: ``retry``, ``held_back``, ``stopped``. The same ``key`` is in the log once."""
    return EventDraft(
        "status", key or f"{status}:{uuid7()}", at=timezone.now(), actor_kind=actor_kind, actor_name=by, text=text,
        data={"status": status} | data,
    )  # fmt: skip


def too_late_event(turn: int, why: str) -> EventDraft:
    """That an interrupt stopped nothing: in the log once for each turn."""
    return status_event(
        "Countersign", "interrupted_too_late", f"the interrupt came too late: {why}", key=f"late:{turn}"
    )


def stopped_event(stop: Stop) -> EventDraft:
    """That a stop began to hold a session: in the log once, whoever writes it first."""
    return status_event(
        f"stop by {stop.made_by}", "stopped", queries.sentence(stop), key=f"stopped:{stop.pk}", stop=str(stop.pk)
    )


def _begin_next(session: Session) -> None:
    """Begin the turn of the message that waits in front; without one, or without money for it, be idle."""
    waits = QueuedMessage.objects.filter(session=session).exists()
    refused = _why_not(session) if waits else ""
    if waits and not refused:
        begin_first_waiting(session)
        return
    Session.objects.filter(pk=session.pk).update(status=Session.Status.IDLE, updated_at=timezone.now())
    if refused:
        held_back = status_event("Countersign", "held_back", refused, turn=session.last_turn)
        events.append(session.pk, [held_back], origin=links.DESK)
    notify.session_changed(session.pk, session.last_seq)


def _why_not(session: Session) -> str:
    """Reason why the session may begin no turn now; empty when it may."""
    if session.agent.status != Agent.Status.ACTIVE:
        return f"{session.agent.name} is {session.agent.status}: the next message waits"
    if stop := doors.stop_of(session.agent):
        return f"the next message waits: {queries.sentence(stop)}"
    try:
        budgets.check(session)
    except budgets.Spent as spent:
        return str(spent)
    return ""
