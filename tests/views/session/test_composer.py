"""The foot of a session says what a message would do, shows what waits, and every button works without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from sessions_app.drafts import EventDraft
from sessions_app.models import Budget, Event, QueuedMessage, Session, TurnInFlight
from sessions_app.services import agents, audit, sessions
from sessions_app.services import fair_queue as tasks_in_line
from sessions_app.services import sessions as session_services
from sessions_app.services.approvals import requests
from sessions_app.services.log import links
from sessions_app.services.log.events import append
from sessions_app.services.turns import in_flight, messages
from tests.views.build import words
from tests.views.test_query_counts import queries

from .build import BOT, path_of, said, session_with

ADA = audit.Actor("member", "a", "Ada")
HTMX = {"HX-Request": "true"}


@pytest.fixture
def scripted_session(scripted_agent) -> Session:
    return session_services.create(scripted_agent, by=ADA, origin="chat", title="Order 4711")


def say(session: Session, text: str) -> None:
    session.refresh_from_db()
    messages.submit(session.pk, text, by=ADA)
    session.refresh_from_db()


def over(session: Session, *last: EventDraft) -> Session:
    """The turn in flight ends like this."""
    in_flight.finish(in_flight.claim(session.pk), 10, list(last))
    session.refresh_from_db()
    return session


def foot(client: Client, session: Session) -> str:
    return words(client.get(f"{path_of(session)}/standing", headers=HTMX))


def buttons(client: Client, session: Session) -> str:
    """Where the buttons of the foot lead."""
    page = client.get(path_of(session)).content.decode()
    return " ".join(part.split('"')[0].rpartition("/")[2] for part in page.split('formaction="')[1:])


def test_an_idle_session_sends_at_once(reviewer, scripted_session):
    assert "Idle Your message is sent at once" in foot(reviewer, scripted_session)
    response = reviewer.post(f"{path_of(scripted_session)}/message", {"text": " Hello "})
    assert response.headers["Location"] == path_of(scripted_session)
    assert Event.objects.get(session=scripted_session).text == "Hello"
    assert Session.objects.get(pk=scripted_session.pk).status == "running"


def test_a_turn_that_waits_for_a_worker_says_behind_how_many(reviewer, scripted_session, scripted_agent):
    others = [session_services.create(scripted_agent, by=ADA, origin="chat") for _ in range(2)]
    for session in (*others, scripted_session):
        say(session, "one")
    assert "Waits for a worker behind 2 others of the same sender." in foot(reviewer, scripted_session)
    assert "Waits for a worker" not in foot(reviewer, others[0]), "it is the next"
    assert tasks_in_line.take("countersign_people").row_id == others[0].pk
    assert "Waits for a worker behind 1 other of the same sender." in foot(reviewer, scripted_session)


def test_messages_wait_in_sight_behind_the_turn_and_are_taken_back(reviewer, scripted_session):
    say(scripted_session, "one")
    reviewer.post(f"{path_of(scripted_session)}/message", {"text": "Where is the parcel?"})
    assert "Running turn 1" in foot(reviewer, scripted_session)
    assert "next Where is the parcel? Rosa" in foot(reviewer, scripted_session)
    assert "Your message will be sent after this turn" in foot(reviewer, scripted_session)
    waiting = QueuedMessage.objects.get()
    taking = f"{path_of(scripted_session)}/queued/{waiting.pk}/take-back"
    assert taking in reviewer.get(path_of(scripted_session)).content.decode()
    assert reviewer.post(taking).headers["Location"] == path_of(scripted_session)
    assert not QueuedMessage.objects.exists()
    assert reviewer.post(taking).status_code == 302


def test_a_turn_is_interrupted_and_tried_again(reviewer, scripted_session):
    say(scripted_session, "one")
    assert buttons(reviewer, scripted_session) == "interrupt"
    reviewer.post(f"{path_of(scripted_session)}/interrupt")
    assert TurnInFlight.objects.get().interrupted_at
    assert "Stopping" in foot(reviewer, scripted_session)
    over(scripted_session, EventDraft("status", "i", text="interrupted", data={"status": "interrupted"}))
    assert "The last turn was interrupted" in foot(reviewer, scripted_session)
    assert buttons(reviewer, scripted_session) == "retry"
    reviewer.post(f"{path_of(scripted_session)}/retry")
    assert TurnInFlight.objects.get().turn == 1


def test_an_error_is_said_with_the_way_on(reviewer, scripted_session):
    say(scripted_session, "one")
    over(scripted_session, EventDraft("error", "e", text="the API is away"))
    assert "The last turn ended with an error" in foot(reviewer, scripted_session)
    assert buttons(reviewer, scripted_session) == "retry"
    say(scripted_session, "two")
    over(scripted_session, EventDraft("agent_message", "m", text="fine"))
    assert "Idle Your message" in foot(reviewer, scripted_session)
    assert buttons(reviewer, scripted_session) == ""


def test_a_session_that_waits_for_a_person_says_so_and_offers_to_interrupt(reviewer, scripted_session):
    say(scripted_session, "one")
    requests.request(scripted_session, requests.Question("refund", {"order": 4711}), by=BOT)
    assert "Needs approval" in foot(reviewer, scripted_session)
    page = reviewer.get(path_of(scripted_session)).content.decode()
    assert 'name="interrupt" value="1">Interrupt and send' in page
    reviewer.post(f"{path_of(scripted_session)}/message", {"text": "Stop", "interrupt": "1"})
    assert TurnInFlight.objects.get().interrupted_at
    assert scripted_session.approvals.get().status == "cancelled"
    assert QueuedMessage.objects.get().text == "Stop"


def test_a_retry_that_is_waited_for_says_when(reviewer, scripted_session):
    say(scripted_session, "one")
    TurnInFlight.objects.update(retry_at=timezone.now() + timedelta(minutes=3))
    page = reviewer.get(f"{path_of(scripted_session)}/standing", headers=HTMX).content.decode()
    assert "Next try" in page and "data-until=" in page


def test_held_back_message_can_be_sent(reviewer, scripted_session, workspace):
    say(scripted_session, "one")
    say(scripted_session, "two")
    budget = Budget.objects.create(workspace=workspace, agent=scripted_session.agent, amount=0)
    over(scripted_session, said("m", "fine"))
    assert scripted_session.status == "idle"
    assert "held back two" in foot(reviewer, scripted_session)
    assert "Budget exceeded the budget of Parrot is used up" in foot(reviewer, scripted_session)
    assert 'href="/usage/wallets/#budgets"' in reviewer.get(path_of(scripted_session)).content.decode()
    assert reviewer.post(f"{path_of(scripted_session)}/go-on").status_code == 409
    budget.delete()
    assert "Send queued messages" in foot(reviewer, scripted_session)
    say(scripted_session, "three")
    assert list(QueuedMessage.objects.values_list("text", flat=True)) == ["three"]
    assert Event.objects.filter(session=scripted_session, kind="user_message").last().text == "two"


def test_refused_message_without_money_stays_in_the_composer(reviewer, scripted_session, workspace):
    Budget.objects.create(workspace=workspace, session=scripted_session, amount=0)
    address = f"{path_of(scripted_session)}/message"
    alone = reviewer.post(address, {"text": "Hello there"})
    beside = reviewer.post(address, {"text": "Hello there"}, headers=HTMX)  # there the field keeps it
    assert (alone.status_code, beside.status_code) == (409, 409)
    assert "the budget of this session is used up" in words(alone) and "Hello there" in words(alone)
    assert words(beside).count("the budget of this session is used up") == 1
    assert 'id="composer"' not in beside.content.decode()
    assert not Event.objects.filter(session=scripted_session).exists()


def pause(session: Session) -> None:
    agents.change(session.agent, {"status": "paused"}, by=ADA)


def archive(session: Session) -> None:
    sessions.archive(session, by=ADA)


def imported(session: Session) -> None:
    Session.objects.filter(pk=session.pk).update(origin="import")


@pytest.mark.parametrize(
    ("become", "told"),
    [
        (pause, "Parrot is paused It begins no turns. Resume it"),
        (archive, "Archived It can be read and exported"),
        (imported, "Imported Read-only. Continue in a new session"),
    ],
)
def test_a_session_that_takes_no_messages_says_why_and_what_now(
    reviewer, scripted_session, become: Callable[[Session], None], told
):
    become(scripted_session)
    assert told in foot(reviewer, scripted_session)
    assert 'name="text"' not in reviewer.get(path_of(scripted_session)).content.decode()


def test_an_agent_elsewhere_reads_the_log(reviewer, agent):
    session = session_with(agent, [said("m", "hello")])
    assert "External A message goes into the log" in foot(reviewer, session)
    reviewer.post(f"{path_of(session)}/message", {"text": "Hi"})
    assert Event.objects.filter(session=session).last().text == "Hi"


def test_viewers_see_how_it_stands_and_change_nothing(viewer, charlie, scripted_session):
    say(scripted_session, "one")
    say(scripted_session, "two")
    assert "next two" in foot(viewer, scripted_session) and "Running" in foot(viewer, scripted_session)
    assert buttons(viewer, scripted_session) == ""
    paths: list[Any] = ["message", "interrupt", "retry", "go-on", f"queued/{QueuedMessage.objects.get().pk}/take-back"]
    for path in paths:
        assert viewer.post(f"{path_of(scripted_session)}/{path}", {"text": "x"}).status_code == 403
        assert charlie.post(f"{path_of(scripted_session)}/{path}", {"text": "x"}).status_code == 404
    assert charlie.get(f"{path_of(scripted_session)}/standing").status_code == 404


def test_the_page_costs_the_same_queries_however_much_waits(reviewer, scripted_session):
    say(scripted_session, "one")
    say(scripted_session, "two")
    before = queries(reviewer, path_of(scripted_session))
    for number in range(15):
        say(scripted_session, f"more {number}")
    assert queries(reviewer, path_of(scripted_session)) == before
    append(scripted_session.pk, [said(f"m{number}", "word") for number in range(20)], origin=links.RUNTIME)
    assert queries(reviewer, f"{path_of(scripted_session)}/standing") <= 12


def test_the_version_that_a_session_runs_under_is_linked(reviewer, scripted_session):
    agents.change(scripted_session.agent, {"model": "m-2"}, by=ADA)
    page = reviewer.get(path_of(scripted_session))
    assert "Agent v1 (latest v2)" in words(page)
    assert "/agents/parrot/versions/1/" in page.content.decode()
