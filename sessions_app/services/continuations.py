"""Continuations of a session as a new one of an agent here: from its end, from a turn (a fork), or handed over."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.ids import uuid7
from sessions_app.models import Agent, QueuedMessage, Session, Turn
from sessions_app.queries.sessions import handover_transcript

from . import audit, sessions
from .log import events, links
from .money import budgets
from .turns import in_flight, messages

CONTINUED, HANDED_OVER = " (continued)", " (handed over)"


class CannotContinue(ValueError):
    """The session cannot go on like this; the message says why and what can be done instead."""


class NoSuchTurn(ValueError):
    """The session has no turn of this number."""


def context_for(session: Session) -> str:
    """Transcript of the session that this one continues, as context for its agent; empty when it continues none."""
    if session.continues is None:
        return ""
    return handover_transcript.transcript_for_successor(session.continues, session.continues_seq or 0)


@transaction.atomic
def continue_session(
    source: Session, agent: Agent, *, by: audit.Actor, origin: str, after_turn: int | None = None, message: str = "",
    handoff: bool = False,
) -> Session:  # fmt: skip
    """A new session of ``agent`` that knows ``source`` up to the end of a turn, or all of it.

    What it knows stands as ``injected_context`` at seq 1 of its log. ``message`` begins its first turn. With
    ``handoff`` the agent of ``source`` stops, the messages that waited for it go along, and ``source`` is archived:
    two agents at one task would act twice. Raises ``CannotContinue``, ``NoSuchTurn``, and like ``messages.submit``.
    """
    _check(source, agent, after_turn, handoff=handoff)
    if handoff:
        _stop(source, agent, by)
    through = _end_of(source, after_turn)
    session = sessions.create(
        agent, by=by, origin=origin, title=_title(source, handoff=handoff), user_id=source.user_id
    )
    session.continues, session.continues_seq = source, through
    session.save(update_fields=["continues", "continues_seq"])
    events.append(session.pk, [_context(session)], origin=links.desk_for(by))
    audit.record(
        source.workspace_id, by, "session.handed_over" if handoff else "session.continued",
        subject=("session", source.pk), into=str(session.pk), agent=agent.name, through_seq=through,
    )  # fmt: skip
    if handoff:
        _close(source, session, agent, by)
    if message:
        messages.submit(session.pk, message, by=by)
    elif handoff:
        _go_on(session)
    session.refresh_from_db()
    return session


def _check(source: Session, agent: Agent, after_turn: int | None, *, handoff: bool) -> None:
    if not messages.runs_here(agent):
        raise CannotContinue(f"{agent.name} runs elsewhere; choose an agent that runs here")
    if agent.status != Agent.Status.ACTIVE:
        raise messages.NotActive(f"{agent.name} is {agent.status}: it begins no sessions until somebody resumes it")
    if handoff and source.status == Session.Status.ARCHIVED:
        raise CannotContinue("this session is archived: there is nothing to hand over; continue it instead")
    if handoff and source.origin == Session.Origin.IMPORT:
        raise CannotContinue("this session was imported: its agent is not at work here; continue it instead")
    if handoff and after_turn is not None:
        raise CannotContinue("a session is handed over as it stands; to go back to a turn, continue it from there")


def _end_of(source: Session, after_turn: int | None) -> int:
    """The last seq that the new session knows. Raises ``NoSuchTurn``."""
    if after_turn is None:
        return Session.objects.values_list("last_seq", flat=True).get(pk=source.pk)
    last = Turn.objects.filter(session=source, index=after_turn).values_list("last_seq", flat=True).first()
    if last is None:
        raise NoSuchTurn(f"this session has no turn {after_turn}; its turns are 0 to {source.last_turn}")
    return last


def _context(session: Session) -> EventDraft:
    known = {"session": str(session.continues_id), "through_seq": session.continues_seq}
    return EventDraft(
        "injected_context", handover_transcript.CONTINUED, at=timezone.now(), actor_kind="system",
        actor_name="Countersign", text=context_for(session),
        data={"type": "continued from another session"} | known,
    )  # fmt: skip


def _stop(source: Session, agent: Agent, by: audit.Actor) -> None:
    """The turn in flight ends, and what it asks is withdrawn: the other agent asks for itself."""
    if source.status == Session.Status.RUNNING:
        messages.interrupt(source.pk, by=by)
    note = EventDraft(
        "handoff", f"handoff:{uuid7()}", at=timezone.now(), actor_kind="person", actor_name=by.name,
        text=f"{by.name} hands this session over to {agent.name}", data={"to": agent.name},
    )  # fmt: skip
    sessions.append_to_open(source.pk, [note], origin=links.desk_for(by))


def _close(source: Session, session: Session, agent: Agent, by: audit.Actor) -> None:
    QueuedMessage.objects.filter(session=source).update(session=session)
    sessions.archive(source, by=by)


def _go_on(session: Session) -> None:
    """Messages that came along begin the first turn, when there is money for it; else they wait in sight."""
    try:
        messages.send_waiting(session.pk)
    except budgets.Spent as spent:
        held_back = in_flight.status_event("Countersign", "held_back", str(spent))
        events.append(session.pk, [held_back], origin=links.DESK)


def _title(source: Session, *, handoff: bool) -> str:
    """That of the source, and what this one is of it; said once, however often it goes on."""
    title = str(source).removesuffix(CONTINUED).removesuffix(HANDED_OVER)
    return f"{title[:450]}{HANDED_OVER if handoff else CONTINUED}"
