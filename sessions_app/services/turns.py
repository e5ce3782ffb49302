"""Turns of agents that run here: a message begins one, messages behind it wait, and it ends once.

A session whose status is ``running`` has one ``TurnInFlight``. That row, not a Celery message, says what is to be
done: a worker claims it by compare-and-set, keeps it fresh, and what a dead one left is found by ``sweep`` and gone
on with from the log.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.ids import uuid7
from sessions_app.models import Agent, Approval, QueuedMessage, Session, TurnInFlight

from . import audit, notify, task_queue
from .log import events
from .log.sanitise import text as storable_text
from .money import budgets, usage
from .sessions import CLOSED, Archived
from .wakes import wake

LEASE = timedelta(seconds=20)
"""A worker says every second that it is at it; silent for so long it is taken for dead."""
RUNG = timedelta(seconds=15)
"""So long after a ring that nobody answered it is rung again."""
MAX_MESSAGE = 1_000_000
"""Characters of one message: several times what any model reads at once."""


class NotActive(ValueError):
    """The agent is paused or archived: it begins no turns."""


class TooLong(ValueError):
    """The message is longer than an agent can be given."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """``seq`` of the message in the log; None while it waits behind a turn."""

    seq: int | None
    queued: bool


def is_at_rest(session_id: UUID) -> bool:
    """Whether there is nothing to stop: an agent of ours, in no turn and asking nothing. Raises ``Archived``."""
    session = _locked(session_id)
    if session.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)
    busy = session.status != Session.Status.IDLE or session.pending_approvals
    return not busy and runs_here(session.agent)


def runs_here(agent: Agent) -> bool:
    """Whether its turns are taken here; an external agent reads the log and acts by itself."""
    return agent.runtime != Agent.Runtime.EXTERNAL


@transaction.atomic
def submit(
    session_id: UUID, text: str, *, by: str, by_kind: str = "person", data: dict[str, Any] | None = None,
    interrupts: bool = False,
) -> Submitted:  # fmt: skip
    """A message of a person or a trigger. It begins a turn, or waits behind the one in flight.

    One that ``interrupts`` stands before those that wait already.
    Raises ``sessions.Archived``, ``NotActive``, ``TooLong`` and ``budgets.Spent``.
    """
    session = _locked(session_id)
    if session.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)
    if len(text) > MAX_MESSAGE:
        raise TooLong(
            f"a message has at most {MAX_MESSAGE:,} characters, this one has {len(text):,}; send less at once"
        )
    about = (data or {}) | ({"interrupts": True} if interrupts else {})
    message = QueuedMessage(session=session, text=storable_text(text), by=by, by_kind=by_kind, data=about)
    if not runs_here(session.agent):
        return Submitted(_log(message).last_seq, queued=session.status == Session.Status.RUNNING)
    _require_active(session.agent)
    if session.status == Session.Status.RUNNING:
        message.save(force_insert=True)
        notify.session_changed(session.pk, session.last_seq)
        return Submitted(None, queued=True)
    budgets.check(session)
    if QueuedMessage.objects.filter(session=session).exists():  # held back before: what came first is read first
        message.save(force_insert=True)
        _next(session)
        return Submitted(None, queued=True)
    return Submitted(_begin(session, message), queued=False)


@transaction.atomic
def go_on(session_id: UUID) -> bool:
    """Begin the turn of a message that was held back, for want of money or because the agent was paused.

    False when nothing waits, or a turn is in flight and takes it anyway. Raises like ``submit``.
    """
    session = _locked(session_id)
    if session.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)
    if session.status == Session.Status.RUNNING or not QueuedMessage.objects.filter(session=session).exists():
        return False
    _require_active(session.agent)
    budgets.check(session)
    _next(session)
    return True


@transaction.atomic
def retry(session_id: UUID, *, by: audit.Actor) -> bool:
    """Have the agent take its last turn up again, after an error or an interruption. False while one is in flight.

    Raises like ``submit``.
    """
    session = _locked(session_id)
    if session.status == Session.Status.ARCHIVED:
        raise Archived(CLOSED)
    if session.status == Session.Status.RUNNING or not session.last_turn or not runs_here(session.agent):
        return False
    _require_active(session.agent)
    budgets.check(session)
    events.append(session.pk, [_status(by.name, "retry", f"{by.name} asks to try again", kind=_actor_kind(by))])
    _fly(session, session.last_turn)
    return True


@transaction.atomic
def interrupt(session_id: UUID) -> None:
    """Have the worker that is at the turn stop; a turn that waits for a person ends at the next ring."""
    TurnInFlight.objects.filter(session_id=session_id, interrupted_at=None).update(interrupted_at=timezone.now())
    wake(session_id)


@transaction.atomic
def drop_queued(session_id: UUID, message_id: UUID) -> bool:
    """Take back a message that still waits. False when its turn has begun."""
    session = _locked(session_id)
    dropped, _ = QueuedMessage.objects.filter(session=session, pk=message_id).delete()
    notify.session_changed(session.pk, session.last_seq)
    return bool(dropped)


# --- what workers do --------------------------------------------------------------------------------------------


def claim(session_id: UUID) -> TurnInFlight | None:
    """The turn of a session, held by the caller from now on; None when there is none, or somebody is at it."""
    now = timezone.now()
    free = Q(worker=None) | Q(heartbeat_at__lt=now - LEASE)
    mine = TurnInFlight.objects.filter(free, session_id=session_id)
    token = uuid4()
    if not mine.update(worker=token, heartbeat_at=now, attempt=F("attempt") + 1):
        return None
    held = TurnInFlight.objects.select_related("session__agent").defer("session__source_record")
    return held.filter(session_id=session_id, worker=token).first()


def held(flight: TurnInFlight) -> Any:
    """The row, as long as the caller still holds it."""
    return TurnInFlight.objects.filter(session_id=flight.session_id, worker=flight.worker)


@transaction.atomic
def rest(flight: TurnInFlight, busy_ms: int) -> None:
    """Let go of a turn that waits for a person. If everything was decided meanwhile, it is rung for again."""
    _locked(flight.session_id)
    waits = Approval.objects.filter(session_id=flight.session_id, status=Approval.Status.PENDING).exists()
    go_on = not waits or TurnInFlight.objects.filter(session_id=flight.session_id).exclude(interrupted_at=None).exists()
    let_go = held(flight).update(
        worker=None, heartbeat_at=None, busy_ms=F("busy_ms") + busy_ms, said="", said_request="",
        rung_at=timezone.now() if go_on else None,
    )  # fmt: skip
    if let_go and go_on:
        task_queue.enqueue(task_queue.RUN_TURN, flight.session_id)


@transaction.atomic
def finish(flight: TurnInFlight, busy_ms: int, last: list[events.NewEvent] | None = None) -> bool:
    """End a turn: log its ``last`` events, book what it used, and begin the next one if a message waits.

    False when the caller does not hold the turn any more; then nothing is done.
    """
    session = _locked(flight.session_id)
    row = held(flight).first()
    if row is None:
        return False
    if last:
        events.append(session.pk, last)
    row.delete()
    usage.book_turn(session.pk, row.turn, row.busy_ms + busy_ms)
    budgets.tell_reached(session)
    session.refresh_from_db(fields=["last_seq", "last_turn", "status"])
    if session.status == Session.Status.RUNNING:
        _next(session)
    return True


def _next(session: Session) -> None:
    """Begin the turn of the message that waited longest; without one, or without money for it, be idle."""
    message = QueuedMessage.objects.filter(session=session).in_line().first()
    refused = message and _refused(session)
    if message and not refused:
        QueuedMessage.objects.filter(pk=message.pk).delete()
        _begin(session, message)
        return
    Session.objects.filter(pk=session.pk).update(status=Session.Status.IDLE, updated_at=timezone.now())
    if refused:
        events.append(session.pk, [_status("Countersign", "held_back", refused, turn=session.last_turn)])
    notify.session_changed(session.pk, session.last_seq)


def _require_active(agent: Agent) -> None:
    if agent.status != Agent.Status.ACTIVE:
        raise NotActive(f"{agent.name} is {agent.status}: it begins no turns until somebody resumes it")


def _refused(session: Session) -> str:
    if session.agent.status != Agent.Status.ACTIVE:
        return f"{session.agent.name} is {session.agent.status}: the next message waits"
    try:
        budgets.check(session)
    except budgets.Spent as spent:
        return str(spent)
    return ""


def sweep() -> int:
    """Ring again for turns that lost their worker or their ring; how many."""
    now = timezone.now()
    lost = TurnInFlight.objects.filter(
        Q(worker__isnull=False, heartbeat_at__lt=now - LEASE) | Q(worker=None, rung_at__lt=now - RUNG)
    )
    ids = list(lost.values_list("session_id", flat=True))
    for session_id in ids:
        task_queue.enqueue(task_queue.RUN_TURN, session_id)
    return len(ids)


def _begin(session: Session, message: QueuedMessage) -> int:
    """The message into the log, and its turn in flight; the message's seq."""
    appended = _log(message)
    session.refresh_from_db(fields=["last_seq", "last_turn"])
    _fly(session, session.last_turn)
    return appended.last_seq


