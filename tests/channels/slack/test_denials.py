"""Who presses Deny in Slack is asked why in a modal; where that cannot be asked, the click is the denial."""

from __future__ import annotations

import pytest

from sessions_app.channels.slack import sweep
from sessions_app.models import Approval, Role, SlackEvent
from tests.fakes.slack import Fault

from .test_escalation import PEOPLE, asks, buttons, decide, words
from .work import tell

KIM = "U0KIM0001"
NO_REASON = "A reviewer denied this call. Do not repeat it; ask or choose another way."


def press(slack, client) -> None:
    slack.clicks(client, slack.posted(PEOPLE)[0], "Deny", KIM)


def now() -> Approval:
    sweep.sweep()
    tell()
    return Approval.objects.get()


def test_the_modal_asks_why_and_decides_nothing_yet(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session)
    press(slack, client)
    (view,) = slack.views
    assert view["blocks"][0]["text"]["text"] == "“Parrot” asks to run issue_refund"
    assert now().status == "pending" and buttons(slack.posted(PEOPLE)[0])[:2] == ["Approve", "Deny"]


@pytest.mark.parametrize(
    ("entered", "kept", "told"),
    [
        (" Not on a <Sunday>\n", "Not on a <Sunday>", ": Not on a &lt;Sunday&gt;"),
        (None, NO_REASON, f": {NO_REASON}"),
    ],
)
def test_text_of_the_denial_modal_is_the_reason(slack, client, connected_session, member, entered, kept, told):
    kim = member("Kim")
    asks(connected_session)
    press(slack, client)
    for _ in range(2):  # Slack sends it again when the first answer is late
        assert slack.submits(client, slack.views[0], KIM, entered).content == b""
    approval = now()
    assert (approval.status, approval.decision["reason"]) == ("denied", kept)
    assert approval.votes.get().member == kim
    assert words(slack.posted(PEOPLE)[0]).endswith(f"*Denied* by Kim in Slack{told}")
    assert slack.ephemeral == []


def test_who_denies_in_slack_what_they_denied_before_is_told_that_the_first_reason_stands(
    slack, client, connected_session, member
):
    member("Kim")
    asks(connected_session)
    for _ in range(2):
        press(slack, client)
    for view, reason in zip(slack.views, ("Not on a Sunday", "Too much"), strict=True):
        slack.submits(client, view, KIM, reason)
    assert now().decision["reason"] == "Not on a Sunday"
    assert "the reason that you gave now was not kept" in slack.ephemeral[0]["text"]


def test_a_modal_that_is_not_signed_decides_nothing(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session)
    press(slack, client)
    assert slack.submits(client, slack.views[0], KIM, "No", secret="f" * 32).status_code == 401
    assert slack.submits(client, slack.views[0], KIM, "No", age=301).status_code == 401
    assert now().status == "pending" and not SlackEvent.objects.exists()


def test_sender_of_the_denial_modal_is_the_decider(slack, client, connected_session, member):
    member("Kim", Role.VIEWER)
    asks(connected_session)
    press(slack, client)
    slack.submits(client, slack.views[0], KIM, "No")
    assert now().status == "pending"
    assert "an admin can give you the role reviewer" in slack.ephemeral[0]["text"]


def test_a_question_that_changed_under_the_modal_is_not_decided(slack, client, connected_session, member):
    member("Kim")
    asks(connected_session)
    press(slack, client)
    Approval.objects.update(version=7)
    slack.submits(client, slack.views[0], KIM, "No")
    assert now().status == "pending" and "changed since you looked" in slack.ephemeral[0]["text"]


def test_deny_button_of_a_decided_approval_opens_no_modal_and_says_so(slack, client, connected_session, member):
    member("Kim")
    approval = asks(connected_session)
    message = slack.posted(PEOPLE)[0]
    shown = [dict(block) for block in message.blocks]
    decide(approval)
    message.blocks = shown
    slack.clicks(client, message, "Deny", KIM)
    assert slack.views == [] and now().status == "approved"
    assert "Ines decided this already: approved" in slack.ephemeral[0]["text"]


@pytest.mark.parametrize("error", ["expired_trigger_id", "internal_error"])
def test_a_modal_that_cannot_be_opened_leaves_the_denial_without_a_reason(
    slack, client, connected_session, member, installation, error
):  # fmt: skip
    member("Kim")
    asks(connected_session)
    slack.faults = [Fault("views.open", error=error)]
    press(slack, client)
    assert now().status == "denied"
    installation.refresh_from_db()
    assert installation.problem == "", "the page tells only of what an admin can put right"
