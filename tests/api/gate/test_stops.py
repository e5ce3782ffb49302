"""Stops over the API: made by reviewers, seen by all, lifted by admins and who made them."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from sessions_app.models import Role, Stop
from sessions_app.services.stops import carrying_out
from tests.services.build import at_once

from ..client import ok, pointers, refused

pytestmark = pytest.mark.django_db
WHY = "it refunds the wrong people"
KEY = {"Idempotency-Key": "press-1"}


def asked(api, agent, **more):
    return ok(api.post("approvals", {"agent": agent, "tool": {"name": "refund", "arguments": {}}} | more), 201)


def test_a_stop_denies_what_waits_and_what_is_asked(api, workspace, key_for, agent):
    key = key_for(workspace, Role.AGENT)
    waiting = asked(key, agent.name)
    made = ok(api.post("stops", {"agent": agent.name, "reason": WHY, "for_seconds": 3600}), 201)
    assert (made["agent"]["name"], made["reason"], made["made_by"], made["in_force"]) == (
        "Refund agent", WHY, "reviewer key", True,
    )  # fmt: skip
    assert made["sessions"] == [
        {"session_id": waiting["session_id"], "denied": 1, "turn_interrupted": False, "executing": None}
    ]
    decision = ok(key.get(f"approvals/{waiting['id']}"))
    assert (decision["status"], decision["decision"]["by_kind"]) == ("denied", "stop")
    denied = asked(key, agent.name)
    assert (denied["status"], denied["decision"]["by_kind"]) == ("auto_denied", "stop")
    assert WHY in denied["decision"]["reason"]


def test_approving_after_the_stop_is_409_and_names_it(api, admin, workspace, key_for, agent):
    waiting = asked(key_for(workspace, Role.AGENT), agent.name)
    ok(api.post("stops", {"reason": WHY}), 201)
    body = {"verdict": "approve", "version": waiting["version"], "digest": waiting["digest"]}
    problem = refused(admin.post(f"approvals/{waiting['id']}/decision", body), 409)
    assert (problem["winner"]["by"], problem["winner"]["by_kind"]) == ("stop by reviewer key", "stop")


def test_sessions_and_messages_are_refused_with_the_reason(api, scripted_agent):
    path = f"/dashboard/agents/{scripted_agent.pk}/sessions"
    opened = ok(api.post(path, {"title": "Before"}), 201)
    stop = ok(api.post("stops", {"agent": str(scripted_agent.pk), "reason": WHY}), 201)
    for where, body in ((path, {"message": "Go"}), (path, {}), (f"{path}/{opened['id']}/messages", {"text": "Go"})):
        problem = refused(api.post(where, body), 409)
        assert "Parrot is stopped by reviewer key, until somebody lifts it: it refunds" in problem["detail"]
    ok(api.post(f"stops/{stop['id']}/lift", {"reason": "mended"}))
    ok(api.post(path, {"message": "Go"}), 201)


def test_an_agent_says_what_stops_it(api, agent, scripted_agent):
    assert ok(api.get(f"agents/{agent.pk}"))["stopped"] is None
    until = timezone.now() + timedelta(hours=2)
    made = ok(api.post("stops", {"agent": agent.slug, "reason": WHY, "until": until.isoformat()}), 201)
    stopped = ok(api.get(f"agents/{agent.pk}"))["stopped"]
    assert stopped == {name: made[name] for name in ("id", "reason", "made_by", "until")}
    assert datetime.fromisoformat(stopped["until"]) == until
    listed = {row["name"]: row["stopped"] for row in api.all("agents")}
    assert listed == {"Refund agent": stopped, "Parrot": None}
    ok(api.post("stops", {"reason": "everybody"}), 201)
    assert {row["stopped"]["reason"] for row in api.all("agents")} == {"everybody"}


def test_agents_and_viewers_neither_stop_nor_lift(api, viewer, workspace, key_for, agent):
    key = key_for(workspace, Role.AGENT)
    for who in (key, viewer):
        refused(who.post("stops", {"reason": WHY}), 403)
    made = ok(api.post("stops", {"agent": agent.name, "reason": WHY}), 201)
    for who in (key, viewer, key_for(workspace, Role.REVIEWER, "another")):
        refused(who.post(f"stops/{made['id']}/lift"), 403)
    assert [row["in_force"] for row in viewer.all("stops")] == [True]
    refused(key.get("stops"), 403)


def test_an_admin_lifts_what_another_made_and_once(api, admin, agent):
    made = ok(api.post("stops", {"agent": agent.name, "reason": WHY}), 201)
    lifted = ok(admin.post(f"stops/{made['id']}/lift", {"reason": "mended"}))
    assert (lifted["in_force"], lifted["lifted_by"], lifted["lift_reason"]) == (False, "admin key", "mended")
    assert "was lifted by admin key" in refused(admin.post(f"stops/{made['id']}/lift"), 409)["detail"]
    assert api.all("stops", {"in_force": "true"}) == []
    assert [row["id"] for row in api.all("stops", {"in_force": "false"})] == [made["id"]]


def test_another_workspace_is_untouched_and_sees_nothing(api, stranger, agent):
    made = ok(api.post("stops", {"reason": WHY}), 201)
    refused(stranger.get(f"stops/{made['id']}"), 404)
    refused(stranger.post(f"stops/{made['id']}/lift"), 404)
    assert stranger.all("stops") == []
    assert asked(stranger, "Refund agent")["status"] == "pending"
    assert pointers(refused(stranger.post("stops", {"agent": str(agent.pk), "reason": "x"}), 422)) == {"/agent"}


@pytest.mark.parametrize(("body", "pointer"), [
    ({}, "/reason"), ({"reason": " "}, "/reason"), ({"reason": "x", "agent": "nobody"}, "/agent"),
    ({"reason": "x", "for_seconds": 0}, "/for_seconds"), ({"reason": "x", "until": "2020-01-01"}, "/until"),
    ({"reason": "x", "until": "soon"}, "/until"), ({"reason": "x", "agents": "all"}, "/agents"),
    ({"reason": "x", "until": "2027-01-01", "for_seconds": 5}, ""),
])  # fmt: skip
def test_a_body_that_is_wrong_stops_nobody_and_says_what_is_wrong(api, body, pointer):
    assert pointers(refused(api.post("stops", body), 422)) == {pointer}
    assert not Stop.objects.exists()


def test_the_same_press_twice_is_one_stop(api):
    answers = [ok(api.post("stops", {"reason": WHY}, **{"Idempotency-Key": "k1"}), 201) for _ in range(2)]
    assert answers[0]["id"] == answers[1]["id"] and Stop.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_stop_with_a_key_is_committed_before_anything_is_ended(api, agent, workspace, key_for, monkeypatch):
    """In one transaction with its answer it undid itself where a session was busy for two seconds."""
    asked(key_for(workspace, Role.AGENT), agent.name)
    carry_out, seen = carrying_out.carry_out, []

    def looked(stop, **how):
        seen.append((connection.in_atomic_block, *at_once(lambda: Stop.objects.filter(pk=stop.pk).exists())))
        return carry_out(stop, **how)

    monkeypatch.setattr(carrying_out, "carry_out", looked)
    made = ok(api.post("stops", {"reason": WHY}, **KEY), 201)
    assert seen == [(False, True)] and made["sessions"][0]["denied"] == 1
    assert ok(api.post("stops", {"reason": WHY}, **KEY), 201) == made and len(seen) == 1


@pytest.mark.django_db(transaction=True)
def test_the_same_press_many_times_at_once_is_one_stop(api):
    answers = at_once(*[lambda: api.post("stops", {"reason": WHY}, **KEY)] * 4)
    assert len({ok(answer, 201)["id"] for answer in answers}) == 1
    assert Stop.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_stop_whose_answer_was_lost_is_the_same_stop_when_it_is_sent_again(api, monkeypatch):
    def lost(stop, **how):
        raise OperationalError("the connection is gone")

    with monkeypatch.context() as patch:
        patch.setattr(carrying_out, "carry_out", lost)
        refused(api.post("stops", {"reason": WHY}, **KEY), 503)
    made = ok(api.post("stops", {"reason": WHY}, **KEY), 201)
    assert made["in_force"] and Stop.objects.count() == 1
    refused(api.post("stops", {"reason": "another"}, **KEY), 409)


def test_a_stop_that_was_refused_may_be_sent_otherwise_with_its_key(api):
    refused(api.post("stops", {"reason": WHY, "agent": "Nobody"}, **KEY), 422)
    ok(api.post("stops", {"reason": WHY}, **KEY), 201)
