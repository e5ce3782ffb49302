"""A decision leaves as a signed receipt; another workspace's is not there."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from vcon_app.services.trust import own_keys
from vcon_app.signing import receipt

from ..client import Api, ok, refused
from .test_approvals import ask, decide

pytestmark = pytest.mark.usefixtures("document_storage")


def path(approval) -> str:
    return f"approvals/{approval['id']}/receipt"


@pytest.fixture
def approved(api, admin, session):
    asked = ask(api, session)
    ok(decide(admin, asked))
    return asked


def test_a_receipt_is_a_compact_jws_that_verifies(viewer, approved):
    answer = viewer.get(path(approved))
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/jose")
    checked = receipt.check(answer.content, [own_keys.own_anchor()], timezone.now())
    assert checked.signature.state == "valid" and checked.statement["approval"] == approved["id"]
    assert checked.statement["decided"]["by"]["role"] == "admin"


def test_as_json_it_says_what_it_states(viewer, approved):
    found = ok(viewer.get(path(approved), Accept="application/json"))
    assert found["statement"]["approval"] == approved["id"] and "text" not in found["statement"]["shown"]
    assert found["receipt"].count(".") == 2
    whole = ok(viewer.get(path(approved), {"arguments": "true"}, Accept="application/json"))
    assert '"order":4711' in whole["statement"]["shown"]["text"]


def test_there_is_none_while_it_is_pending(api, session):
    assert "not decided yet" in refused(api.get(path(ask(api, session))), 409)["detail"]


def test_another_workspaces_receipt_is_not_there(stranger, approved, api):
    refused(stranger.get(path(approved)), 404)
    refused(api.get(f"approvals/{uuid4()}/receipt"), 404)
    refused(Api(None).get(path(approved)), 401)


def test_an_agents_key_has_the_receipts_of_its_own_questions_only(workspace, key_for, approved, admin):
    mine = key_for(workspace, Role.AGENT)
    refused(mine.get(path(approved)), 404)
    asked = ok(mine.post("approvals", {"agent": "Night shift", "tool": {"name": "t", "arguments": {}}}), 201)
    ok(decide(admin, asked))
    assert mine.get(path(asked)).status_code == 200


def test_a_key_of_another_agent_sees_none(workspace, agent, scripted_agent, approved):
    for owner, status in ((agent, 200), (scripted_agent, 404)):
        _, secret = api_keys.create_api_key(workspace, owner.slug, Role.VIEWER, by=audit.SYSTEM, agent=owner)
        assert Api(secret).get(path(approved)).status_code == status


def test_what_a_file_told_has_none(viewer, approved):
    Approval.objects.update(recorded=True)
    assert "imported file" in refused(viewer.get(path(approved)), 409)["detail"]
    assert Session.objects.count() == 1
