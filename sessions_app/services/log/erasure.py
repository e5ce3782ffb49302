"""Erasure of a session's rows: everything of it but what was spent, what the audit log says, and its tombstone.

``vcon_app.services.erasure`` decides what goes, signs the tombstone, and removes files; nothing else calls this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import CharField, Count
from django.db.models.functions import Cast

from sessions_app.models import (
    Approval,
    EventLink,
    IdempotentAnswer,
    Session,
    Tombstone,
    ToolCall,
    TriggerRun,
    Turn,
    TurnInFlight,
    Vote,
    WebhookDelivery,
)  # fmt: skip

from .. import audit, notify
from ..approvals import endings
from ..retention import policies
from ..upkeep import retention
from . import projections, shared_responses

LOCK_TIMEOUT = "10s"
"""So long a person waits for an import or an agent that writes to what is to go; then they are told."""
NOT_NOW = frozenset({"40P01", "55P03"})
"""SQLSTATE of a deadlock, and of a lock that was not given in time."""


class CannotErase(ValueError):
    """It cannot go now, or not by itself; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Log:
    """How much a session holds, and the end of its chain."""

    counts: dict[str, int]
    last_seq: int
    last_link: str


@contextmanager
def transaction_of_erasure() -> Iterator[None]:
    """A transaction that waits for locks a while only. Raises ``CannotErase`` when somebody is writing meanwhile."""
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT set_config('lock_timeout', %s, true)", [LOCK_TIMEOUT])
            yield
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) not in NOT_NOW:
            raise
        raise CannotErase("something is being written to it right now; nothing was deleted, try again") from error


def lock(session_ids: Collection[UUID]) -> list[Session]:
    """The sessions, locked in the order of their ids.

    Raises ``CannotErase`` while an agent is at a turn of one, and where one is on hold.
    """
    shared_responses.lock_out(session_ids)
    found = Session.objects.select_for_update(of=("self",)).select_related("agent").defer("source_record")
    sessions = list(found.filter(pk__in=session_ids).order_by("pk"))
    busy = TurnInFlight.objects.filter(session__in=sessions).select_related("session").order_by("session_id").first()
    if busy or any(session.status == Session.Status.RUNNING for session in sessions):
        named = busy.session if busy else next(each for each in sessions if each.status == Session.Status.RUNNING)
        raise CannotErase(f'its agent is at a turn of "{named}": interrupt it first, then delete')
    _refuse_held(sessions)
    return sessions


def _refuse_held(sessions: list[Session]) -> None:
    held = policies.held_of([session.pk for session in sessions])
    if held:
        named = next(session for session in sessions if session.pk == held)
        raise CannotErase(f'"{named}" is on hold (immutable): nothing was deleted; an admin has to lift the hold first')


def cancel_questions(session: Session, by: audit.Actor) -> None:
    """Withdraw what the session still asks: the audit log says so, and nobody is asked about what is gone."""
    endings.cancel_all(session.pk, reason="the session was deleted", by=by)


def log_of(session_id: UUID) -> Log:
    """How much there is to erase of a session that is locked."""
    last_seq, events = Session.objects.values_list("last_seq", Count("events")).get(pk=session_id)
    last = EventLink.objects.filter(session_id=session_id).order_by("-last_seq").values_list("hash", flat=True).first()
    counts = {
        "events": events,
        "turns": Turn.objects.filter(session_id=session_id, index__gt=0).count(),
        "tool_calls": ToolCall.objects.filter(session_id=session_id).count(),
        "approvals": Approval.objects.filter(session_id=session_id).count(),
        "votes": Vote.objects.filter(approval__session_id=session_id).count(),
    }
    return Log(counts, last_seq, bytes(last).hex() if last else "")


def erase(session: Session, tombstone: Tombstone, *, leave_events: bool = False) -> None:
    """Delete a locked session, for which ``tombstone`` was written in this transaction.

    Responses that it shares with others are counted in these from now on. Usage of its turns and calls stays. Who has
    its events left where they are drops the part of the table that they lie in: ``vcon_app.services.erasure.months``.
    """
    projections.release_responses(session.pk)
    _empty_what_began_it(session)
    _forget_answers(session)
    with connection.cursor() as cursor:
        if leave_events:
            cursor.execute("SELECT set_config('countersign.leave_events', 'on', true)")
        cursor.execute("SELECT countersign_erase_session(%s, %s)", [session.pk, tombstone.pk])
        if leave_events:
            cursor.execute("SELECT set_config('countersign.leave_events', 'off', true)")
    notify.session_changed(session.pk, session.last_seq)


def _empty_what_began_it(session: Session) -> None:
    """Posts that began the session hold its first words: the deliveries stay, as after retention, without content."""
    runs = TriggerRun.objects.filter(session=session, delivery__isnull=False)
    retention.empty_content(list(WebhookDelivery.objects.filter(runs__in=runs).values_list("pk", flat=True)))


def _forget_answers(session: Session) -> None:
    """An answer that is kept for a repeated POST may hold its title or its words."""
    kept = IdempotentAnswer.objects.filter(workspace_id=session.workspace_id)
    told = kept.annotate(told=Cast("answer", CharField())).filter(told__contains=str(session.pk))
    told.delete()
