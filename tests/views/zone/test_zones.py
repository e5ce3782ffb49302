"""Times by the reader's clock: summer and winter of one zone, and names that are no zones."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from sessions_app.templatetags import desk, timeline
from sessions_app.views import zones

WINTER = datetime(2026, 3, 29, 0, 59, 59, 120_000, tzinfo=UTC)
SUMMER = datetime(2026, 3, 29, 1, 0, 0, tzinfo=UTC)
"""One second later in Berlin, whose clocks go forward here."""


def test_a_zone_keeps_its_offset_of_the_moment_it_shows():
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert zones.exact(WINTER, milliseconds=True) == "2026-03-29 01:59:59.120 +01:00"
        assert zones.exact(SUMMER) == "2026-03-29 03:00:00 +02:00"
        assert (zones.minute(WINTER), zones.minute(SUMMER)) == ("2026-03-29 01:59 CET", "2026-03-29 03:00 CEST")
        assert ">03:00:00<" in timeline.clock(SUMMER) and ">01:59:59<" in timeline.clock(WINTER)


def test_an_hour_that_comes_twice_is_told_apart_by_its_offset():
    twice = [datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1)]
    with timezone.override(ZoneInfo("Europe/Berlin")):
        assert [zones.exact(at) for at in twice] == ["2026-10-25 02:30:00 +02:00", "2026-10-25 02:30:00 +01:00"]


def test_the_day_is_the_readers():
    late = datetime(2024, 12, 31, 23, 30, tzinfo=UTC)
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        assert ">1 Jan 2025<" in desk.ago(late)
    with timezone.override(ZoneInfo("America/Los_Angeles")):
        assert ">31 Dec 2024<" in desk.ago(late) and '"2024-12-31 15:30:00 -08:00"' in desk.ago(late)


def test_without_a_zone_it_is_utc():
    assert zones.name() == "UTC"
    assert zones.exact(SUMMER) == "2026-03-29 01:00:00 UTC" and zones.minute(SUMMER) == "2026-03-29 01:00 UTC"


def test_a_zone_without_letters_is_called_by_its_offset():
    with timezone.override(ZoneInfo("America/Sao_Paulo")):
        assert zones.abbreviation(SUMMER) == "UTC-03:00"


@pytest.mark.parametrize(
    "name", ["", "Nowhere/Else", "../../etc/passwd", "/etc/passwd", "Europe", "localtime", "é", "x" * 99, "a\0b"]
)
def test_what_is_no_zone_is_none(name):
    assert zones.zone_named(name) is None
