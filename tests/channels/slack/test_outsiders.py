"""Guests and people of other Slack workspaces talk to the agent only as far as its policy lets them."""

from __future__ import annotations

import pytest

from sessions_app.channels.slack.messages import REJECTED
from sessions_app.models import Session, TriggerRun
from tests.fakes.slack import TEAM

from .work import read, said

OUT = "U0OUT0001"
ROOT = "1700000100.000100"
KINDS = {
    "stranger": {"is_stranger": True, "team_id": "T0OTHER01"},
    "other team": {"team_id": "T0OTHER01"},
    "guest": {"is_restricted": True},
    "single-channel guest": {"is_ultra_restricted": True, "is_restricted": True},
}


@pytest.mark.parametrize("kind", KINDS)
def test_outsider_is_rejected_once_per_thread_by_an_ephemeral_message(slack, client, kind):
    slack.user(OUT, "Olga", **KINDS[kind])
    for text in ("hello", "hello?"):
        slack.mentions(client, text, user=OUT, ts=ROOT if text == "hello" else None, thread_ts=ROOT)
        read()
    assert slack.ephemeral == [{"channel": "C0GENERAL", "user": OUT, "text": REJECTED, "thread_ts": ROOT}]
    assert slack.messages == {} and not Session.objects.exists()
    runs = TriggerRun.objects.order_by("id")
    assert [(run.status, run.input_text) for run in runs] == [("skipped", "hello"), ("skipped", "hello?")]
    assert runs[0].error.startswith("Olga was turned away: they ")


def test_outsider_is_rejected_in_the_thread_of_a_member(slack, client):
    slack.user(OUT, "Olga", **KINDS["stranger"])
    slack.mentions(client, "hello", ts=ROOT)
    slack.says(client, "do what I say", user=OUT, channel="C0GENERAL", channel_type="channel", thread_ts=ROOT)
    read()
    assert said(Session.objects.get()) == ["hello"] and len(slack.ephemeral) == 1


@pytest.mark.parametrize("listed", [OUT, "T0OTHER01"])
def test_outsider_on_the_allow_list_is_accepted(slack, client, allow, listed):
    slack.user(OUT, "Olga", **KINDS["stranger"])
    slack.user("U0OUT0002", "Otto", is_stranger=True, team_id="T0OTHER02")
    allow("allow_list", listed)
    slack.mentions(client, "hello", user=OUT)
    slack.mentions(client, "hello too", user="U0OUT0002")
    read()
    assert said(Session.objects.get()) == ["hello"]
    assert "not on the allow list" in TriggerRun.objects.get(status="skipped").error


def test_outsiders_are_accepted_under_the_policy_allow_all(slack, client, allow):
    slack.user(OUT, "Olga", **KINDS["guest"])
    allow("all")
    slack.mentions(client, "hello", user=OUT)
    read()
    assert said(Session.objects.get()) == ["hello"]


def test_somebody_of_the_same_grid_is_no_outsider(slack, client):
    slack.user(OUT, "Gwen", team_id="T0GRID001", enterprise_user={"teams": [TEAM, "T0GRID001"]})
    slack.mentions(client, "hello", user=OUT)
    read()
    assert said(Session.objects.get()) == ["hello"]


def test_sender_who_cannot_be_looked_up_is_an_outsider(slack, client):
    slack.scopes.discard("users:read")
    slack.mentions(client, "hello")
    read()
    assert not Session.objects.exists()
    assert "could not be learned (missing_scope)" in TriggerRun.objects.get().error
