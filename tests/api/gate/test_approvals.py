"""An agent asks, a person decides, once; the agent waits for it."""

from __future__ import annotations

import asyncio
import time

import pytest
from django.test import AsyncClient
from django.utils import timezone

from sessions_app.models import Agent, Approval, AuditEntry, Role, Session
from sessions_app.services.approvals import endings
from tests.services.build import at_once

from ..client import ok, pointers, refused
from ..sessions.live import connections_open, elsewhere

FIELDS = {
    "id",
    "session_id",
    "event_seq",
    "tool",
    "digest",
    "status",
    "risk",
    "rule",
    "requested_at",
    "expires_at",
    "votes",
    "decision",
    "delivery",
    "execution",
    "version",
}
TOOL = {"name": "refund", "arguments": {"order": 4711, "amount": "40.00"}}


def ask(api, session, **more):
    return ok(api.post("approvals", {"session_id": str(session.id), "tool": TOOL, **more}), 201)


def decide(api, approval, verdict="approve", **more):
    body = {"verdict": verdict, "version": approval["version"], "digest": approval["digest"], **more}
    return api.post(f"approvals/{approval['id']}/decision", body)


def test_questions_with_one_external_id_are_of_one_session(api):
    body = {"agent": "Coder", "external_id": "run-1", "title": "Coder in shop", "tool": TOOL}
    first = ok(api.post("approvals", body | {"client_id": "c1"}), 201)
    again = ok(api.post("approvals", body | {"client_id": "c1"}), 201)
    second = ok(api.post("approvals", body | {"client_id": "c2"}), 201)
    other = ok(api.post("approvals", body | {"client_id": "c1", "external_id": "run-2"}), 201)
    assert first == again
    assert first["session_id"] == second["session_id"] != other["session_id"]
    made = Session.objects.get(pk=first["session_id"])
    assert (made.external_id, made.title) == ("run-1", "Coder in shop")


def test_a_session_that_another_key_named_so_is_not_found(workspace, key_for):
    body = {"agent": "Coder", "external_id": "run-1", "tool": TOOL}
    first, second = (ok(key_for(workspace, Role.AGENT).post("approvals", body), 201) for _ in range(2))
    assert first["session_id"] != second["session_id"]


def test_an_external_id_beside_a_session_is_refused(api, session):
    answered = api.post("approvals", {"session_id": str(session.id), "external_id": "x", "tool": TOOL})
    assert answered.status_code == 422


def test_a_question_waits_with_what_it_is_about(api, session):
    asked = ask(api, session, context="The customer insists", risk="destructive", expires_in=3600)
    assert asked.keys() >= FIELDS
    assert (asked["status"], asked["session_id"], asked["risk"], asked["rule"]) == (
        "pending",
        str(session.id),
        "destructive",
        None,
    )
    assert asked["tool"] == {"name": "refund", "server": None, "arguments": TOOL["arguments"]}
    assert (asked["votes"], asked["decision"], asked["delivery"], asked["execution"], asked["version"]) == (
        [],
        None,
        "none",
        "none",
        1,
    )
    assert len(asked["digest"]) == 64
    assert ok(api.get(f"sessions/{session.id}"))["pending_approvals"] == 1
    event = ok(api.get(f"sessions/{session.id}/events"))["items"][0]
    assert (event["seq"], event["kind"], event["tool"]["name"]) == (asked["event_seq"], "approval", "refund")


def test_an_agent_without_a_session_is_given_one(api):
    asked = ok(api.post("approvals", {"agent": "Night shift", "tool": TOOL, "client_id": "q1"}), 201)
    session = ok(api.get(f"sessions/{asked['session_id']}"))
    assert (session["agent"]["name"], session["origin"]) == ("Night shift", "api")
    assert Agent.objects.get(name="Night shift").runtime == "external"
    again = ok(api.post("approvals", {"agent": "Night shift", "tool": TOOL, "client_id": "q1"}), 201)
    assert again == asked
    assert (
        ok(api.post("approvals", {"agent": "Night shift", "tool": TOOL, "client_id": "q2"}), 201)["session_id"]
        != asked["session_id"]
    )


def test_the_same_question_again_is_the_same_approval(api, session):
    asked = ask(api, session, client_id="c1")
    assert ask(api, session, client_id="c1") == asked
    other = {
        "session_id": str(session.id),
        "tool": {"name": "refund", "arguments": {"amount": "4000.00"}},
        "client_id": "c1",
    }
    refused(api.post("approvals", other), 409)
    assert ask(api, session)["id"] != asked["id"]


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"tool": TOOL}, ""),
        ({"tool": TOOL, "agent": " "}, "/agent"),
        ({"agent": "A"}, "/tool"),
        ({"agent": "A", "tool": {"name": "", "arguments": {}}}, "/tool/name"),
        ({"agent": "A", "tool": {"name": "t", "arguments": None}}, "/tool/arguments"),
        ({"agent": "A", "tool": TOOL, "expires_in": 0}, "/expires_in"),
        ({"agent": "A", "tool": TOOL, "expires_in": 10**12}, "/expires_in"),
        ({"session_id": "x", "tool": TOOL}, "/session_id"),
    ],
)
def test_a_question_that_lacks_something_is_refused(api, body, where):
    assert pointers(refused(api.post("approvals", body), 422)) == {where}


