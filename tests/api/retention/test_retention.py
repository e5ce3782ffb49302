"""Retention over the API: policies are said with the session, pruning is asked for, and a hold is kept."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from sessions_app.ids import first_id
from sessions_app.models import AuditEntry, Event, Role, Session
from sessions_app.services import audit
from sessions_app.services.retention import advised
from sessions_app.services.retention.advice import NO_ADVICE
from tests.services.build import append, result, user
from tests.services.build import call as tool_call

from ..client import ok, pointers, refused

POLICY = {"ttl_days": 30, "auto_prune": True, "prune_strategy": "sliding_window", "max_messages": 1000}
pytestmark = pytest.mark.django_db


def opened(api, external_id="1", **more):
    return ok(api.post("sessions", {"agent": "Clerk", "external_id": external_id} | more), 201)["id"]


def talk(api, id, count, start=0):
    kinds = ("user_message", "agent_message")
    events = [{"client_id": f"m{n}", "kind": kinds[n % 2], "text": f"message {n}"} for n in range(start, start + count)]
    ok(api.post(f"sessions/{id}/events", {"events": events}))


def in_sight(api, id):
    """Numbers of the events that are not out of sight."""
    found = ok(api.get(f"sessions/{id}/pruned"))
    gone = {seq for span in found["spans"] for seq in range(span["first_seq"], span["last_seq"] + 1)}
    return [seq for seq in range(1, found["last_seq"] + 1) if seq not in gone]


def test_a_policy_is_said_with_the_session_and_stays_as_it_was_said(api):
    id = opened(api, retention=POLICY)
    state = ok(api.get(f"sessions/{id}/retention"))
    assert {name: state[name] for name in POLICY} == POLICY and state["immutable"] is False
    assert state["set_by"] and state["expires_at"] and state["due"] is None and state["prunings"] == []
    ok(api.post("sessions", {"agent": "Clerk", "external_id": "1", "retention": {"ttl_days": 1}}))
    assert ok(api.get(f"sessions/{id}/retention"))["ttl_days"] == 30
    plain = ok(api.get(f"sessions/{opened(api, '2')}/retention"))
    assert plain["ttl_days"] is None and plain["set_by"] is None and plain["expires_at"] is None


@pytest.mark.parametrize(
    ("said", "pointer"),
    [
        ({"ttl_days": 0}, "/retention/ttl_days"),
        ({"ttl_days": -1}, "/retention/ttl_days"),
        ({"ttl_days": "30"}, "/retention/ttl_days"),
        ({"ttl_days": True}, "/retention/ttl_days"),
        ({"max_messages": 0}, "/retention/max_messages"),
        ({"max_messages": 1.5}, "/retention/max_messages"),
        ({"prune_strategy": "keep_last_0"}, "/retention/prune_strategy"),
        ({"prune_strategy": "keep_all"}, "/retention/prune_strategy"),
        ({"auto_prune": "yes"}, "/retention/auto_prune"),
        ({"keep": 3}, "/retention/keep"),
    ],
)
def test_what_is_no_policy_is_refused_by_its_name(api, said, pointer):
    problem = refused(api.post("sessions", {"agent": "Clerk", "external_id": "1", "retention": said}), 422)
    assert pointers(problem) == {pointer}
    assert not Session.objects.exists()


def test_a_client_lengthens_and_only_an_admin_shortens(api, admin):
    id = opened(api, retention={"ttl_days": 30, "immutable": True})
    held = refused(api.patch(f"sessions/{id}", {"retention": {"immutable": False}}), 403)
    assert "only an admin lifts the hold" in held["detail"]
    assert refused(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 60}}), 403)
    ok(admin.patch(f"sessions/{id}", {"retention": {"immutable": False}}))
    ok(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 60}}))
    refused(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 59}}), 403)
    ok(admin.patch(f"sessions/{id}", {"retention": {"ttl_days": None}}))
    ended = refused(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 1}}), 403)
    assert "without an end" in ended["detail"]
    entries = AuditEntry.objects.filter(subject_id=id).exclude(action="session.created").order_by("seq")
    actions = ["session.held", "session.hold_lifted", "session.retention_set", "session.retention_set"]
    assert [entry.action for entry in entries] == actions
    assert entries[2].details["before"]["ttl_days"] == 30 and entries[2].details["after"]["ttl_days"] == 60


def test_pruning_hides_and_deletes_nothing(api):
    id = opened(api)
    talk(api, id, 60)
    before = list(Event.objects.filter(session_id=id).values())
    dry = ok(api.post(f"sessions/{id}/prune", {"strategy": "keep_last_50", "dry_run": True}))
    assert (dry["pruned"], dry["kept"], dry["id"], dry["dry_run"]) == (10, 50, None, True)
    assert in_sight(api, id) == [*range(1, 61)]
    done = ok(api.post(f"sessions/{id}/prune", {"strategy": "keep_last_50"}))
    assert (done["pruned"], done["kept"], done["method"]) == (10, 50, "rules") and done["id"]
    assert done["spans"] == dry["spans"] == [{"first_seq": 1, "last_seq": 10, "messages": 10}]
    assert in_sight(api, id) == [*range(11, 61)]
    assert list(Event.objects.filter(session_id=id).values()) == before
    again = ok(api.post(f"sessions/{id}/prune", {"strategy": "keep_last_50"}))
    assert (again["pruned"], again["kept"], again["id"]) == (0, 50, None)
    ok(api.post(f"sessions/{id}/prune", {"strategy": "sliding_window", "window_size": 20}))
    assert ok(api.get(f"sessions/{id}/pruned"))["spans"] == [{"first_seq": 1, "last_seq": 40, "messages": 40}]
    state = ok(api.get(f"sessions/{id}/retention"))
    assert [one["rule"] for one in state["prunings"]] == ["sliding_window of 20", "keep_last_50"]
    assert state["messages_in_sight"] == 20
    entry = AuditEntry.objects.filter(action="session.pruned").latest("seq")
    assert entry.actor_kind == "api_key" and entry.details["rule"] == "sliding_window of 20"
    assert list(audit.broken_rows(entry.workspace_id)) == []


def test_summarize_old_says_what_it_left_out_and_who_said_it(api):
    id = opened(api)
    talk(api, id, 60)
    done = ok(api.post(f"sessions/{id}/prune", {"strategy": "summarize_old", "threshold": 50}))
    assert done["method"] == "rules" and "10 earlier messages" in done["summary"]
    assert "message 0" in done["summary"] and "message 10" not in done["summary"]
    shown = ok(api.get(f"sessions/{id}/pruned"))
    assert shown["summary"] == done["summary"] and shown["summary_seq"] == 10


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/strategy"),
        ({"strategy": "keep_last_"}, "/strategy"),
        ({"strategy": "keep_last_0"}, "/strategy"),
        ({"strategy": "forget"}, "/strategy"),
        ({"strategy": "sliding_window"}, "/window_size"),
        ({"strategy": "sliding_window", "window_size": 0}, "/window_size"),
        ({"strategy": "sliding_window", "window_size": "5"}, "/window_size"),
        ({"strategy": "sliding_window", "window_size": 5, "threshold": 5}, "/threshold"),
        ({"strategy": "summarize_old", "window_size": 5}, "/window_size"),
        ({"strategy": "keep_last_5", "window_size": 5}, "/window_size"),
        ({"strategy": "keep_last_5", "keep": 5}, "/keep"),
    ],
)
def test_what_is_no_strategy_is_refused_by_its_name(api, body, pointer):
    id = opened(api)
    problem = refused(api.post(f"sessions/{id}/prune", body), 422)
    assert pointers(problem) == {pointer}


def test_an_unknown_strategy_is_told_which_there_are(api):
    problem = refused(api.post(f"sessions/{opened(api)}/prune", {"strategy": "forget"}), 422)
    assert "keep_last_N" in problem["errors"][0]["detail"] and "summarize_old" in problem["errors"][0]["detail"]


def test_a_session_on_hold_is_neither_pruned_nor_deleted(api, admin):
    id = opened(api, retention={"immutable": True})
    talk(api, id, 20)
    for body in ({"strategy": "keep_last_5"}, {"strategy": "keep_last_5", "dry_run": True}):
        assert "on hold" in refused(api.post(f"sessions/{id}/prune", body), 409)["detail"]
    told = refused(admin.send("DELETE", f"sessions/{id}", json.dumps({"reason": "tidy"})), 409)
    assert "on hold (immutable): nothing was deleted" in told["detail"]
    assert Session.objects.filter(pk=id).exists()
    ok(admin.patch(f"sessions/{id}", {"retention": {"immutable": False}}))
    assert admin.send("DELETE", f"sessions/{id}", json.dumps({"reason": "tidy"})).status_code == 204


def test_nobody_else_sees_it(api, stranger, workspace, key_for):
    id = opened(api, retention=POLICY)
    robot = key_for(workspace, Role.AGENT, "robot")
    for other in (stranger, robot):
        refused(other.get(f"sessions/{id}/retention"), 404)
        refused(other.get(f"sessions/{id}/pruned"), 404)
        refused(other.post(f"sessions/{id}/prune", {"strategy": "keep_last_5"}), 404)
    refused(stranger.patch(f"sessions/{id}", {"retention": {"ttl_days": 1}}), 404)
    assert stranger.all("retention") == []
    assert [row["session_id"] for row in api.all("retention")] == [id]


def test_an_agent_prunes_its_own_session(workspace, key_for):
    robot = key_for(workspace, Role.AGENT, "robot")
    id = opened(robot, retention={"max_messages": 5})
    talk(robot, id, 8)
    assert ok(robot.post(f"sessions/{id}/prune", {"strategy": "keep_last_5"}))["pruned"] == 3
    assert AuditEntry.objects.get(action="session.pruned").actor_name == "robot"


def test_the_list_says_what_is_due(api, agent):
    session = Session.objects.get(pk=opened(api, retention={"max_messages": 5, "auto_prune": True}))
    append(session, *(user(f"{n}") for n in range(8)), tool_call("c"), result("c"))
    (row,) = api.all("retention")
    assert row["due"] == {"what": "prune", "rule": "sliding_window of 5", "messages": 3}
    ok(api.patch(f"sessions/{session.pk}", {"retention": {"auto_prune": False}}))
    assert api.all("retention")[0]["due"]["what"] == "expired"


def test_the_retention_of_a_workspace_is_an_admins(api, admin, stranger):
    assert ok(api.get("retention/workspace"))["max_messages"] is None
    assert refused(api.patch("retention/workspace", {"max_messages": 5}), 403)
    kept = ok(admin.patch("retention/workspace", {"max_messages": 5, "auto_prune": True}))
    assert (kept["max_messages"], kept["auto_prune"], kept["prune_strategy"]) == (5, True, None) and kept["set_at"]
    for said in ({"max_messages": 0}, {"immutable": True}, {"prune_strategy": "forget"}, {"keep": 1}):
        assert pointers(refused(admin.patch("retention/workspace", said), 422)) == {f"/{next(iter(said))}"}
    id = opened(api)
    talk(api, id, 8)
    state = ok(api.get(f"sessions/{id}/retention"))
    assert state["max_messages"] is None and state["in_force"]["max_messages"] == 5
    assert state["in_force"]["of"] == "workspace" and state["due"]["what"] == "prune"
    assert api.all("retention/due") == [
        {"session_id": id, "what": "prune", "rule": "sliding_window of 5", "messages": 3}
    ]
    assert stranger.all("retention/due") == [] and ok(stranger.get("retention/workspace"))["max_messages"] is None
    refused(api.get("retention/due?cursor=x"), 422)


def test_a_reviewer_shows_again_what_was_pruned(api, stranger, workspace, key_for):
    robot = key_for(workspace, Role.AGENT, "robot")
    id = opened(robot)
    talk(robot, id, 8)
    ok(robot.post(f"sessions/{id}/prune", {"strategy": "summarize_old", "threshold": 3}))
    refused(robot.post(f"sessions/{id}/show-pruned", {}), 403)
    refused(stranger.post(f"sessions/{id}/show-pruned", {}), 404)
    assert ok(api.post(f"sessions/{id}/show-pruned", {})) == {"messages": 5, "events": 5}
    assert ok(api.post(f"sessions/{id}/show-pruned", {})) == {"messages": 0, "events": 0}
    shown = ok(api.get(f"sessions/{id}/pruned"))
    assert shown["spans"] == [] and shown["summary"] is None
    (marker,) = ok(api.get(f"sessions/{id}/retention"))["prunings"]
    assert marker["shown_at"] and marker["shown_by"]
    ok(api.post(f"sessions/{id}/prune", {"strategy": "keep_last_6"}))
    assert ok(api.get(f"sessions/{id}/pruned"))["summary"] is None


def test_a_hold_has_a_reason_and_only_a_hold(api, admin):
    id = opened(api, retention={"immutable": True, "hold_reason": "Case 4711"})
    assert ok(api.get(f"sessions/{id}/retention"))["hold_reason"] == "Case 4711"
    ok(admin.patch(f"sessions/{id}", {"retention": {"immutable": False}}))
    assert ok(api.get(f"sessions/{id}/retention"))["hold_reason"] is None
    problem = refused(admin.patch(f"sessions/{id}", {"retention": {"hold_reason": "later"}}), 422)
    assert pointers(problem) == {"/retention/hold_reason"}
    held = AuditEntry.objects.filter(action="session.held").latest("seq")
    assert held.details["after"]["hold_reason"] == "Case 4711"


def test_a_workspace_says_how_long_it_keeps_its_sessions(api, workspace, key_for):
    id = opened(api)
    admin = key_for(workspace, Role.ADMIN)
    assert ok(api.get("retention/over"))["items"] == []
    assert ok(api.get("retention/over?days=1"))["items"] == []
    assert refused(api.patch("retention/workspace", {"keep_days": 30}), 403)
    kept = ok(admin.patch("retention/workspace", {"keep_days": 30}))
    assert kept["keep_days"] == 30 and kept["deletes_from"] and kept["ttl_days"] is None
    assert ok(admin.patch("retention/workspace", {"ttl_days": 5}))["keep_days"] == 30, "what is left out stays"
    then = timezone.now() - timedelta(days=40)
    agent = Session.objects.get(pk=id).agent
    old = Session.objects.create(id=first_id(then), workspace=workspace, agent=agent).pk
    Session.objects.filter(pk=old).update(created_at=then)
    [found] = ok(api.get("retention/over"))["items"]
    assert (found["session_id"], found["what"]) == (str(old), "goes")
    assert ok(api.get("retention/over?days=60"))["items"] == []
    for days in (0, -1, 36_501):
        assert refused(api.get(f"retention/over?days={days}"), 422)
        assert pointers(refused(admin.patch("retention/workspace", {"keep_days": days}), 422)) == {"/keep_days"}
    assert ok(admin.patch("retention/workspace", {"keep_days": None}))["deletes_from"] is None


@pytest.mark.django_db(transaction=True)
def test_a_model_is_asked_outside_of_a_transaction_with_a_key_too(api, monkeypatch):
    """It may take a minute, and is paid whatever becomes of the answer."""
    asked = []
    monkeypatch.setattr(advised.advice, "ask", lambda *plan: asked.append(connection.in_atomic_block) or NO_ADVICE)
    id = opened(api)
    talk(api, id, 20)
    prune = {"strategy": "summarize_old", "threshold": 5}
    done = ok(api.post(f"sessions/{id}/prune", prune, **{"Idempotency-Key": "1"}))
    assert done["pruned"] == 15 and asked == [False]
    assert ok(api.post(f"sessions/{id}/prune", prune, **{"Idempotency-Key": "1"})) == done and len(asked) == 1


def test_a_change_of_which_a_part_is_refused_changes_nothing(api):
    id = opened(api)
    before = AuditEntry.objects.count()
    for tags in (["x" * 61], [" "], [str(n) for n in range(101)]):
        refused(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 30}, "tags": tags}), 422)
    assert ok(api.get(f"sessions/{id}/retention"))["ttl_days"] is None
    assert AuditEntry.objects.count() == before
    changed = ok(api.patch(f"sessions/{id}", {"retention": {"ttl_days": 30}, "tags": ["vip"]}))
    assert changed["tags"] == ["vip"] and ok(api.get(f"sessions/{id}/retention"))["ttl_days"] == 30
