"""A session that was read from a signed file over the API: what its signature covers, and that it takes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Event, Session

from ...signing.make import START, VCON, recorder, signed
from ..client import ok, refused

QUESTION = {"tool": {"name": "wind", "arguments": {}}}


def by_us():
    return recorder(dates=(START, timezone.now() + timedelta(days=3650)))


@pytest.fixture
def sealed(import_document) -> Session:
    import_document(signed(VCON, by_us()))
    return Session.objects.get(origin="import")


def test_session_and_import_say_which_events_the_signature_covers(api, sealed):
    covers = {"first_seq": 1, "last_seq": 2}
    assert ok(api.get(f"sessions/{sealed.id}"))["signature"]["covers"] == covers
    (imported,) = ok(api.get("imports"))["items"]
    assert imported["signature"]["covers"] == covers
    assert ok(api.get(f"sessions?q=&agent={sealed.agent_id}"))["items"][0]["signature"]["covers"] == covers


def test_what_is_not_signed_covers_nothing(api, import_document):
    import_document(VCON)
    session = Session.objects.get(origin="import")
    assert ok(api.get(f"sessions/{session.id}"))["signature"]["covers"] is None
    assert ok(api.get("imports"))["items"][0]["signature"]["covers"] is None


def test_an_approval_is_not_asked_in_a_session_of_a_signed_file(api, sealed):
    problem = refused(api.post("approvals", {"session_id": str(sealed.id), **QUESTION}), 409)
    assert "signed file" in problem["detail"] and "new session" in problem["detail"]
    assert not Approval.objects.exists()
    assert Event.objects.filter(session=sealed).count() == 2


def test_an_approval_is_asked_in_a_session_of_an_unsigned_file(api, import_document):
    """A hook asks for an agent whose transcript is read here while it runs."""
    import_document(VCON)
    session = Session.objects.get(origin="import")
    asked = ok(api.post("approvals", {"session_id": str(session.id), **QUESTION}), 201)
    event = Event.objects.get(session=session, seq=asked["event_seq"])
    assert event.kind == "approval"
