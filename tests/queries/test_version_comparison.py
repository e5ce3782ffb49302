"""What two versions of an agent come to, and how sure the difference is."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.queries.sessions.version_comparison import compare_versions, mean_range, share_range, student


def test_a_range_of_shares_is_that_of_the_paper():
    """Newcombe 1998, table II, example (a) by method 10: 56/70 against 48/80 differ by 0.0524 to 0.3339."""
    found = share_range([1.0] * 48 + [0.0] * 32, [1.0] * 56 + [0.0] * 14)
    assert (found.low, found.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    assert found.is_clear


def test_shares_of_none_and_all_have_a_range():
    found = share_range([0.0] * 10, [0.0] * 10)
    assert found.low < 0 < found.high and not found.is_clear


def test_a_range_of_means_is_that_of_the_textbook():
    """Student's ten patients with two drugs (1908) by Welch's test, as R tells it: t.test(extra ~ group, sleep)."""
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = mean_range(one, other)
    assert (found.low, found.high) == (pytest.approx(-0.2054832, abs=1e-4), pytest.approx(3.3654832, abs=1e-4))


@pytest.mark.parametrize(("freedom", "quantile"), [(9, 2.262157), (18, 2.100922), (30, 2.042272), (120, 1.979930)])
def test_few_sessions_widen_a_range_as_tables_of_students_distribution_say(freedom, quantile):
    assert student(freedom) == pytest.approx(quantile, abs=2e-5)


def test_sessions_that_do_not_differ_have_a_range_without_width():
    found = mean_range([2.0] * 10, [3.0] * 10)
    assert (found.low, found.high, found.is_clear) == (1, 1, True)


def test_of_few_sessions_no_range_is_told():
    assert mean_range([1.0] * 9, [2.0] * 100) is None and share_range([1.0] * 100, [0.0] * 9) is None


def ran(agent, version: int, minutes: int, **fields) -> Session:
    since = timezone.now() - timedelta(hours=1)
    until = since + timedelta(minutes=minutes)
    return Session.objects.create(
        workspace_id=agent.workspace_id, agent=agent, agent_version=version, started_at=since, ended_at=until, **fields
    )


def test_each_version_has_its_own_sessions(agent):
    for errors in (0, 2):
        ran(agent, 1, 10, error_count=errors, verdict="fail", tags=["eval"])
    ran(agent, 2, 4, turn_count=3, verdict="pass", tags=["eval"])
    ran(agent, 2, 4, turn_count=5, verdict="mixed")
    ran(agent, 3, 999)
    found = compare_versions(agent.pk, 1, 2)
    by_name = {measure.name: measure for measure in found.measures}
    assert (found.old_sessions, found.new_sessions) == (2, 2)
    assert (by_name["Duration"].old, by_name["Duration"].new, by_name["Duration"].difference) == (600, 240, -360)
    assert (by_name["Turns"].new, by_name["With errors"].old, by_name["With errors"].new) == (4, 0.5, 0)
    assert (by_name["Passed review"].new, by_name["Passed review"].new_count) == (1, 1)
    assert (by_name["Cost"].old, by_name["Cost"].old_count) == (None, 0)
    assert compare_versions(agent.pk, 1, 2, tag="eval").new_sessions == 1
