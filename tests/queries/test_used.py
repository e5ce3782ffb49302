"""The filter of sessions by when they were at work finds what the turns say, from kept days and parts of days."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.models import Session
from sessions_app.queries.sessions import used as queries
from sessions_app.services import workspaces
from tests.services.build import answer, append, user

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
PERIODS = (
    (None, None), (START, None), (None, START), (START, START), (START + HOUR, START),
    (START.replace(hour=0), START.replace(hour=0)), (START.replace(hour=0), START.replace(hour=0) + timedelta(days=3)),
    (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)),
    *((START + a * HOUR, START + b * HOUR) for a, b in ((0, 5), (0, 12), (0, 30), (12, 36), (13, 80), (-30, 200))),
)  # fmt: skip


@pytest.fixture
def sessions(agent) -> list[Session]:
    """Sessions whose turns are hours apart; some turns have no time of their own."""
    dice, made = random.Random(11), []
    for number in range(12):
        session = Session.objects.create(
            workspace_id=agent.workspace_id, agent=agent, started_at=START + number * 7 * HOUR
        )
        for turn in range(3):
            at = None if dice.random() < 0.3 else START + HOUR * dice.uniform(-20, 120)
            append(session, user(f"Question {turn}", at=at), answer(model="m-1", output_tokens=3))
        made.append(session)
    return made


@pytest.mark.django_db
def test_kept_days_find_the_sessions_that_the_turns_do(sessions, agent):
    found = {}
    for since, until in PERIODS[1:]:
        by_turns = Session.objects.filter(queries._with_turns(since, until)).order_by("pk")
        by_days = Session.objects.filter(queries.used(agent.workspace_id, since, until)).order_by("pk")
        assert list(by_days) == list(by_turns), (since, until)
        found[since, until] = len(by_days)
    assert {0, len(sessions)} < set(found.values()), "some periods have none, some all, some a part of them"


@pytest.mark.django_db
def test_asked_one_by_one_they_say_the_same(sessions, agent):
    listed = Session.objects.order_by("-started_at", "-pk")
    for since, until in PERIODS[1:]:
        all_at_once = queries.used(agent.workspace_id, since, until)
        one_by_one = queries.used_each(agent.workspace_id, since, until)
        assert list(listed.filter(one_by_one)) == list(listed.filter(all_at_once)), (since, until)


@pytest.mark.django_db
def test_another_workspace_has_none_of_them(sessions):
    other = workspaces.create_workspace("other")
    assert not Session.objects.filter(queries.used(other.pk, START, None)).exists()
