"""A session goes on as a new one, and the page says what its agent will know."""

from __future__ import annotations

import pytest

from sessions_app.models import Event, QueuedMessage, Session, TurnInFlight
from sessions_app.services import agents, audit
from sessions_app.services import sessions as session_services
from sessions_app.services.turns import messages
from tests.html import on_one_line
from tests.views.build import words

from .build import asked, path_of, said, session_with

ADA = audit.Actor("member", "a", "Ada")


@pytest.fixture
def source_session(agent) -> Session:
    session = session_with(agent, [asked("p1", "Refund it"), said("m1", "It is lost"), asked("p2", "And now?")])
    Session.objects.filter(pk=session.pk).update(origin="import", status="archived")
    session.refresh_from_db()
    return session


def test_every_turn_and_the_session_itself_lead_to_the_page(reviewer, viewer, source_session):
    page = reviewer.get(path_of(source_session)).content.decode()
    for address in ("/continue", "/continue?after_turn=1", "/continue?after_turn=2"):
        assert f'href="{path_of(source_session)}{address}"' in page
    assert "?handoff=1" not in page
    assert "/continue" not in viewer.get(path_of(source_session)).content.decode()


def test_an_archived_import_goes_on_from_its_end(reviewer, source_session, scripted_agent):
    page = words(reviewer.get(f"{path_of(source_session)}/continue"))
    assert "Parrot (scripted, version 1)" in page and "It is lost" in page and "And now?" in page
    response = reviewer.post(
        f"{path_of(source_session)}/continue", {"agent": str(scripted_agent.pk), "message": "Go on"}
    )
    made = Session.objects.get(agent=scripted_agent)
    assert response.headers["Location"] == path_of(made)
    assert (made.title, made.continues, made.origin) == ("Order 4711 (continued)", source_session, "chat")
    page = on_one_line(reviewer.get(path_of(made)))
    assert f'continues <a class="untrusted" href="{path_of(source_session)}?event=3#e-3"' in page
    assert "continued in Order 4711 (continued)" in words(reviewer.get(path_of(source_session)))


def test_a_fork_ends_with_its_turn(reviewer, source_session, scripted_agent):
    page = words(reviewer.get(f"{path_of(source_session)}/continue?after_turn=1"))
    assert "Fork from turn 1" in page and "It is lost" in page and "And now?" not in page
    reviewer.post(f"{path_of(source_session)}/continue", {"agent": str(scripted_agent.pk), "after_turn": "1"})
    made = Session.objects.get(agent=scripted_agent)
    assert (made.continues_seq, made.status) == (2, "idle")


def test_a_running_session_is_handed_over_with_what_waits(reviewer, workspace, scripted_agent):
    other = agents.create(workspace.id, "Cockatoo", by=ADA, runtime="scripted")
    session = session_services.create(scripted_agent, by=ADA, origin="chat")
    messages.submit(session.pk, "Refund it", by=ADA)
    session.refresh_from_db()
    messages.submit(session.pk, "And quickly", by=ADA)
    assert "Hand over: Parrot stops" in words(reviewer.get(f"{path_of(session)}/continue?handoff=1"))
    reviewer.post(f"{path_of(session)}/continue", {"agent": str(other.pk), "handoff": "1"})
    made = Session.objects.get(agent=other)
    session.refresh_from_db()
    assert (session.status, made.status) == ("archived", "running")
    assert made.title.endswith(" (handed over)")
    assert TurnInFlight.objects.get(session=session).interrupted_at
    assert list(Event.objects.filter(session=made).order_by("seq").values_list("kind", flat=True)) == [
        "injected_context",
        "user_message",
    ]
    assert Event.objects.get(session=made, kind="user_message").text == "And quickly"
    assert not QueuedMessage.objects.exists()
    assert "Rosa hands this session over to Cockatoo" in words(reviewer.get(path_of(session)))


def test_impossible_continuation_is_refused_and_keeps_the_input(
    reviewer, viewer, charlie, source_session, scripted_agent
):
    address = f"{path_of(source_session)}/continue"
    for body, told in (
        ({"agent": "nobody"}, "choose an agent"),
        ({"agent": str(scripted_agent.pk), "after_turn": "9"}, "no turn 9"),
        ({"agent": str(scripted_agent.pk), "handoff": "1"}, "archived"),
    ):
        response = reviewer.post(address, body | {"message": "Typed words"})
        assert response.status_code == 409
        assert told in words(response) and "Typed words" in words(response)
    assert viewer.post(address, {"agent": str(scripted_agent.pk)}).status_code == 403
    assert charlie.get(address).status_code == 404
    assert Session.objects.count() == 1


def test_without_an_agent_here_the_way_to_one_is_shown(reviewer, source_session):
    assert "No agent runs here yet" in words(reviewer.get(f"{path_of(source_session)}/continue"))
