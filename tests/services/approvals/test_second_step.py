"""What destroys, or is marked as a high risk, is approved in two steps: the server sees to it, not the page alone."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval
from sessions_app.services.approvals.decisions import Invalid

from .test_decisions import ask
from .test_votes import vote

pytestmark = pytest.mark.django_db
WIPES = {"command": "sudo rm -rf /srv"}


def shell(session, arguments) -> Approval:
    approval = ask(session, arguments)
    Approval.objects.filter(pk=approval.pk).update(tool_name="Bash")
    approval = Approval.objects.get(pk=approval.pk)
    Approval.objects.filter(pk=approval.pk).update(digest=approval.digest_of_question())
    return Approval.objects.get(pk=approval.pk)


@pytest.mark.parametrize("channel", ["web", "slack"])
def test_a_press_of_one_button_does_not_approve_what_destroys(session, person, channel):
    approval, ines = shell(session, WIPES), person("Ines")
    with pytest.raises(Invalid, match="a second step to approve this: sudo") as refused:
        vote(approval, ines)
    assert refused.value.field == "sure" and Approval.objects.get().status == "pending"
    assert vote(approval, ines, sure=True).status == "approved"


@pytest.mark.parametrize("risk, steps", [("high", 2), ("critical", 2), ("destructive", 2), ("medium", 1), ("", 1)])
def test_a_high_risk_takes_two_steps(session, person, risk, steps):
    approval, ines = ask(session, risk=risk), person("Ines")
    if steps == 2:
        with pytest.raises(Invalid, match=f"its risk is {risk}, says the agent"):
            vote(approval, ines)
    assert vote(approval, ines, sure=steps == 2).status == "approved"


def test_it_is_the_call_that_would_run_that_counts(session, person):
    harmless, wiping = shell(session, {"command": "ls"}), shell(session, WIPES)
    with pytest.raises(Invalid):
        vote(harmless, person("Ines"), arguments=WIPES)
    assert vote(wiping, person("Omar"), arguments={"command": "ls"}).status == "approved_edited"


def test_a_vote_on_what_somebody_made_of_it_takes_two_steps(session, person):
    approval = shell(session, {"command": "ls"})
    Approval.objects.filter(pk=approval.pk).update(votes_needed=2)
    vote(approval, person("Ines"), arguments=WIPES, sure=True)
    with pytest.raises(Invalid, match="second step"):
        vote(approval, person("Omar"))
    assert vote(approval, person("Kim"), sure=True).status == "approved_edited"


def test_denying_and_answering_take_one(session, person):
    assert vote(shell(session, WIPES), person("Ines"), "deny").status == "denied"
    assert vote(ask(session, risk="high"), person("Omar"), "answer", answer="Later").status == "answered"
