"""Times, states and shares as the pages say them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.template import Context, Template
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.queries.money.totals import Sums
from sessions_app.templatetags import desk


@pytest.mark.parametrize(
    ("seconds", "says"),
    [
        (5, "just now"), (-5, "in a moment"), (90, "1 m ago"), (-90, "in 1 m"), (3 * 3600, "3 h ago"),
        (-58 * 60, "in 58 m"), (6 * 86400, "6 d ago"),
    ],
)  # fmt: skip
def test_times_are_relative(seconds, says):
    nearly = 0.5 if seconds > 0 else -0.5  # of a second more, so that it is still true when it is looked at
    assert f">{says}</time>" in desk.ago(timezone.now() - timedelta(seconds=seconds + nearly))


def test_the_exact_time_is_in_the_title_and_for_machines():
    at = datetime(2024, 3, 5, 9, 8, 7, tzinfo=UTC)
    shown = desk.ago(at)
    exact = 'datetime="2024-03-05T09:08:07+00:00" title="2024-03-05 09:08:07 UTC"'
    assert shown == f'<time class="relative" {exact}>5 Mar 2024</time>'


def test_unknown_value_is_a_dash_with_its_reason():
    assert desk.ago(None) == '<span class="num" title="the source does not say">—</span>'
    assert ">—</span>" in desk.money(Sums())
    assert desk.money(Sums(unpriced_tokens=7)) == '<span class="num" title="no price is known for its model">—</span>'
    assert desk.share(None) == "—"


def test_money_says_where_it_comes_from():
    assert "reported by the recorder" in desk.money(Sums(cost_recorded=1))
    assert "estimated from list prices" in desk.money(Sums(cost_priced=1))
    partial = desk.money(Sums(cost_recorded=1, cost_priced=2, unpriced_tokens=1500))
    assert "≥ $3.00" in partial and "at least, because 1,500 tokens have no known price" in partial


@pytest.mark.parametrize(("fraction", "says"), [(0, "0 %"), (0.004, "< 1 %"), (0.5, "50 %"), (1, "100 %")])
def test_share_is_shown_as_a_percentage(fraction, says):
    assert desk.share(fraction) == says


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"pending_approvals": 1, "phase": "crashed"}, "Needs approval"),
        ({"phase": "crashed", "status": "archived"}, "Crashed"),
        ({"status": "running"}, "Running"),
        ({"status": "idle", "phase": "completed"}, "Completed"),
        ({"status": "archived", "phase": "completed"}, "Archived"),
        ({}, "Idle"),
    ],
)
def test_a_session_is_marked_by_what_matters_most(fields, word):
    mark = Template("{% load desk %}{% state session %}").render(Context({"session": Session(**fields)}))
    assert word in mark and "<svg" in mark


def test_a_sparkline_is_drawn_without_style_attributes():
    drawn = Template("{% load desk %}{% sparkline days %}").render(Context({"days": [0, 1, 36, 0]}))
    assert drawn.count("<rect") == 4 and "style" not in drawn
    assert "37 sessions in 4 days, at most 36 a day" in drawn


def test_what_a_file_calls_completed_is_not_vouched_for():
    mine, imported = (desk.state(Session(phase="completed", origin=origin)) for origin in ("chat", "import"))
    assert "nobody here checked the work" in imported and "checked" not in mine
