"""A call that its client does not want any more leaves the inbox: with the real desk."""

from __future__ import annotations

import pytest
from countersign.mcp import gateway

from config.database.postgres import wait_until
from sessions_app.models import Approval

from .driven import META, TASK_META, Driven


@pytest.mark.parametrize("how", ["taken back", "task", "gone", "gone between rounds", "task of one who is gone"])
def test_a_question_that_nobody_waits_for_is_withdrawn(monkeypatch, desk_server, agent_key, asked, how):
    monkeypatch.setattr(gateway, "PROMPT", 0.05)
    driven = Driven(desk_server, agent_key, hold=60, patience=0.05 if "rounds" in how else 0)
    driven.calls(1, meta=TASK_META if "task" in how else META)
    task = driven.next()["result"]["taskId"] if "task" in how else ""
    if "rounds" in how:
        driven.next()
    asked()
    assert wait_until(lambda: bool(pending(driven)), 60)
    if how == "taken back":
        driven.says({"method": "notifications/cancelled", "params": {"requestId": 1}})
    elif how == "task":
        driven.asks("tasks/cancel", {"taskId": task, "_meta": TASK_META})
    else:
        driven.gateway.close()
    assert wait_until(lambda: Approval.objects.get().status == "cancelled", 60), Approval.objects.get().status
    assert driven.ran == []


def pending(driven) -> list[str]:
    """Ids of what the gateway knows to wait for a person."""
    return [waiting.pending for waiting in driven.gateway.waiting() if waiting and waiting.pending]
