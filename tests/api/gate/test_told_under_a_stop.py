"""What an agent is told of an approval between the making of a stop and its carrying out, and what it may still do."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval, Role
from sessions_app.services.stops import carrying_out

from ..client import ok, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def key(workspace, key_for):
    return key_for(workspace, Role.AGENT)


def approved(api, key):
    tool = {"name": "refund", "arguments": {"n": 1}}
    asked = ok(key.post("approvals", {"agent": "Refund agent", "tool": tool}), 201)
    body = {"verdict": "approve", "version": asked["version"], "digest": asked["digest"]}
    return ok(api.post(f"approvals/{asked['id']}/decision", body))


def stop_half_done(api, monkeypatch):
    """As when the process dies after the row of the stop was written."""
    with monkeypatch.context() as killed:
        killed.setattr(carrying_out, "carry_out", lambda stop, seconds: 0)
        return ok(api.post("stops", {"reason": "enough"}), 201)


def test_an_approval_that_it_had_not_fetched_is_denied_when_it_fetches_it(api, key, monkeypatch):
    decided = approved(api, key)
    stop_half_done(api, monkeypatch)
    told = ok(key.get(f"approvals/{decided['id']}"))
    assert (told["status"], told["decision"]["by_kind"]) == ("denied", "stop")


def test_a_call_of_which_it_was_told_before_may_not_begin_but_its_end_is_told_apart(api, key, monkeypatch):
    fetched, begun = approved(api, key), approved(api, key)
    for one in (fetched, begun):
        assert ok(key.get(f"approvals/{one['id']}"))["status"] == "approved"
    digest = begun["decision"]["digest"]
    ok(key.post(f"approvals/{begun['id']}/execution", {"digest": digest, "status": "running"}))
    stop_half_done(api, monkeypatch)
    body = {"digest": fetched["decision"]["digest"], "status": "running"}
    problem = refused(key.post(f"approvals/{fetched['id']}/execution", body), 409)
    assert "stopped by reviewer key" in problem["detail"]
    ok(key.post(f"approvals/{begun['id']}/execution", {"digest": digest, "status": "succeeded"}))
    assert Approval.objects.get(pk=begun["id"]).execution == "succeeded"
    assert Approval.objects.get(pk=fetched["id"]).execution == "none"
