"""``Client`` and ``AsyncClient``: a yes only about the very call, with the arguments that must be run."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest
from countersign import AsyncClient, Client, Denied, NotConfigured

from sessions_app.models import Approval

from .bad_desks import GARBAGE, LIES, answering, lying, nobody

CALL = {
    "order": 4711,
    "amount": 40.0,
    "note": "größer \U0001f600",
    "deep": {"é": [1e22, -0.5, None, True], "Z": "\u202e"},
}


def client(url, key="cs_test"):
    return Client(url, key, agent="Refund agent")


def in_background(work):
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    return thread, results


def decided(asking, asked, decide, verdict, **more):
    thread, results = in_background(asking)
    decide(asked(), verdict, **more)
    thread.join(60)
    return results[0]


def test_an_approved_call_is_to_be_run_as_it_was_asked(desk_server, agent_key, asked, decide):
    asking = client(desk_server, agent_key)
    decision = decided(lambda: asking.ask("refund", CALL, server="shop", wait=60), asked, decide, "approve")
    assert decision and decision.allowed
    assert repr(decision.arguments) == repr(CALL)
    assert (decision.status, decision.by, decision.is_edited) == ("approved", "Rosa", False)
    assert asking.report(decision, "running") and asking.report(decision, "succeeded", "Paid.")
    approval = Approval.objects.get(pk=decision.approval_id)
    assert (approval.execution, approval.executable_digest) == ("succeeded", decision.digest)


def test_an_edited_call_is_to_be_run_as_it_was_edited(desk_server, agent_key, asked, decide):
    changed = {"order": 4711, "amount": 4.0, "é": 1e22}
    asking = client(desk_server, agent_key)
    decision = decided(lambda: asking.ask("refund", CALL, wait=60), asked, decide, "approve", arguments=changed)
    assert (decision.arguments, decision.is_edited) == (changed, True)


def test_a_denied_call_has_no_arguments(desk_server, agent_key, asked, decide):
    asking = client(desk_server, agent_key)
    decision = decided(lambda: asking.ask("refund", CALL, wait=60), asked, decide, "deny", reason="Too much.")
    assert not decision
    assert (decision.status, decision.reason) == ("denied", "Too much.")
    for use in (lambda: decision.arguments, lambda: asking.report(decision, "running")):
        with pytest.raises(PermissionError):
            use()


def test_a_wait_that_ends_is_no_and_the_same_question_again_is_the_same(desk_server, agent_key, asked, decide):
    asking = client(desk_server, agent_key)
    first = asking.ask("refund", CALL, client_id="r1", wait=0)
    assert (first.status, first.allowed) == ("pending", False)
    decide(asked(), "approve")
    again = asking.ask("refund", CALL, client_id="r1", wait=30)
    assert again.allowed and again.approval_id == first.approval_id


def test_what_expires_is_no(desk_server, agent_key, workspace):
    decision = client(desk_server, agent_key).ask("refund", CALL, expires_in=1)
    assert (decision.status, decision.allowed) == ("expired", False)


def test_a_question_is_withdrawn_until_its_decision_was_told(desk_server, agent_key, asked, decide):
    asking = client(desk_server, agent_key)
    waits = asking.ask("refund", CALL, client_id="r1", wait=0)
    assert asking.cancel(waits, "The customer called")
    again = asking.ask("refund", CALL, client_id="r1", wait=0)
    assert (again.status, again.reason, again.allowed) == ("cancelled", "The customer called", False)
    decided_one = decided(lambda: asking.ask("refund", CALL, wait=60), asked, decide, "approve")
    assert decided_one.allowed and not asking.cancel(decided_one.approval_id)
    in_a_loop = AsyncClient(desk_server, agent_key, agent="Refund agent")
    third = asyncio.run(in_a_loop.ask("refund", CALL, wait=0))
    assert asyncio.run(in_a_loop.cancel(third))


@pytest.mark.parametrize("what", ["", "../stops", "1?x=2"])
def test_what_is_no_approval_is_not_withdrawn(what):
    with pytest.raises(ValueError, match="no approval to withdraw"):
        client("http://127.0.0.1:9").cancel(what)


def test_another_question_under_the_same_id_is_no(desk_server, agent_key, workspace):
    asking = client(desk_server, agent_key)
    asking.ask("refund", CALL, client_id="r1", wait=0)
    decision = asking.ask("refund", CALL | {"order": True}, client_id="r1", wait=0)
    assert decision.status == "failed" and "409" in decision.reason


def test_arguments_that_change_while_it_waits_are_not_what_was_approved(desk_server, agent_key, asked, decide):
    given = {"command": "ls"}
    asking = client(desk_server, agent_key)
    thread, results = in_background(lambda: asking.ask("Bash", given, wait=60))
    approval = asked()
    given["command"] = "rm -rf /"
    decide(approval, "approve")
    thread.join(60)
    assert results[0].arguments == {"command": "ls"}


def test_many_wait_in_one_event_loop(desk_server, agent_key, asked, decide):
    async def ask_all():
        asking = AsyncClient(desk_server, agent_key, agent="Refund agent")
        return await asyncio.gather(*(asking.ask("refund", {"order": n}, wait=20) for n in range(8)))

    thread, results = in_background(lambda: asyncio.run(ask_all()))
    until = time.monotonic() + 20
    while Approval.objects.filter(status="pending").count() < 8 and time.monotonic() < until:
        time.sleep(0.05)
    for approval in Approval.objects.filter(status="pending"):
        decide(approval, "approve")
    thread.join(60)
    assert [decision.arguments for decision in results[0]] == [{"order": n} for n in range(8)]


@pytest.mark.parametrize("bad", [*LIES, *GARBAGE])
def test_whatever_else_answers_is_no(bad):
    reply = lying(LIES[bad]) if bad in LIES else GARBAGE[bad]
    with answering(reply) as url:
        decision = client(url).ask("Bash", {"command": "touch made"}, wait=0.5)
        assert not decision.allowed
        with pytest.raises(Denied):
            client(url).require("Bash", {"command": "touch made"}, wait=0.5)


def test_nobody_is_no():
    with nobody() as url:
        assert client(url).ask("refund", {}, wait=0.5).status == "failed"


def test_what_is_not_configured_is_said_at_once(monkeypatch):
    for name in ("COUNTERSIGN_URL", "COUNTERSIGN_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for arguments, missing in (
        ((), "COUNTERSIGN_URL"),
        (("http://desk",), "COUNTERSIGN_API_KEY"),
        (("desk", "k"), "http"),
    ):
        with pytest.raises(NotConfigured, match=missing):
            Client(*arguments)


@pytest.mark.parametrize("arguments", [{"n": float("nan")}, {1: 2}, {"x": object()}])
def test_arguments_that_are_no_json_are_refused(arguments):
    with pytest.raises(ValueError):
        client("http://127.0.0.1:1").ask("refund", arguments)


def test_a_question_in_nobodys_name_is_refused():
    with pytest.raises(ValueError, match="session or agent"):
        Client("http://127.0.0.1:1", "cs_test").ask("refund", {})
