"""Times of cron expressions, over both changes of the clock in several zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from sessions_app.services.triggers import cron_times


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def shown(cron: str, zone: str, after: str, count: int = 3) -> list[str]:
    """The next times as the clock on the wall has them, with their distance from UTC."""
    return [f"{time:%m-%d %H:%M %z}" for time in cron_times.upcoming(cron, zone, at(after), count)]


@pytest.mark.parametrize(("zone", "after", "cron", "times"), [
    # the clock leaps over it: once, as soon as the clock goes on
    ("Europe/Berlin", "2026-03-28T12:00Z", "30 2 * * *", ["03-29 03:00 +0200", "03-30 02:30 +0200"]),
    ("America/New_York", "2026-03-07T12:00Z", "15 2 * * *", ["03-08 03:00 -0400", "03-09 02:15 -0400"]),
    ("Australia/Lord_Howe", "2026-10-03T00:00Z", "15 2 * * *", ["10-04 02:30 +1100", "10-05 02:15 +1100"]),
    ("Africa/Cairo", "2026-04-23T12:00Z", "30 0 * * *", ["04-24 01:00 +0300", "04-25 00:30 +0300"]),
    ("Europe/Berlin", "2026-03-28T12:00Z", "0,30 2,3 29 3 *", ["03-29 03:00 +0200", "03-29 03:30 +0200"]),
    # it comes twice: the first time
    ("Europe/Berlin", "2026-10-24T12:00Z", "30 2 * * *", ["10-25 02:30 +0200", "10-26 02:30 +0100"]),
    ("America/New_York", "2026-10-31T12:00Z", "30 1 * * *", ["11-01 01:30 -0400", "11-02 01:30 -0500"]),
    ("Australia/Lord_Howe", "2026-04-04T00:00Z", "45 1 * * *", ["04-05 01:45 +1100", "04-06 01:45 +1030"]),
    # what repeats goes by the time that passes
    ("Europe/Berlin", "2026-03-29T00:15Z", "30 * * * *", ["03-29 01:30 +0100", "03-29 03:30 +0200"]),
    ("Europe/Berlin", "2026-10-24T23:45Z", "0 * * * *", ["10-25 02:00 +0200", "10-25 02:00 +0100"]),
    ("Australia/Lord_Howe", "2026-04-04T14:05Z", "*/30 * * * *", ["04-05 01:30 +1100", "04-05 01:30 +1030"]),
    ("Australia/Lord_Howe", "2026-10-03T15:15Z", "*/30 * * * *", ["10-04 02:30 +1100", "10-04 03:00 +1100"]),
    # a quarter of an hour from the hour
    ("Asia/Kathmandu", "2026-06-01T00:00Z", "0 9 * * *", ["06-01 09:00 +0545", "06-02 09:00 +0545"]),
])  # fmt: skip
def test_cron_times_follow_daylight_saving_changes(zone, after, cron, times):
    assert shown(cron, zone, after, 2) == times


def test_between_the_two_halves_of_an_hour_that_comes_twice_the_time_is_over():
    assert shown("45 2 * * *", "Europe/Berlin", "2026-10-25T01:30Z", 1) == ["10-26 02:45 +0100"]
    assert shown("30 2 * * *", "Europe/Berlin", "2026-10-25T00:30Z", 1) == ["10-26 02:30 +0100"]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "UTC"])
@pytest.mark.parametrize("cron", ["*/7 * * * *", "30 2 * * *", "0 */2 * * *", "15,45 1-3 * * SUN", "0 0 L * *"])
def test_asking_anew_after_each_time_gives_the_same_times(zone, cron):
    """The sweep asks after every fire; whoever asks once and goes on must see no other times."""
    start, count = at("2026-03-01T00:00Z"), 200 if cron.startswith("*") else 60
    walked = list(islice(cron_times.times(cron, zone, start), count))
    asked, after = [], start
    for _ in range(count):
        asked.append(after := next(cron_times.times(cron, zone, after)))
    assert asked == walked
    assert all(earlier < later for earlier, later in pairwise(walked))


def test_every_minute_of_a_year_comes_once_in_every_zone():
    for zone in ("Australia/Lord_Howe", "Europe/Berlin"):
        walked = list(islice(cron_times.times("* * * * *", zone, at("2026-10-01T00:00Z")), 60 * 24 * 30))
        assert {later - earlier for earlier, later in pairwise(walked)} == {timedelta(minutes=1)}


@pytest.mark.parametrize(("cron", "words"), [
    ("0 9 * * * *", r'has 6 fields: use five, .* there are no seconds'),
    ("@daily", r'"@daily" has 1 field: use five'),
    ("", "has 0 fields"),
    ("60 9 * * *", r'the minute "60" means nothing: use 0-59'),
    ("0 24 * * *", r'the hour "24" means nothing: use 0-23'),
    ("0 9 * * FUNDAY", r'the day-of-week "FUNDAY" means nothing: use 0-7 or SUN-SAT'),
    ("0 9 32 * *", r'the day-of-month "32" means nothing'),
    ("0 0 30 2 *", r'"0 0 30 2 \*" never comes: no month that it names has a day 30'),
    ("0 0 31 4,6 *", "never comes"),
    ("0 ² * * *", "the hour"),
    ("*/0 * * * *", "the minute"),
    (f"{'9' * 190} * * * *", "the minute"),
])  # fmt: skip
def test_invalid_cron_expression_is_refused_with_an_explanation(cron, words):
    with pytest.raises(cron_times.Invalid, match=words) as raised:
        cron_times.checked(cron, "UTC")
    assert raised.value.field == "cron"
    assert len(str(raised.value)) < 400


@pytest.mark.parametrize(("zone", "words"), [
    ("Europe/Berln", "did you mean Europe/Berlin"), ("../../etc/passwd", "use a name like"), ("", "use a name like"),
    ("Mars/Olympus", "is no time zone"),
])  # fmt: skip
def test_unknown_time_zone_is_refused_with_an_explanation(zone, words):
    with pytest.raises(cron_times.Invalid, match=words) as raised:
        cron_times.checked("0 9 * * *", zone)
    assert raised.value.field == "timezone"


def test_the_29th_of_february_comes_in_leap_years():
    assert shown("0 0 29 2 *", "UTC", "2026-03-01T00:00Z", 2) == ["02-29 00:00 +0000"] * 2


def test_cron_examples_are_valid_and_described():
    for cron, words in cron_times.EXAMPLES.items():
        assert cron_times.checked(cron, "Europe/Berlin") == (cron, "Europe/Berlin")
        assert words and cron_times.in_words(cron)
