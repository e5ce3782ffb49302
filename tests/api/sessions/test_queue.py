"""Messages that wait behind a turn, as a program sees them."""

from __future__ import annotations

import pytest

from sessions_app.models import Role
from sessions_app.runtimes import worker

from ..client import ok, refused

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def path(api, scripted_agent):
    """A session in whose first turn the agent is."""
    sessions = f"/dashboard/agents/{scripted_agent.pk}/sessions"
    return f"{sessions}/{ok(api.post(sessions, {'message': 'one'}), 201)['id']}"


def waiting(api, path) -> list[str]:
    return [row["text"] for row in ok(api.get(f"{path}/queue"))["items"]]


def test_queued_messages_are_listed_in_order_and_can_be_withdrawn(api, path, key_for, workspace):
    for text in ("two", "three"):
        ok(api.post(f"{path}/messages", {"text": text}), 202)
    ok(api.post(f"{path}/messages", {"text": "at once", "interrupt": True}), 202)
    assert waiting(api, path) == ["at once", "two", "three"]
    first, second, _ = ok(api.get(f"{path}/queue"))["items"]
    assert (first["interrupts"], second["interrupts"]) == (True, False)
    one = f"{path}/queue/{second['id']}"
    refused(key_for(workspace, Role.VIEWER).send("DELETE", one, ""), 403)
    assert api.send("DELETE", one, "").status_code == 204
    refused(api.send("DELETE", one, ""), 404)
    assert waiting(api, path) == ["at once", "three"]


def test_held_back_messages_are_sent_on_request(api, path, scripted_agent):
    refused(api.post(f"{path}/go-on"), 409)
    ok(api.post(f"{path}/messages", {"text": "two"}), 202)
    ok(api.patch(f"agents/{scripted_agent.pk}", {"status": "paused"}))
    session_id = path.rsplit("/", 1)[-1]
    worker.run(session_id)
    assert waiting(api, path) == ["two"]
    refused(api.post(f"{path}/go-on"), 409)
    ok(api.patch(f"agents/{scripted_agent.pk}", {"status": "active"}))
    assert ok(api.post(f"{path}/go-on"), 202)["status"] == "running"
    assert waiting(api, path) == []


def test_a_turn_is_tried_again(api, path):
    refused(api.post(f"{path}/retry"), 409)
    worker.run(path.rsplit("/", 1)[-1])
    assert ok(api.post(f"{path}/retry"), 202)["status"] == "running"
    log = ok(api.get(f"{path}/events"))["items"]
    assert log[-1]["data"]["status"] == "retry"


def test_a_session_says_how_many_messages_wait(api, scripted_agent):
    session = ok(api.post(f"/dashboard/agents/{scripted_agent.pk}/sessions", {"message": "one"}), 201)
    assert (session["status"], session["queued_messages"], session["agent_version"]) == ("running", 0, 1)
    path = f"/dashboard/agents/{scripted_agent.pk}/sessions/{session['id']}"
    assert ok(api.post(f"{path}/messages", {"text": "two"}), 202) == {"seq": None, "queued": True}
    assert ok(api.get(path))["queued_messages"] == 1
    assert [row["queued_messages"] for row in ok(api.get("sessions"))["items"]] == [1]
