"""Pages of a search, the newest sessions first: the walk through time leaves none out and takes none in."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.db.models import F

from sessions_app.models import SearchBlock, Session
from sessions_app.queries.sessions import said, search_walk, session_list
from sessions_app.queries.sessions.session_list import SessionFilter, found_page
from sessions_app.services import audit, sessions
from sessions_app.services.log import search_index
from tests.growth.reads import counted
from tests.services.build import append, user

pytestmark = pytest.mark.django_db
TEXTS = (
    "refund of order 4711 in src/app/models.py",
    "refund",
    "order 4711",
    "app, src and models",
    "退款申请",
    "nothing",
)
BEGAN = (None, datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 5, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC))
SEARCHES = (
    "refund", "refund order", "refund -order", '"order 4711"', '-"order 4711" refund', "src/app/models.py",
    "app models", "ref*", "退款", "absent", "refund absent", "file:src/app",
    "refund file:src/app/models.py", "refund -file:src/app", "refund or nothing", "refund tag:odd",
    "order -refund tag:odd",
)  # fmt: skip


@pytest.fixture
def desk(agent) -> UUID:
    """Sessions that began over three years, some at one moment, some in far years or never; each says two things."""
    dice = random.Random(23)
    begin = datetime(2024, 2, 1, tzinfo=UTC)
    moments = [*BEGAN, begin, begin, *(begin + timedelta(days=1_000 * dice.random() ** 2) for _ in range(24))]
    for number, moment in enumerate(moments):
        made = sessions.create(agent, by=audit.SYSTEM)
        append(made, *(user(text) for text in dice.sample(TEXTS, 2)))
        Session.objects.filter(pk=made.pk).update(started_at=moment, tags=["odd"] if number % 2 else [])
    return agent.workspace_id


def walked(workspace_id: UUID, words: str, limit: int) -> list[UUID]:
    """What the pages show, one after the other."""
    wanted, cursor, found = SessionFilter(q=words), None, []
    while True:
        page = found_page(workspace_id, wanted, limit, cursor)
        assert len(page.items) == limit or page.next_cursor is None, "a page is full, unless it is the last"
        found += [one.pk for one in page.items]
        if (cursor := page.next_cursor) is None:
            return found


@pytest.mark.parametrize("rounds", [search_walk.ROUNDS, 1])
def test_pages_have_the_sessions_of_the_filter_in_its_order(desk, monkeypatch, rounds):
    monkeypatch.setattr(search_walk, "ROUNDS", rounds)
    counts = set()
    for words in SEARCHES:
        all_of_them = session_list.page(
            session_list.filtered(desk, SessionFilter(q=words)), session_list.DEFAULT_SORT, 500, None
        )
        expected = [one.pk for one in all_of_them.items]
        assert [walked(desk, words, limit) for limit in (3, 50)] == [expected, expected], words
        counts.add(len(expected))
    assert len(counts) > 5, "some say a lot and some nothing"


def test_a_stretch_is_as_long_as_the_rest_of_the_page_should_need(agent, monkeypatch):
    """Of two words 60 of a hundred sessions say both: for 40 more 200 were looked at, and now 84."""
    asked, passed = [], iter((60, 0, 90))

    def walk(workspace_id, term, before, *, most):
        asked.append(most)
        return {uuid4() for _ in range(most)}, datetime(2026, 1, 1, tzinfo=UTC), most

    monkeypatch.setattr(said, "walk", walk)
    list(islice(search_walk.stretches(agent.workspace_id, "refund", None, 100, passed.__next__), 5))
    assert asked == [100, 84, 400, 82, 1_600], "where none has passed, and the last, as long as before"


def test_a_session_that_turns_out_to_have_begun_earlier_is_found_there(desk):
    first = found_page(desk, SessionFilter(q="refund"), 1, None).items[0]
    Session.objects.filter(pk=first.pk).update(started_at=F("started_at") - timedelta(days=20_000))
    again = walked(desk, "refund", 2)
    assert first.pk in again and again[0] != first.pk


def test_rows_of_an_older_version_are_placed_the_newest_first(desk, monkeypatch):
    before = dict(SearchBlock.objects.values_list("pk", "spans"))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_searchblock SET spans = NULL")
    monkeypatch.setattr(said._Placed, "known", False)
    monkeypatch.setattr(search_index, "PLACED", 10)
    assert not search_walk.can_walk(desk, "refund"), "until all are placed, searches read as before"
    expected = walked(desk, "refund", 50)
    assert search_index.place() == 10
    newest = SearchBlock.objects.order_by("-session_id")[:10]
    assert all(one.spans for one in newest)
    while search_index.place():
        pass
    assert search_walk.can_walk(desk, "refund") and walked(desk, "refund", 50) == expected
    assert dict(SearchBlock.objects.values_list("pk", "spans")) == before


def test_a_page_reads_about_as_much_as_it_shows(agent):
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(60):
        made = sessions.create(agent, by=audit.SYSTEM)
        append(made, user("refund" if number % 2 else "refund and parcel"))
        Session.objects.filter(pk=made.pk).update(started_at=begin + timedelta(hours=number))
    for words in ("refund", "parcel", "parcel refund", '"and parcel"'):
        with counted() as reads:
            found_page(agent.workspace_id, SessionFilter(q=words), 5, None)
        assert reads.by_relation["search_block_in_order"] < 60, (words, str(reads))
