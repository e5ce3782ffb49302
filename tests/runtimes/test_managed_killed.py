"""A worker that is killed while it sends a decision to the runtime: it arrives once."""

from __future__ import annotations

import os
import signal

import pytest
from django.db import connections

from sessions_app.models import Approval, TurnInFlight
from sessions_app.runtimes import worker
from sessions_app.runtimes.managed.client import Port
from tests.fakes.managed_agents_steps import Say

from .conftest import say, work
from .managed import decide
from .test_managed_answers import refund, sent

pytestmark = pytest.mark.django_db(transaction=True)


def work_and_be_killed(session, monkeypatch, when: str) -> None:
    """A worker in a process of its own, killed before the answer is sent, or when the runtime has it."""
    connections.close_all()
    child = os.fork()
    if child:
        assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
        return
    send = Port.send

    def send_and_die(port, session_id, event):
        if event["type"] != "user.tool_confirmation":
            return send(port, session_id, event)
        if when == "after":
            send(port, session_id, event)
        os.kill(os.getpid(), signal.SIGKILL)

    try:
        monkeypatch.setattr(Port, "send", send_and_die)
        worker.run(session.pk)
    finally:
        os._exit(1)


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_next_worker_asks_the_runtime_before_it_sends_again(managed, fake, monkeypatch, when):
    fake.world.scripts.append([refund(), Say("Done.")])
    say(managed, "Refund")
    asking = work(managed)
    decide(asking, "approve")
    work_and_be_killed(asking, monkeypatch, when)
    approval = Approval.objects.get()
    assert (approval.delivery, approval.delivery_tries, len(sent(fake))) == ("sending", 1, int(when == "after"))
    TurnInFlight.objects.update(heartbeat_at=approval.requested_at - worker.in_flight.LEASE)
    work(asking)
    approval.refresh_from_db()
    assert len(sent(fake)) == 1
    assert (approval.delivery, approval.execution, asking.approvals.count()) == ("delivered", "succeeded", 1)
