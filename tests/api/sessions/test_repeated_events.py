"""An event that is sent again is left out; another one under its ``client_id`` is a conflict, and nothing is added."""

from __future__ import annotations

import pytest

from sessions_app.models import Event

from ..client import ok, refused

CALL = {
    "client_id": "e1", "kind": "tool_call", "at": "2026-01-02T03:04:05.678901Z", "text": "look \0 it up",
    "actor": {"kind": "agent", "name": "Clerk"}, "model": "m-1", "cost": "0.00000000015",
    "tool": {"call_id": "c1", "name": "read", "server": "fs", "arguments": {"n": 1e16, "big": 2**70, "x": [None, 0.1]},
             "status": "ok", "result": {"text": "é\0"}},
    "usage": {"input_tokens": 1, "output_tokens": 2, "reasoning_tokens": 1}, "data": {"k": {"z": 1, "a": -0.0}},
}  # fmt: skip
"""With what PostgreSQL writes in another way than it was sent."""


def post(api, session, *events):
    return api.post(f"sessions/{session.id}/events", {"events": list(events)})


def test_the_same_event_again_is_a_duplicate(api, session):
    first = ok(post(api, session, CALL, {"client_id": "e2", "kind": "note", "parent_client_id": "e1"}))
    assert (first["accepted"], first["duplicates"]) == (2, 0)
    child = {"client_id": "e2", "kind": "note", "parent_client_id": "e1"}
    again = ok(post(api, session, CALL, child, {"client_id": "e3", "kind": "note"}))
    assert (again["accepted"], again["duplicates"], again["first_seq"]) == (1, 2, 3)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"kind": "tool_result"}, "kind"),
        ({"text": "look it down"}, "text"),
        ({"actor": {"kind": "person", "name": "Clerk"}}, "actor"),
        ({"at": "2026-01-02T03:04:05.678902Z"}, "at"),
        ({"model": "m-2"}, "model"),
        ({"cost": "0.5"}, "cost"),
        ({"data": {"k": {"z": 2, "a": 0}}}, "data"),
        ({"usage": {"input_tokens": 1, "output_tokens": 3, "reasoning_tokens": 1}}, "usage"),
        ({"tool": CALL["tool"] | {"arguments": {"n": 1}}}, "tool.arguments"),
        ({"tool": CALL["tool"] | {"result": None}}, "tool.result"),
        ({"tool": CALL["tool"] | {"name": "write"}}, "tool.name"),
        ({"tool": CALL["tool"] | {"server": None}}, "tool.server"),
        ({"tool": CALL["tool"] | {"status": "error"}}, "tool.status"),
        ({"tool": CALL["tool"] | {"call_id": "c2"}}, "tool.call_id"),
    ],
)
def test_other_content_under_a_known_id_is_refused_whole(api, session, change, name):
    ok(post(api, session, CALL))
    problem = refused(post(api, session, {"client_id": "new", "kind": "note"}, CALL | change), 409)
    assert 'client_id "e1"' in problem["detail"] and name in problem["detail"]
    assert Event.objects.filter(session=session).count() == 1


def test_another_parent_is_other_content(api, session):
    two = {"client_id": "a", "kind": "note"}, {"client_id": "b", "kind": "note"}
    ok(post(api, session, *two, {"client_id": "c", "kind": "note", "parent_client_id": "a"}))
    again = {"client_id": "c", "kind": "note", "parent_client_id": "b"}
    assert "parent_client_id" in refused(post(api, session, again), 409)["detail"]


def test_two_events_of_one_batch_under_one_id_are_refused_unless_they_are_the_same(api, session):
    note = {"client_id": "n", "kind": "note", "text": "a"}
    refused(post(api, session, note, note | {"text": "b"}), 409)
    assert not Event.objects.exists()
    assert ok(post(api, session, note, note))["duplicates"] == 1


def test_a_repeat_without_a_time_is_the_same_event_later(api, session):
    note = {"client_id": "n", "kind": "note", "text": "a"}
    ok(post(api, session, note))
    assert ok(post(api, session, note))["duplicates"] == 1
