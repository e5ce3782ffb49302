"""Messages to a session, from people and triggers: send one, take it back, interrupt the turn, try again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.drafts import ActorKind, EventDraft
from sessions_app.ids import uuid7
from sessions_app.models import Agent, QueuedMessage, Session

from .. import audit, notify, sessions
from ..agents import NotActive as NotActive
from ..approvals import endings
from ..log import events, links
from ..log.sanitise import text as storable_text
from ..money import budgets
from ..stops import doors
from . import in_flight
from .resume import stop

MAX_MESSAGE = 1_000_000
"""Characters of one message: several times what any model reads at once."""


class TooLong(ValueError):
    """The message is longer than an agent can be given."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """``seq`` of the message in the log; None while it waits behind a turn."""

    seq: int | None
    queued: bool


def runs_here(agent: Agent) -> bool:
    """Whether its turns are run here; an external agent reads the log and acts by itself."""
    return agent.runtime != Agent.Runtime.EXTERNAL


@transaction.atomic
def start_session(agent: Agent, message: str, *, by: audit.Actor, origin: str, **fields: Any) -> Session:
    """A new session with its first message, if there is one; ``fields`` as ``sessions.create`` takes them.

    Raises like ``submit``.
    """
    session = sessions.create(agent, by=by, origin=origin, **fields)
    if message:
        submit(session.pk, message, by=by)
    return session


@transaction.atomic
def submit(
    session_id: UUID, text: str, *, by: audit.Actor, data: dict[str, Any] | None = None, interrupting: bool = False
) -> Submitted:
    """A message of a person or a trigger. It begins a turn, or waits behind the one in flight.

    ``interrupting`` stops the turn in flight first, and the message stands before those that wait already.
    For an agent elsewhere it stands in the log, where that looks for work. Raises ``sessions.Closed``, ``NotActive``,
    ``TooLong`` and ``budgets.Spent``.
    """
    session = sessions.lock_open(session_id)
    sessions.refuse_from_outside(session)
    if len(text) > MAX_MESSAGE:
        raise TooLong(
            f"a message has at most {MAX_MESSAGE:,} characters, this one has {len(text):,}; send less at once"
        )
    data = data or {}
    if interrupting and session.status == Session.Status.RUNNING:
        _stop_turn(session, by)
        session.refresh_from_db(fields=["last_seq"])
        data |= {"interrupts": True}
    kind = "trigger" if by.kind == "trigger" else "person"
    message = QueuedMessage(
        session=session, text=storable_text(text), by=by.name, by_kind=kind, sender_kind=by.kind, sender_id=by.id,
        data=data,
    )  # fmt: skip
    doors.refuse_where_stopped(session.agent)
    if not runs_here(session.agent):
        appended = events.append(
            session.pk, [in_flight.message_event(message)], origin=in_flight.message_origin(message)
        )
        return Submitted(appended.last_seq, queued=session.status == Session.Status.RUNNING)
    _require_active(session.agent)
    if session.status == Session.Status.RUNNING:
        message.save(force_insert=True)
        notify.session_changed(session.pk, session.last_seq)
        return Submitted(None, queued=True)
    budgets.check(session)
    if QueuedMessage.objects.filter(session=session).exists():  # held back before: what came first is read first
        message.save(force_insert=True)
        in_flight.begin_first_waiting(session)
        return Submitted(None, queued=True)
    return Submitted(in_flight.begin(session, message), queued=False)


@transaction.atomic
def interrupt(session_id: UUID, *, by: audit.Actor) -> None:
    """Cancel the turn in flight: what it asks is withdrawn, and its agent reads in the log that it has to stop.

    Where an agent of ours is in no turn and asks nothing, the log says so and nothing else is done. Raises
    ``sessions.Archived``.
    """
    session = sessions.lock_open(session_id)
    busy = session.status != Session.Status.IDLE or session.pending_approvals
    if busy or not runs_here(session.agent):
        _stop_turn(session, by)
        return
    told = in_flight.too_late_event(session.last_turn, "no turn is in flight")
    events.append(session.pk, [told], origin=links.DESK)


@transaction.atomic
def send_waiting(session_id: UUID) -> bool:
    """Begin the turn of a message that was held back, for want of money or because the agent was paused.

    False when nothing waits, or a turn is in flight and takes it anyway. Raises like ``submit``.
    """
    session = sessions.lock_open(session_id)
    if session.status == Session.Status.RUNNING or not QueuedMessage.objects.filter(session=session).exists():
        return False
    _require_active(session.agent)
    doors.refuse_where_stopped(session.agent)
    budgets.check(session)
    in_flight.begin_first_waiting(session)
    return True


@transaction.atomic
def retry(session_id: UUID, *, by: audit.Actor) -> bool:
    """Have the agent take its last turn up again, after an error or an interruption. False while one is in flight.

    Raises like ``submit``.
    """
    session = sessions.lock_open(session_id)
    sessions.refuse_from_outside(session)
    if session.status == Session.Status.RUNNING or not session.last_turn or not runs_here(session.agent):
        return False
    _require_active(session.agent)
    doors.refuse_where_stopped(session.agent)
    budgets.check(session)
    kind: ActorKind = "system" if by.kind == "system" else "person"
    asked = in_flight.status_event(by.name, "retry", f"{by.name} asks to try again", actor_kind=kind)
    events.append(session.pk, [asked], origin=links.desk_for(by))
    in_flight.put_in_flight(session, session.last_turn, by)
    return True


@transaction.atomic
def take_back(session_id: UUID, message_id: UUID) -> bool:
    """Delete a message that still waits. False when its turn has begun."""
    session = sessions.lock(session_id)
    dropped, _ = QueuedMessage.objects.filter(session=session, pk=message_id).delete()
    notify.session_changed(session.pk, session.last_seq)
    return bool(dropped)


def _stop_turn(session: Session, by: audit.Actor) -> None:
    request = EventDraft(
        "status", f"interrupt:{uuid7()}", at=timezone.now(), actor_kind="person", actor_name=by.name,
        text="interrupt requested", data={"status": "interrupt_requested"},
    )  # fmt: skip
    events.append(session.pk, [request], origin=links.desk_for(by))
    stop(session.pk)
    endings.cancel_all(session.pk, reason="interrupted", by=by)
    audit.record(session.workspace_id, by, "session.interrupted", subject=("session", session.pk))


def _require_active(agent: Agent) -> None:
    if agent.status != Agent.Status.ACTIVE:
        raise NotActive(f"{agent.name} is {agent.status}: it begins no turns until somebody resumes it")
