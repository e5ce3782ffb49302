"""Messages that wait behind a turn, as a program sees them."""

from __future__ import annotations

from sessions_app.services import agents, audit

from .client import ok


def test_a_session_says_how_many_messages_wait(api, workspace):
    parrot = agents.create(workspace.id, "Parrot", by=audit.SYSTEM, runtime="scripted")
    session = ok(api.post(f"/dashboard/agents/{parrot.pk}/sessions", {"message": "one"}), 201)
    assert (session["status"], session["queued_messages"], session["agent_version"]) == ("running", 0, 1)
    path = f"/dashboard/agents/{parrot.pk}/sessions/{session['id']}"
    assert ok(api.post(f"{path}/messages", {"text": "two"}), 202) == {"seq": None, "queued": True}
    assert ok(api.get(path))["queued_messages"] == 1
    assert [row["queued_messages"] for row in ok(api.get("sessions"))["items"]] == [1]
