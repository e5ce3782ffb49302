"""A session goes on as a new one, over the API."""

from __future__ import annotations

from uuid import uuid4

import pytest

from sessions_app.models import Event, Session
from sessions_app.services import agents, audit
from tests.views.session.build import asked, said, session_with

from ..client import ok, pointers, refused


@pytest.fixture
def source_session(agent) -> Session:
    return session_with(agent, [asked("p1", "Refund order 4711"), said("m1", "It is lost"), asked("p2", "And now?")])


def test_both_sessions_point_at_each_other(api, source_session, scripted_agent):
    made = ok(api.post(f"sessions/{source_session.pk}/continue", {"agent_id": str(scripted_agent.pk)}), 201)
    assert (made["continues"], made["continues_seq"], made["status"]) == (str(source_session.pk), 3, "idle")
    assert (made["agent"]["name"], made["origin"]) == ("Parrot", "api")
    assert ok(api.get(f"sessions/{source_session.pk}"))["continued_by"] == [made["id"]]


def test_a_fork_knows_nothing_of_later_turns(api, source_session, scripted_agent):
    body = {"agent_id": str(scripted_agent.pk), "after_turn": 1, "message": "Go on"}
    made = ok(api.post(f"sessions/{source_session.pk}/continue", body), 201)
    assert (made["continues_seq"], made["status"]) == (2, "running")
    given, message = Event.objects.filter(session=made["id"]).order_by("seq")
    assert (given.seq, given.kind, given.turn) == (1, "injected_context", 0)
    assert "It is lost" in given.text and "And now?" not in given.text
    assert (message.kind, message.text) == ("user_message", "Go on")


def test_a_session_is_handed_over_and_archived(api, source_session, scripted_agent):
    made = ok(
        api.post(f"sessions/{source_session.pk}/continue", {"agent_id": str(scripted_agent.pk), "handoff": True}), 201
    )
    old = ok(api.get(f"sessions/{source_session.pk}"))
    assert (old["status"], old["continued_by"]) == ("archived", [made["id"]])
    assert Event.objects.get(session=source_session, kind="handoff").data == {"to": "Parrot"}
    refused(
        api.post(f"sessions/{source_session.pk}/continue", {"agent_id": str(scripted_agent.pk), "handoff": True}), 409
    )
    assert (
        ok(api.post(f"sessions/{source_session.pk}/continue", {"agent_id": str(scripted_agent.pk)}), 201)["continues"]
        == old["id"]
    )


def test_impossible_continuation_is_refused_with_the_reason(
    api, stranger, viewer, source_session, scripted_agent, agent
):
    path = f"sessions/{source_session.pk}/continue"
    assert pointers(refused(api.post(path, {"agent_id": str(uuid4())}), 422)) == {"/agent_id"}
    assert pointers(refused(api.post(path, {"agent_id": str(scripted_agent.pk), "after_turn": 7}), 422)) == {
        "/after_turn"
    }
    assert "runs elsewhere" in refused(api.post(path, {"agent_id": str(agent.pk)}), 409)["detail"]
    refused(stranger.post(path, {"agent_id": str(scripted_agent.pk)}), 404)
    refused(viewer.post(path, {"agent_id": str(scripted_agent.pk)}), 403)
    agents.change(scripted_agent, {"status": "paused"}, by=audit.SYSTEM)
    refused(api.post(path, {"agent_id": str(scripted_agent.pk)}), 409)
    assert Session.objects.count() == 1


def test_the_same_request_twice_makes_one_session(api, source_session, scripted_agent):
    body = {"agent_id": str(scripted_agent.pk)}
    first, again = (
        api.post(f"sessions/{source_session.pk}/continue", body, **{"Idempotency-Key": "k"}) for _ in range(2)
    )
    assert ok(first, 201)["id"] == ok(again, 201)["id"]
