"""``requires_approval``: a function runs once for each decision, with the arguments that were decided on."""

from __future__ import annotations

import asyncio

import pytest
from countersign import Denied, requires_approval

from sessions_app.models import Approval

from .bad_desks import LIES, answering, lying, nobody
from .test_client import decided


@pytest.fixture
def at(monkeypatch):
    """Sets the desk of the environment."""

    def make(url, key="cs_test"):
        monkeypatch.setenv("COUNTERSIGN_URL", url)
        monkeypatch.setenv("COUNTERSIGN_API_KEY", key)

    return make


def refunds(ran, **options):
    @requires_approval("Refund agent", **options)
    def refund(order, amount=40.0, *, note="", **more):
        """Pay money back."""
        ran.append((order, amount, note, more))
        if order == "broken":
            raise ValueError("there is no such order")
        return "Paid."

    return refund


def test_a_function_runs_with_what_was_decided_and_the_desk_is_told(at, desk_server, agent_key, asked, decide):
    at(desk_server, agent_key)
    ran = []
    refund = refunds(ran, wait=60)
    assert (refund.__name__, refund.__doc__) == ("refund", "Pay money back.")
    assert decided(lambda: refund("4711", who="Rosa"), asked, decide, "approve") == "Paid."
    approval = Approval.objects.get()
    assert approval.arguments == {"order": "4711", "amount": 40.0, "note": "", "who": "Rosa"}
    assert ran == [("4711", 40.0, "", {"who": "Rosa"})]
    assert (approval.tool_name, approval.session.agent.name, approval.execution) == (
        "refund",
        "Refund agent",
        "succeeded",
    )


def test_a_function_that_fails_is_reported_and_fails(at, desk_server, agent_key, asked, decide):
    at(desk_server, agent_key)
    ran = []

    def attempt():
        with pytest.raises(ValueError, match="no such order"):
            refunds(ran, wait=60)("4711")
        return True

    assert decided(attempt, asked, decide, "approve", arguments={"order": "broken", "amount": 1.0})
    assert (ran, Approval.objects.get().execution) == ([("broken", 1.0, "", {})], "errored")


@pytest.mark.parametrize("desk", [lambda: answering(lying(LIES["denied"])), nobody, lambda: answering(lambda r: None)])
def test_a_function_does_not_run_without_a_yes(at, desk):
    ran = []
    with desk() as url:
        at(url)
        with pytest.raises(Denied):
            refunds(ran, wait=0.2)("4711")
    assert ran == []


def test_coroutines_and_methods(at):
    class Shop:
        paid = 0.0

        @requires_approval("Refund agent", name="shop.refund")
        async def refund(self, amount: float) -> float:
            self.paid += amount
            return self.paid

    with answering(lying(lambda said: None)) as url:
        at(url)
        assert asyncio.run(Shop().refund(4.5)) == 4.5
    with answering(lying(LIES["denied"])) as url:
        at(url)
        with pytest.raises(Denied):
            asyncio.run(Shop().refund(4.5))


def test_what_nobody_could_decide_about_is_refused(at):
    for function in (lambda *orders: None, lambda order, /: None):
        with pytest.raises(TypeError, match="without names"):
            requires_approval("Refund agent")(function)
    at("http://127.0.0.1:1")
    with pytest.raises(ValueError, match="no JSON"):
        refunds([])(object())
