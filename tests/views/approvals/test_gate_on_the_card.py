"""The card: why a rule asks and who wrote it, whom nobody could decide, two steps, always, cancel, and who was told."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Approval, EscalationStep, Grant, PolicyVersion
from sessions_app.services import audit
from sessions_app.services.policies import versions

from ..build import asks, session_of, words

FETCHED = {"HX-Request": "true"}
WIPES = {"command": "sudo rm -rf /srv"}


@pytest.fixture
def approval(agent) -> Approval:
    return asks(session_of(agent))


def decide(client, approval, verdict, **form):
    sent = {"verdict": verdict, "version": approval.version, "digest": approval.digest} | form
    return client.post(f"/approvals/{approval.pk}/decision", sent, headers=FETCHED)


def handle(client, approval, do, **form):
    return client.post(f"/approvals/{approval.pk}/handle", {"do": do} | form, headers=FETCHED)


def shown(client, approval) -> str:
    return words(client.get(f"/approvals/{approval.pk}/"))


def now(approval) -> Approval:
    return Approval.objects.get(pk=approval.pk)


def publish(workspace, *rules, by="Ada") -> PolicyVersion:
    actor = audit.Actor("member", "", by)
    return versions.put_in_force(workspace.pk, list(rules), by=actor, note="why")


# --- what the rules say ---


def test_why_the_rule_asks_and_who_wrote_it(reviewer, agent):
    publish(
        agent.workspace, {"name": "Money", "match": {}, "effect": "ask", "reason": "Refunds <b>cannot</b> be undone"}
    )
    text = shown(reviewer, asks(session_of(agent)))
    assert "Rule Money of policy 1, written by Ada : Refunds <b>cannot</b> be undone" in text


def test_rules_that_could_not_be_evaluated_are_named(reviewer, agent):
    match = {"arguments": [{"path": "/sum", "op": ">", "value": 10}]}
    publish(agent.workspace, {"name": "Large", "match": match, "effect": "deny"})
    text = shown(reviewer, asks(session_of(agent)))
    assert "Countersign could not tell whether these rules match, so it asks a person: Large: the argument /sum" in text


@pytest.mark.parametrize("ask, why", [
    ({"approvals": 5}, "5 people have to approve it, and 1 here may"),
    ({"eligible": {"roles": ["admin"]}}, "nobody in this workspace may decide it"),
])  # fmt: skip
def test_that_nobody_could_approve_it_is_on_the_card_and_on_the_page_of_the_policy(reviewer, agent, ask, why):
    publish(agent.workspace, {"name": "Money", "match": {}, "effect": "ask", "ask": ask})
    assert why in shown(reviewer, asks(session_of(agent)))
    assert why in words(reviewer.get("/settings/policies/"))


def test_who_writes_such_a_rule_is_told_so(admin, workspace):
    rules = '[{"name": "Two", "match": {}, "effect": "ask", "ask": {"approvals": 2}}]'
    for action in ("preview", "save", "publish"):
        sent = {"rules": rules, "note": "n", "action": action, "seen": "0"}
        assert "2 people have to approve it, and 1 here may" in words(
            admin.post("/settings/policies/new", sent, follow=True)
        )


# --- two steps ---


def test_one_press_does_not_approve_what_destroys(reviewer, agent):
    approval = asks(session_of(agent), tool="Bash", arguments=WIPES)
    refused = decide(reviewer, approval, "approve")
    page = refused.content.decode()
    assert refused.status_code == 422 and now(approval).status == "pending"
    assert "it takes a second step to approve this" in words(refused) and 'value="approve_sure"' in page
    assert re.search(r'<details class="choice"[^>]*data-choice="approve"\s+open>', page), "the second button is there"
    assert decide(reviewer, approval, "approve_sure").status_code == 200 and now(approval).status == "approved"


def test_an_edit_into_something_that_destroys_takes_another_press(reviewer, agent):
    approval = asks(session_of(agent), tool="Bash", arguments={"command": "ls"})
    refused = decide(reviewer, approval, "edit", arguments='{"command": "rm -rf /srv"}')
    page = refused.content.decode()
    assert refused.status_code == 422 and 'value="edit_sure"' in page and "rm -rf /srv" in words(refused)
    assert decide(reviewer, approval, "edit_sure", arguments='{"command": "rm -rf /srv"}').status_code == 200
    assert now(approval).status == "approved_edited"


def test_a_batch_is_the_second_step_of_what_it_shows(reviewer, agent):
    approval = asks(session_of(agent), tool="Bash", arguments=WIPES)
    form = {"verdict": "approve", "pick": [f"{approval.pk}:{approval.version}:{approval.digest}"]}
    assert "rm -rf" in words(reviewer.post("/approvals/batch", form)) and now(approval).status == "pending"
    reviewer.post("/approvals/batch", form | {"sure": "1"})
    assert now(approval).status == "approved"


# --- always ---


def test_always_approves_and_makes_a_grant(reviewer, approval, agent):
    form = {"why_always": "Routine", "hours": "24", "scope": "agent"}
    assert 'value="always"' in reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    assert decide(reviewer, approval, "always", **form).status_code == 200
    grant = Grant.objects.get()
    assert (now(approval).status, grant.session, grant.made_by, grant.reason) == ("approved", None, "Rosa", "Routine")
    assert asks(session_of(agent)).status == "auto_allowed"
    assert "Calls like it pass without a decision" in shown(reviewer, approval)


@pytest.mark.parametrize("form", [{}, {"hours": "9999"}, {"why_always": " "}])
def test_what_always_lacks_comes_back_and_decides_nothing(reviewer, approval, form):
    refused = decide(reviewer, approval, "always", **({"why_always": "Routine", "hours": "8"} | form if form else {}))
    page = refused.content.decode()
    assert refused.status_code == 422 and re.search(r'data-choice="always"\s+open>', page)
    assert now(approval).status == "pending" and not Grant.objects.exists()


@pytest.mark.parametrize("tool, arguments, risk", [("Bash", WIPES, ""), ("pay", {"n": 1}, "high")])
def test_always_is_not_offered_for_what_is_decided_one_by_one(reviewer, agent, tool, arguments, risk):
    approval = asks(session_of(agent), tool=tool, arguments=arguments, risk=risk)
    assert 'value="always"' not in reviewer.get(f"/approvals/{approval.pk}/").content.decode()
    assert decide(reviewer, approval, "always", why_always="Routine", hours="8").status_code == 422
    assert now(approval).status == "pending"


# --- cancel and escalate ---


def test_a_question_is_cancelled_and_a_call_is_not(reviewer, approval, agent):
    question = asks(session_of(agent), tool="escalate_to_human", arguments={"question": "Which?"})
    assert "Cancel the question" in shown(reviewer, question) and "Cancel the question" not in shown(reviewer, approval)
    assert handle(reviewer, question, "cancel").status_code == 200 and now(question).status == "cancelled"
    assert "Withdrawn" in shown(reviewer, question)
    refused = handle(reviewer, approval, "cancel")
    assert refused.status_code == 403 and "deny it instead" in words(refused)


def test_who_asked_withdraws_it_on_their_card(reviewer, admin, approval):
    rosa = get_user_model().objects.get(first_name="Rosa")
    Approval.objects.filter(pk=approval.pk).update(asked_by_user=rosa)
    assert "Withdraw it" in shown(reviewer, approval) and "Withdraw it" not in shown(admin, approval)
    assert handle(reviewer, approval, "cancel", reason="Not needed").status_code == 200
    assert now(approval).decision["reason"] == "Not needed"


def test_who_was_told_and_why_is_on_the_card(reviewer, admin, approval):
    assert handle(reviewer, approval, "escalate", to="role:admin").status_code == 422
    assert handle(reviewer, approval, "escalate", to="role:admin", reason="New <customer>").status_code == 200
    text = shown(admin, approval)
    assert "Told to Ada" in text and "by Rosa : New <customer>" in text
    assert EscalationStep.objects.get().taken_by == "Rosa"


def test_queries_of_the_inbox_do_not_grow_with_rules_and_steps(reviewer, admin, agent):
    def cards(number: int) -> str:
        made = [asks(session_of(agent)) for _ in range(number)]
        Approval.objects.update(terms={"approvals": 1, "eligible": {"roles": ["admin"]}})
        for one in made:
            handle(reviewer, one, "escalate", to="role:admin", reason="Look")
        return "/approvals/cards?" + "&".join(f"id={one.pk}" for one in made)

    def queries(address: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert reviewer.get(address, headers=FETCHED).status_code == 200
        return len(captured)

    few, many = cards(2), cards(6)
    queries(few)
    assert queries(few) == queries(many)
