"""What turns used is written while others write to the same turns: nothing of either is lost."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Thread
from time import monotonic, sleep

import pytest
from django.db import connection, transaction

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Session, Turn, TurnUsage
from sessions_app.services.log import events, links, turn_usage

pytestmark = pytest.mark.django_db(transaction=True)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CALL = EventDraft("tool_call", "late", tool=ToolDraft("late", "bash"), request="r", at=NOON)


def session_of(agent) -> Session:
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    log = [
        EventDraft("user_message", "one", text="Words", at=NOON),
        EventDraft("agent_message", "answer", text="Words", request="r", usage=Usage(8, 0, 0, 4), at=NOON),
        EventDraft("user_message", "two", text="More words", at=NOON),
    ]
    events.append(session.pk, log, origin=links.RUNTIME)
    return session


def book(session: Session, turn: int) -> None:
    """How long a turn took; a trigger writes it beside what the turn used."""
    of = {"workspace_id": session.workspace_id, "session": session, "agent_id": session.agent_id}
    TurnUsage.objects.create(**of, turn=turn, runtime_ms=700, at=NOON)


def append_call(session: Session) -> None:
    """A call of the second turn that the response of the first one asked for: the first is written, too."""
    events.append(session.pk, [CALL], origin=links.RUNTIME)


@transaction.atomic
def write_all(session: Session) -> None:
    Session.objects.select_for_update(no_key=True).get(pk=session.pk)
    turn_usage.write_all(session.pk)


def until_somebody_waits() -> None:
    patience = monotonic() + 30
    with connection.cursor() as cursor:
        while monotonic() < patience:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone()[0]:
                return
            sleep(0.02)
    raise AssertionError("nobody waits")


def in_a_thread(work, session: Session) -> Thread:
    def run() -> None:
        try:
            work(session)
        finally:
            connection.close()

    thread = Thread(target=run)
    thread.start()
    return thread


@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.parametrize("work", [append_call, write_all])
def test_a_turn_that_is_booked_meanwhile_keeps_its_time_and_what_it_used(agent, work, turn):
    session, alone = session_of(agent), session_of(agent)
    Turn.objects.update(shares=[])  # as of a session that was not counted yet
    work(alone)
    book(alone, turn)
    with transaction.atomic():
        book(session, turn)
        writing = in_a_thread(work, session)
        until_somebody_waits()
    writing.join(30)
    assert not writing.is_alive()
    told = ("index", "here", "runtime_ms", "shares", "bought")
    assert list(Turn.objects.filter(session=session).order_by("index").values(*told)) == list(
        Turn.objects.filter(session=alone).order_by("index").values(*told)
    )
