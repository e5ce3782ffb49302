"""A card in Slack has only the buttons that can do what its rule wants; the others lead to the desk."""

from __future__ import annotations

import pytest

from sessions_app.channels.slack import sweep
from sessions_app.models import Approval
from sessions_app.services import audit
from sessions_app.services.policies import versions

from .test_escalation import PEOPLE, asks, buttons, words
from .work import tell

KIM = "U0KIM0001"


@pytest.fixture
def rule(workspace):
    def publish(**ask) -> None:
        rules = [{"name": "Money", "match": {}, "effect": "ask", "ask": ask}]
        versions.publish(versions.save_draft(workspace.pk, rules, by=audit.COMMAND), by=audit.COMMAND)

    return publish


@pytest.mark.parametrize(
    ("ask", "here", "why"),
    [
        ({"approvals": 2}, [], "needs 2 people"),
        ({"typed_confirmation": True}, ["Deny"], "needs the name of the tool typed"),
        ({"comment": ["approve"]}, ["Deny"], "needs a reason"),
        ({"decisions": ["edit", "deny"]}, ["Deny"], "cannot be approved as it stands"),
        ({"comment": ["approve"], "typed_confirmation": True}, ["Deny"], "tool typed, needs a reason"),
    ],
)  # fmt: skip
def test_what_no_button_can_give_is_done_at_the_desk(slack, connected_session, rule, ask, here, why):
    rule(**ask)
    approval = asks(connected_session)
    (message,) = slack.posted(PEOPLE)
    assert buttons(message) == [*here, "Decide in Countersign", "Stop this agent"] and why in words(message)
    link = next(e for e in message.blocks[-1]["elements"] if e["text"]["text"] == "Decide in Countersign")
    assert link["url"] == f"https://desk.example.org/approvals/{approval.pk}/"


@pytest.mark.parametrize("ask", [{}, {"comment": ["deny"]}, {"decisions": ["approve", "deny"]}, {"approvals": 1}])
def test_what_a_button_can_give_is_decided_here(slack, connected_session, rule, ask):
    rule(**ask)
    asks(connected_session)
    assert buttons(slack.posted(PEOPLE)[0])[:2] == ["Approve", "Deny"]


@pytest.mark.parametrize(("risk", "asked_again"), [("high", True), ("destructive", True), ("medium", False)])
def test_what_is_of_high_risk_takes_a_second_press(slack, connected_session, risk, asked_again):
    asks(connected_session, risk=risk)
    (message,) = slack.posted(PEOPLE)
    assert ("confirm" in message.blocks[-1]["elements"][0]) is asked_again and f"risk {risk}" in words(message)


@pytest.mark.parametrize(("ask", "optional"), [({}, True), ({"comment": ["deny"]}, False)])
def test_the_modal_wants_a_reason_where_the_rule_does(slack, client, connected_session, member, rule, ask, optional):
    member("Kim")
    rule(**ask)
    asks(connected_session)
    slack.clicks(client, slack.posted(PEOPLE)[0], "Deny", KIM)
    (block,) = (block for block in slack.views[0]["blocks"] if block["type"] == "input")
    assert block["optional"] is optional
    slack.submits(client, slack.views[0], KIM, "Not today")
    sweep.sweep()
    tell()
    assert Approval.objects.get().status == "denied"
