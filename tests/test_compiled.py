"""Queries whose SQL is written once find what Django finds, whatever they are asked for and in whatever thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from django.db import connections
from django.db.models import F, Q

from sessions_app.compiled import Compiled
from sessions_app.models import Session

OTHERS = 3


@pytest.fixture
def sessions(agent) -> list[Session]:
    of = {"workspace_id": agent.workspace_id, "agent": agent}
    return [Session.objects.create(**of, title=f"Session {number}") for number in range(OTHERS)]


def by_title(workspace_id: UUID, title: str, least: int, at: datetime):
    later = Q(started_at=None) | Q(started_at__gt=at)
    found = Session.objects.filter(later, workspace_id=workspace_id, title=title, turn_count__gte=least)
    return found.select_related("agent").annotate(twice=F("turn_count") + least)


LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_each_asking_finds_its_own_rows_with_what_belongs_to_them(sessions, django_assert_num_queries):
    ask = Compiled[Session](by_title)
    for one in (*sessions, *reversed(sessions)):
        with django_assert_num_queries(1):
            [found] = ask(one.workspace_id, one.title, 0, LONG_AGO)
            assert (found, found.agent.name, found.twice) == (one, one.agent.name, 0)
    assert ask(uuid4(), sessions[0].title, 0, LONG_AGO) == []
    assert ask(sessions[0].workspace_id, sessions[0].title, 1, LONG_AGO) == []


def test_a_list_of_any_length_is_looked_for_by_one_statement(sessions, django_assert_num_queries):
    ask = Compiled[Session](lambda ids: Session.objects.filter(pk__any_of=ids))
    for wanted in (sessions[:1], sessions, sessions[1:]):
        assert set(ask([one.pk for one in wanted])) == set(wanted)
    with django_assert_num_queries(0):
        assert ask([]) == [], "an empty list finds nothing"


def test_what_is_asked_twice_at_the_same_value_takes_it_in_both_places(sessions):
    ask = Compiled[Session](lambda title: Session.objects.filter(Q(title=title) | Q(external_id=title)))
    assert ask.first("Session 1") == sessions[1] and ask.first("Session 9") is None


def test_a_value_that_the_statement_does_not_hold_is_refused_at_once(agent):
    ask = Compiled[Session](lambda limit: Session.objects.all()[: limit % 2 + 1])
    with pytest.raises(TypeError, match="no parameter"):
        ask(3)


@pytest.mark.django_db(transaction=True)
def test_threads_ask_over_their_own_connections(sessions):
    ask = Compiled[Session](lambda title: Session.objects.filter(title=title))

    def asked(number: int) -> list[Session]:
        try:
            return ask(f"Session {number % OTHERS}")
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(asked, range(40)))
    assert found == [[sessions[number % OTHERS]] for number in range(40)]
