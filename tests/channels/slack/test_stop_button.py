"""The button in Slack that stops the agent that asks: by a reviewer or an admin, once, and said to who pressed it."""

from __future__ import annotations

from sessions_app.channels.slack import clicks, sweep
from sessions_app.models import Approval, Role, SlackEvent, Stop

from .test_escalation import PEOPLE, asks
from .work import tell

KIM = "U0KIM0001"


def press(slack, client) -> None:
    slack.clicks(client, slack.posted(PEOPLE)[0], "Stop this agent", KIM)
    sweep.sweep()
    tell()


def test_a_reviewer_stops_the_agent_and_its_question_is_denied(slack, client, connected_session, member):
    kim = member("Kim")
    asks(connected_session)
    press(slack, client)
    made = Stop.objects.get()
    assert (made.agent, made.made_by, made.made_by_id) == (connected_session.agent, "Kim", str(kim.pk))
    assert made.reason == "stopped in Slack, when it asked about issue_refund"
    approval = Approval.objects.get()
    assert (approval.status, approval.decides_by) == ("denied", "stop")
    (told,) = slack.ephemeral
    assert "is stopped by Kim, until somebody lifts it" in told["text"] and f"/stops/#stop-{made.pk}" in told["text"]


def test_the_same_click_read_again_is_one_stop(slack, client, connected_session, member):
    """A worker that is killed after it made the stop leaves the click to be read again."""
    member("Kim")
    asks(connected_session)
    press(slack, client)
    click = {"action": "approval_stop", "user": KIM, "channel": PEOPLE}
    event = SlackEvent.objects.get()
    assert Stop.objects.get().pk == event.pk
    approval = Approval.objects.get()
    SlackEvent.objects.update(payload=click | {"value": clicks.value_of(approval)}, done_at=None)
    sweep.sweep()
    assert Stop.objects.count() == 1


def test_a_viewer_stops_nobody_and_is_told(slack, client, connected_session, member):
    member("Kim", Role.VIEWER)
    asks(connected_session)
    press(slack, client)
    assert not Stop.objects.exists() and Approval.objects.get().status == "pending"
    assert "an admin can give you the role reviewer" in slack.ephemeral[0]["text"]