def test_a_session_of_another_workspace_cannot_be_asked_about(stranger, session):
    refused(stranger.post("approvals", {"session_id": str(session.id), "tool": TOOL}), 404)


@pytest.mark.parametrize("value", [b'"a\\u0000b"', b'"\\ud800"', b"123456789012345678901234"])
def test_arguments_that_cannot_be_kept_exactly_are_refused(api, session, value):
    body = b'{"session_id": "%s", "tool": {"name": "t", "arguments": {"x": %s}}}' % (str(session.id).encode(), value)
    refused(api.send("POST", "approvals", body), 422)
    assert not Approval.objects.exists()


def test_a_reviewer_approves(api, admin, session):
    asked = ask(api, session)
    decided = ok(decide(admin, asked, reason="fine"))
    assert (decided["status"], decided["version"], decided["delivery"]) == ("approved", 2, "queued")
    assert decided["decision"]["by"] == "admin key"
    assert decided["decision"]["at"].endswith("Z")
    assert [(vote["by"], vote["verdict"], vote["reason"]) for vote in decided["votes"]] == [
        ("admin key", "approve", "fine")
    ]
    assert ok(api.get(f"sessions/{session.id}"))["pending_approvals"] == 0


def test_a_reviewer_approves_other_arguments(api, admin, session):
    decided = ok(decide(admin, ask(api, session), arguments={"order": 4711, "amount": "20.00"}))
    assert decided["status"] == "approved_edited"
    assert decided["decision"]["arguments"] == {"order": 4711, "amount": "20.00"}
    assert decided["tool"]["arguments"] == TOOL["arguments"]


def test_a_reviewer_answers_or_denies(api, admin, session):
    assert ok(decide(admin, ask(api, session), "answer", answer="Ask finance"))["decision"]["answer"] == "Ask finance"
    denied = ok(decide(admin, ask(api, session), "deny", reason="too much"))
    assert (denied["status"], denied["decision"]["reason"]) == ("denied", "too much")


def test_the_same_decision_again_is_no_conflict_and_another_names_the_winner(api, admin, session, workspace, key_for):
    asked = ask(api, session)
    first = ok(decide(admin, asked, "deny", reason="no"))
    assert ok(decide(admin, asked, "deny", reason="no")) == first and first["not_kept"] is None
    other = ok(decide(admin, asked, "deny", reason="on a Sunday"))
    assert other == first | {"not_kept": other["not_kept"]}
    assert "the reason that you gave now was not kept" in other["not_kept"]
    problem = refused(decide(key_for(workspace), asked, "approve"), 409)
    assert problem["winner"] == {
        "by": "admin key",
        "by_kind": "api_key",
        "verdict": "deny",
        "status": "denied",
        "at": first["decision"]["at"],
        "reason": "no",
    }
    assert "admin key" in problem["detail"]
    assert problem["approval"]["version"] == 2


def test_a_decision_about_something_else_than_was_shown_is_refused(api, admin, session):
    asked = ask(api, session)
    for stale in ({"version": 2}, {"digest": "0" * 64}):
        problem = refused(decide(admin, asked | stale), 409)
        assert problem["winner"] is None
        assert problem["approval"]["status"] == "pending"
    assert ok(api.get(f"approvals/{asked['id']}"))["status"] == "pending"


def test_a_viewer_cannot_decide(viewer, api, session):
    asked = ask(api, session)
    refused(decide(viewer, asked), 403)
    refused(viewer.post(f"approvals/{asked['id']}/decision", {}), 403)
    assert ok(viewer.get(f"approvals/{asked['id']}"))["status"] == "pending"


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"verdict": "perhaps"}, "/verdict"),
        ({"version": "x"}, "/version"),
        ({"version": 2**40}, "/version"),
        ({"digest": None}, "/digest"),
        ({"verdict": "answer"}, "/answer"),
        ({"verdict": "deny", "arguments": {}}, "/arguments"),
        ({"arguments": []}, "/arguments"),
    ],
)
def test_a_decision_that_makes_no_sense_is_refused(api, admin, session, body, where):
    asked = ask(api, session)
    assert pointers(refused(decide(admin, asked | {}, **body), 422)) == {where}


