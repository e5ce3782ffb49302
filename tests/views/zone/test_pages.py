"""Pages in the zone that the browser says: named once, and UTC where it says none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Session

from ..build import session_of, words


@pytest.fixture
def july(agent) -> Session:
    session = session_of(agent, title="Summer")
    Session.objects.filter(pk=session.pk).update(started_at=datetime(2024, 7, 1, 22, 30, tzinfo=UTC))
    return session


def test_times_are_in_the_zone_of_the_browser_which_is_named(reviewer, july):
    reviewer.cookies["zone"] = "Europe%2FBerlin"
    answer = reviewer.get("/sessions/")
    assert 'title="2024-07-02 00:30:00 +02:00">2 Jul 2024<' in answer.content.decode()
    assert words(answer).count("Times are in Europe/Berlin.") == 1
    page = words(reviewer.get(f"/dashboard/sub-agents/{july.agent_id}/chat/{july.pk}"))
    assert "times are in Europe/Berlin" in page


@pytest.mark.parametrize("said", [None, "Nowhere%2FElse", "..%2F..%2Fetc%2Fpasswd", "%00"])
def test_without_a_zone_that_there_is_times_are_utc(reviewer, july, said):
    if said is not None:
        reviewer.cookies["zone"] = said
    answer = reviewer.get("/sessions/")
    assert 'title="2024-07-01 22:30:00 UTC">1 Jul 2024<' in answer.content.decode()
    assert "Times are in UTC." in words(answer)


def test_the_zone_of_one_request_is_not_that_of_the_next(reviewer, viewer, july):
    reviewer.cookies["zone"] = "Asia%2FTokyo"
    reviewer.get("/sessions/")
    assert "Times are in UTC." in words(viewer.get("/sessions/"))


def test_days_of_usage_and_the_api_stay_in_utc(reviewer, july):
    reviewer.cookies["zone"] = "Asia%2FTokyo"
    assert "Days begin at midnight UTC" in words(reviewer.get("/usage/?from=2024-07-01"))
    told = reviewer.get(f"/api/v1/sessions/{july.pk}").json()["started_at"]
    assert re.fullmatch(r"2024-07-01T22:30:00(\.0+)?Z", told)


def test_what_is_printed_says_when_in_the_zone_of_the_page(reviewer, july):
    """Paper said UTC of the reader's own clock."""
    reviewer.cookies["zone"] = "Asia%2FTokyo"
    printed = re.search(r"saw it (\d{4}-\d\d-\d\d \d\d:\d\d) JST", words(reviewer.get("/sessions/")))
    at = datetime.strptime(f"{printed[1]} +0900", "%Y-%m-%d %H:%M %z")
    assert abs(timezone.now() - at) < timedelta(minutes=10)
