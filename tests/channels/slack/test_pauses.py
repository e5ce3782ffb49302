"""A Slack workspace that is slow or away is given pauses: few posts at a time, one after each, and nothing is lost."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.channels.slack import escalation, sweep
from sessions_app.models import SlackInstallation, SlackNotice
from sessions_app.queries import notices
from sessions_app.services.approvals import requests
from sessions_app.services.slack import jobs, pauses
from tests.fakes.slack import Fault

from .test_escalation import BY, PEOPLE


@pytest.fixture
def asked(connected_session):
    """Twelve questions, of which nobody told Slack so far."""
    for _ in range(12):
        requests.request(connected_session, requests.Question("issue_refund", {}), by=BY)


def posts(slack) -> int:
    return len(slack.called("chat.postMessage"))


def a_pause_is_over() -> None:
    SlackNotice.objects.update(retry_at=None)
    SlackInstallation.objects.exclude(next_at=None).update(next_at=timezone.now() - timedelta(seconds=1))


def test_one_that_is_away_is_tried_once_for_all_and_once_after_each_pause(slack, asked):
    slack.faults = [Fault("chat.postMessage", status=503, times=3)]
    for tried in (1, 2, 3):
        sweep.sweep()
        sweep.sweep()
        assert posts(slack) == tried
        found = SlackInstallation.objects.get()
        assert found.away_times == tried and found.away_since
        a_pause_is_over()
    assert sum(SlackNotice.objects.values_list("tries", flat=True)) == 3, "to wait is no try"
    sweep.sweep()
    a_pause_is_over()
    sweep.sweep()
    assert len(slack.posted(PEOPLE)) == 12 and not SlackNotice.objects.filter(done_at=None).exists()
    found = SlackInstallation.objects.get()
    assert (found.away_since, found.away_times, found.next_at) == (None, 0, None)


def test_it_is_left_alone_for_as_long_as_it_says(slack, asked):
    slack.faults = [Fault("chat.postMessage", status=429, error="ratelimited", headers={"Retry-After": "40"})]
    sweep.sweep()
    wait = (SlackInstallation.objects.get().next_at - timezone.now()).total_seconds()
    assert posts(slack) == 1 and 30 < wait <= 40


def test_pauses_grow_to_five_minutes(installation):
    for _ in range(12):
        with pytest.raises(jobs.Away), pauses.noted(installation):
            raise jobs.Away("Slack fails: 503")
    wait = (SlackInstallation.objects.get().next_at - timezone.now()).total_seconds()
    assert 280 < wait <= jobs.LONGEST_WAIT


def test_one_that_is_slow_gets_few_posts_at_a_time(slack, asked):
    sweep.sweep()
    ids = list(SlackNotice.objects.values_list("pk", flat=True))
    posted = posts(slack)
    others = ids[: pauses.AT_ONCE]
    SlackNotice.objects.filter(pk__in=others).update(held_until=timezone.now() + jobs.CLAIM)
    SlackNotice.objects.filter(pk=ids[-1]).update(done_at=None, ts="", shown="", retry_at=None)
    escalation.post_or_update(ids[-1])
    assert posts(slack) == posted and SlackNotice.objects.get(pk=ids[-1]).retry_at > timezone.now()
    SlackNotice.objects.filter(pk__in=others[1:]).update(held_until=None)
    SlackNotice.objects.update(retry_at=None)
    escalation.post_or_update(ids[-1])
    assert posts(slack) == posted + 1


def test_two_workers_do_not_both_try_after_a_pause(installation, asked):
    SlackInstallation.objects.update(next_at=timezone.now() - timedelta(seconds=1), away_times=4)
    assert pauses._not_before(installation.pk) is None
    assert pauses._not_before(installation.pk) > timezone.now()


def test_the_operator_is_told_of_one_that_stays_away(slack, asked):
    slack.faults = [Fault("chat.postMessage", status=503, times=100)]
    sweep.sweep()
    assert notices.receivers_that_fail() == [], "not of one that is away for a moment"
    SlackInstallation.objects.update(away_since=timezone.now() - timedelta(minutes=6))
    (said,) = notices.receivers_that_fail()
    assert said.startswith("Slack workspace Garden shop does not answer since ") and said.endswith("12 messages wait")