def test_every_step_is_in_the_audit_log(api, admin, session):
    asked = ask(api, session)
    ok(decide(admin, asked, "deny"))
    actions = AuditEntry.objects.filter(subject_id=asked["id"]).order_by("seq").values_list("action", "actor_name")
    assert list(actions) == [("approval.requested", "reviewer key"), ("approval.decided", "admin key")]


def test_an_api_key_that_reads_the_decision_has_been_given_it(api, admin, session):
    asked = ask(api, session)
    assert ok(api.get(f"approvals/{asked['id']}"))["delivery"] == "none"
    ok(decide(admin, asked))
    assert ok(admin.get("approvals"))["items"][0]["delivery"] == "queued"
    assert ok(api.get(f"approvals/{asked['id']}"))["delivery"] == "delivered"


def test_approval_past_its_deadline_is_denied(api, admin, session):
    asked = ask(api, session, expires_in=1)
    Approval.objects.update(expires_at=timezone.now())
    shown = ok(api.get(f"approvals/{asked['id']}"))
    assert shown["status"] == "expired"
    assert shown["decision"]["at"].endswith("Z")
    assert refused(decide(admin, asked), 409)["winner"]["status"] == "expired"


@pytest.mark.parametrize("wait", ["-1", "x", "NaN", "Infinity"])
def test_a_wait_that_is_no_time_is_refused(api, session, wait):
    assert pointers(refused(api.get(f"approvals/{ask(api, session)['id']}", {"wait": wait}), 422)) == {"/wait"}


async def _wait(api, approval, seconds):
    began = time.monotonic()
    response = await AsyncClient().get(f"/api/v1/approvals/{approval['id']}", {"wait": seconds}, headers=api.headers)
    return ok(response), time.monotonic() - began


@pytest.mark.django_db(transaction=True)
def test_waiting_request_is_answered_at_the_decision(api, admin, session):
    asked = ask(api, session)

    async def run():
        waiting = asyncio.create_task(_wait(api, asked, 30))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        await elsewhere(lambda: ok(decide(admin, asked, "deny", reason="no")))
        return await asyncio.wait_for(waiting, 25)

    shown, seconds = asyncio.run(run())
    assert (shown["status"], shown["decision"]["reason"], shown["delivery"]) == ("denied", "no", "delivered")
    assert seconds < 25


@pytest.mark.django_db(transaction=True)
def test_a_wait_that_ends_changes_nothing(api, session):
    asked = ask(api, session)
    shown, seconds = asyncio.run(_wait(api, asked, 0.4))
    assert shown == asked
    assert seconds > 0.3


@pytest.mark.django_db(transaction=True)
def test_waiting_for_a_decided_approval_returns_at_once(api, admin, session):
    asked = ask(api, session)
    ok(decide(admin, asked))
    shown, seconds = asyncio.run(_wait(api, asked, 30))
    assert shown["status"] == "approved"
    assert seconds < 25


@pytest.mark.django_db(transaction=True)
def test_waiting_request_is_answered_at_the_deadline(api, session):
    asked = ask(api, session, expires_in=1)
    shown, seconds = asyncio.run(_wait(api, asked, 30))
    assert shown["status"] == "expired"
    assert seconds < 25


@pytest.mark.django_db(transaction=True)
def test_waiting_request_holds_no_database_connection(api, session):
    asked = ask(api, session)

    async def run():
        before = await elsewhere(connections_open)
        waiting = [asyncio.create_task(_wait(api, asked, 1.5)) for _ in range(15)]
        await asyncio.sleep(1)
        during = await elsewhere(connections_open)
        await asyncio.gather(*waiting)
        return during - before

    assert asyncio.run(run()) <= 1  # the one that listens, for all


@pytest.mark.django_db(transaction=True)
def test_one_of_many_concurrent_decisions_wins(workspace, key_for, api, session):
    asked = ask(api, session)
    reviewers = [key_for(workspace, name=f"r{number}") for number in range(6)]
    verdicts = ["approve", "deny"] * 3
    answers = at_once(*[lambda r=r, v=v: decide(r, asked, v) for r, v in zip(reviewers, verdicts, strict=True)])
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] + [409] * 5
    winners = {refused(answer, 409)["winner"]["by"] for answer in answers if answer.status_code == 409}
    assert len(winners) == 1


@pytest.mark.django_db(transaction=True)
def test_an_agent_that_asks_twice_at_once_asks_once(api):
    body = {"agent": "Night shift", "tool": TOOL, "client_id": "q1"}
    answers = at_once(*[lambda: api.post("approvals", body)] * 5)
    assert len({ok(answer, 201)["id"] for answer in answers}) == 1
    assert Approval.objects.count() == Session.objects.count() == 1


def test_an_approval_survives_a_second_run_of_the_clock(api, session):
    ask(api, session, expires_in=60)
    assert endings.expire_due() == 0
