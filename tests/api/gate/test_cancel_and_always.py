"""Over the API: a question is withdrawn, a decision makes a grant, more people are told, rules have warnings."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Approval, EscalationStep, Grant, Role
from tests.api.client import ok, pointers, refused

pytestmark = pytest.mark.django_db
TOOL = {"name": "refund", "arguments": {"order": 4711}}
ALWAYS = {"reason": "Routine", "expires_in": 3600}


@pytest.fixture
def key(workspace, key_for):
    return key_for(workspace, Role.AGENT)


def ask(key, **more):
    return ok(key.post("approvals", {"agent": "Refund agent", "tool": TOOL} | more), 201)


def decide(api, asked, verdict="approve", **more):
    body = {"verdict": verdict, "version": asked["version"], "digest": asked["digest"]} | more
    return api.post(f"approvals/{asked['id']}/decision", body)


def put(admin, rules):
    return admin.send("PUT", "policy", json.dumps({"rules": rules, "note": "n"}))


# --- cancel ---


def test_who_asked_withdraws_it_and_is_told_that_at_once(api, key):
    asked = ask(key)
    done = ok(key.post(f"approvals/{asked['id']}/cancel", {"reason": "Not needed"}))
    assert (done["status"], done["delivery"], done["decision"]["reason"]) == ("cancelled", "delivered", "Not needed")
    assert ok(key.post(f"approvals/{asked['id']}/cancel", {}))["version"] == done["version"]
    problem = refused(decide(api, asked), 409)
    assert "it is cancelled (" in problem["detail"] and "“Not needed”)" in problem["detail"]


def test_it_is_too_late_once_its_asker_was_told(api, key):
    asked = ask(key)
    ok(decide(api, asked))
    ok(key.get(f"approvals/{asked['id']}"))
    problem = refused(key.post(f"approvals/{asked['id']}/cancel", {}), 409)
    assert "too late to withdraw it: it is approved" in problem["detail"]
    assert problem["winner"]["verdict"] == "approve"


def test_another_key_cancels_no_call_but_a_reviewers_a_question_to_people(workspace, key_for, api, key):
    asked, question = ask(key), ask(key, tool={"name": "escalate_to_human", "arguments": {"question": "Which?"}})
    refused(api.post(f"approvals/{asked['id']}/cancel", {}), 403)
    refused(key_for(workspace, Role.AGENT, "other").post(f"approvals/{question['id']}/cancel", {}), 404)
    ok(api.post(f"approvals/{question['id']}/cancel", {}))
    result = ok(key.get(f"approvals/{question['id']}"))["result"]
    assert (json.loads(result["text"]), result["is_error"]) == ({"error": "cancelled"}, True)


# --- always ---


def test_a_decision_with_a_grant(api, key):
    asked = ask(key)
    done = ok(decide(api, asked, grant=ALWAYS | {"scope": "agent", "uses": 1}))
    assert done["decision"]["grant"] == str(Grant.objects.get().pk)
    assert [ask(key)["status"] for _ in range(2)] == ["auto_allowed", "pending"]
    ok(decide(api, asked, grant=ALWAYS | {"scope": "agent", "uses": 1}))
    refused(decide(api, asked), 409)
    assert Grant.objects.count() == 1


@pytest.mark.parametrize("verdict, more, pointer", [
    ("deny", {"grant": ALWAYS}, "/grant"), ("approve", {"grant": ALWAYS, "arguments": {"order": 1}}, "/grant"),
    ("approve", {"grant": {"reason": " "}}, "/grant"), ("approve", {"grant": {}}, "/grant/reason"),
    ("approve", {"grant": ALWAYS | {"agent": "x"}}, "/grant/agent"),
    ("approve", {"grant": ALWAYS | {"arguments": [{"path": "amount", "op": "=", "value": 1}]}}, "/grant"),
])  # fmt: skip
def test_what_is_wrong_with_it_is_said_and_decides_nothing(api, key, verdict, more, pointer):
    problem = refused(decide(api, ask(key), verdict, **more), 422)
    assert pointer in pointers(problem) and Approval.objects.get().status == "pending"


def test_what_destroys_is_not_granted_and_a_program_approves_it_by_its_digest(api, key):
    asked = ask(key, tool={"name": "Bash", "arguments": {"command": "rm -rf /srv"}})
    refused(decide(api, asked, grant=ALWAYS), 422)
    assert ok(decide(api, asked))["status"] == "approved"


# --- escalate, warnings ---


def test_more_people_are_told(api, admin, key):
    asked = ask(key)
    body = {"to": ["role:admin", "role:reviewer"], "reason": "Large sum"}
    refused(api.post(f"approvals/{asked['id']}/escalate", body), 422)  # no member is there: keys read no mail
    assert not EscalationStep.objects.exists()
    refused(key.post(f"approvals/{asked['id']}/escalate", body), 403)
    assert pointers(refused(api.post(f"approvals/{asked['id']}/escalate", {}), 422)) == {"/reason"}


def test_rules_that_nobody_could_decide_come_with_a_warning(api, admin):
    rules = [{"name": "Many", "match": {}, "effect": "ask", "ask": {"approvals": 5}}]
    assert "5 people have to approve it" in ok(admin.post("policy/preview", {"rules": rules}))["warnings"][0]
    assert len(ok(put(admin, rules))["warnings"]) == 1
    assert len(ok(api.get("policy"))["warnings"]) == 1


def test_why_a_rule_asks_is_in_its_terms(admin, key):
    rules = [{"name": "Money", "match": {}, "effect": "ask", "reason": "It is gone then"}]
    ok(put(admin, rules))
    assert ask(key)["terms"]["reasons"] == [
        {"rule": "Money", "source": "policy 1", "author": "admin key", "reason": "It is gone then"}
    ]