def _fly(session: Session, turn: int) -> None:
    TurnInFlight.objects.create(session=session, turn=turn)
    now = timezone.now()
    Session.objects.filter(pk=session.pk).update(
        status=Session.Status.RUNNING, phase=Session.Phase.ACTIVE, updated_at=now
    )
    notify.session_changed(session.pk, session.last_seq)
    task_queue.enqueue(task_queue.RUN_TURN, session.pk)


def _log(message: QueuedMessage) -> events.Appended:
    event = events.NewEvent(
        kind="user_message",
        key=f"message:{message.pk}",
        at=timezone.now(),
        actor_kind=message.by_kind,
        actor_name=message.by,
        text=message.text,
        data=message.data,
    )
    return events.append(message.session_id, [event])


def _status(by: str, status: str, said: str, *, kind: str = "system", **data: Any) -> events.NewEvent:
    return events.NewEvent(
        "status", f"{status}:{uuid7()}", at=timezone.now(), actor_kind=kind, actor_name=by, text=said,
        data={"status": status} | data,
    )  # fmt: skip


def _actor_kind(by: audit.Actor) -> str:
    return "system" if by.kind == "system" else "person"


def _locked(session_id: UUID) -> Session:
    """Sessions are locked before what hangs on them everywhere, so that no two locks wait for each other."""
    rows = Session.objects.select_for_update(of=("self",)).select_related("agent").defer("source_record")
    return rows.get(pk=session_id)
