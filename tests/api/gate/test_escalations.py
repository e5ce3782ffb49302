"""An agent that runs elsewhere asks a person a question, and is given the answer or an error."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Event, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.policies import versions

from ..client import ok

pytestmark = pytest.mark.django_db
QUESTION = {"question": "Refund 420 EUR twice?", "context": {"order": "4711"}}


@pytest.fixture
def key(workspace, key_for):
    return key_for(workspace, Role.AGENT)


def ask(key, **more):
    tool = {"name": "escalate_to_human", "arguments": QUESTION}
    return ok(key.post("approvals", {"agent": "Refund agent", "tool": tool} | more), 201)


def decide(api, asked, verdict, **more):
    body = {"verdict": verdict, "version": asked["version"], "digest": asked["digest"]} | more
    return ok(api.post(f"approvals/{asked['id']}/decision", body))


def test_the_answer_is_the_result_of_the_call(api, key):
    asked = ask(key)
    assert (asked["status"], asked["result"]) == ("pending", None)
    decide(api, asked, "answer", answer="Once only")
    assert ok(key.get(f"approvals/{asked['id']}"))["result"] == {"text": "Once only", "is_error": False}
    kinds = list(Event.objects.order_by("seq").values_list("kind", "text"))
    assert kinds == [
        ("escalation", "agent key asks a person: Refund 420 EUR twice?"), ("escalation", "reviewer key: answered"),
    ]  # fmt: skip


def test_a_question_is_no_call_that_a_rule_may_allow(api, admin, key):
    stated = [{"name": "all", "match": {}, "effect": "allow"}]
    versions.publish(versions.save_draft(Workspace.objects.get().pk, stated, by=audit.COMMAND), by=audit.COMMAND)
    assert ask(key)["status"] == "pending"


@pytest.mark.parametrize(("ending", "told"), [
    ("deny", {"error": "denied", "reason": "ask the customer"}),
    ("expire", {"error": "expired"}),
    ("interrupt", {"error": "cancelled"}),
])  # fmt: skip
def test_a_question_without_an_answer_is_an_error_that_says_which(api, key, ending, told):
    asked = ask(key, expires_in=3600)
    if ending == "deny":
        decide(api, asked, "deny", reason="ask the customer")
    elif ending == "expire":
        Approval.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    else:
        agent = Approval.objects.get().session.agent_id
        api.post(f"/dashboard/agents/{agent}/sessions/{asked['session_id']}/interrupt")
    result = ok(key.get(f"approvals/{asked['id']}"))["result"]
    assert (json.loads(result["text"]), result["is_error"]) == (told, True)


def test_an_approved_question_says_that_somebody_read_it(api, key):
    asked = ask(key)
    decide(api, asked, "approve")
    result = ok(key.get(f"approvals/{asked['id']}"))["result"]
    assert "read this" in result["text"] and not result["is_error"]


def test_another_call_has_no_such_result(api, key):
    asked = ok(key.post("approvals", {"agent": "x", "tool": {"name": "refund", "arguments": {}}}), 201)
    assert decide(api, asked, "approve")["result"] is None
