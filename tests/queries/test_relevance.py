"""The most relevant first: among the newest sessions that say it, in pages that stay as they were."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from sessions_app.models import Session
from sessions_app.queries.sessions import relevance, session_list
from sessions_app.queries.sessions.conditions import BadFilter
from sessions_app.queries.sessions.session_list import Ranked, SessionFilter
from sessions_app.services import audit, sessions
from sessions_app.services.log import search_index
from tests import database_roles
from tests.growth.reads import counted
from tests.services.build import append, user

pytestmark = pytest.mark.django_db
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def says(agent):
    """Makes a session that says some texts, each a day after the one before."""
    made: list[UUID] = []

    def make(*texts: str, title: str = "Untitled") -> UUID:
        session = sessions.create(agent, by=audit.SYSTEM, title=title)
        append(session, *(user(text) for text in texts))
        search_index.index(session.pk)
        Session.objects.filter(pk=session.pk).update(started_at=BEGIN + timedelta(days=len(made)))
        made.append(session.pk)
        return session.pk

    return make


def ranked(agent, words: str, limit: int = 50, **more) -> list[UUID]:
    """All pages, one after the other."""
    wanted, cursor, found = SessionFilter(q=words, sort="relevance", **more), None, []
    while True:
        page = relevance.found_page(agent.workspace_id, wanted, limit, cursor)
        found += [one.pk for one in page.items]
        if (cursor := page.next_cursor) is None:
            return found


FILLER = ["nothing of the kind"] * 63


def test_a_title_is_before_what_is_said_often_and_that_before_what_is_said_once(agent, says):
    titled = says("a refund", *FILLER, *FILLER, title="The refund")
    often = says("a refund", *FILLER, "a refund", *FILLER, "a refund")
    once = says("a refund", *FILLER, *FILLER, *FILLER)
    says("nothing")
    assert ranked(agent, "refund") == [titled, often, once]


def test_words_within_64_events_are_before_words_that_are_far_apart(agent, says):
    together = says("a refund of the order", *FILLER, *FILLER)
    apart = says("a refund", *FILLER, *FILLER, "an order")
    assert ranked(agent, "refund order") == [together, apart]


@pytest.mark.parametrize("words", ["refund order or invoice", "never or not or nowhere or refund order"])
def test_words_of_an_alternative_are_close_together_whether_or_not_each_is_counted(agent, says, words):
    """Four words are counted by themselves; of more, an alternative is asked for as a whole."""
    together = says("a refund of the order", *FILLER, *FILLER)
    says("a refund", *FILLER, *FILLER, "an order")
    says("an order", *FILLER, *FILLER, "a refund")
    assert ranked(agent, words)[0] == together


def test_of_two_that_say_it_as_well_the_newer_is_first(agent, says):
    older, newer = says("a refund"), says("a refund")
    assert ranked(agent, "refund") == [newer, older]


@pytest.mark.parametrize("words", ["refund or order", '"a refund"', "ref*", "refund -order", "退款", "src/app.py"])
def test_whatever_is_looked_for_the_same_sessions_are_found_as_in_the_list(agent, says, words):
    for text in ("a refund", "an order", "a refund of an order", "退款申请", "in src/app.py", "nothing"):
        says(text)
    listed = session_list.found_page(agent.workspace_id, SessionFilter(q=words), 50, None)
    assert listed.items and {one.pk for one in listed.items} == set(ranked(agent, words))


def test_filters_and_operators_hold(agent, says):
    first, second = says("a refund"), says("a refund")
    Session.objects.filter(pk=first).update(tags=["vip"])
    assert ranked(agent, "refund", tag="vip") == ranked(agent, "refund tag:vip") == [first]
    assert ranked(agent, "refund -tag:vip") == [second]


def test_it_says_among_how_many_it_ranked(agent, says, monkeypatch):
    monkeypatch.setattr(relevance, "CANDIDATES", 3)
    wanted = SessionFilter(q="refund", sort="relevance")
    oldest = says("a refund", title="refund")
    for _ in range(2):
        says("a refund")
    assert relevance.found_page(agent.workspace_id, wanted, 9, None).ranked == Ranked(3, is_all=True)
    assert ranked(agent, "refund")[0] == oldest
    says("a refund")
    assert relevance.found_page(agent.workspace_id, wanted, 9, None).ranked == Ranked(3, is_all=False)
    assert oldest not in ranked(agent, "refund"), "an older one is not ranked, however well it says it"


@pytest.mark.parametrize(
    ("words", "most"), [("refund", 3), ("a refund", 2), ('"a refund"', 2), ("re/fund", 2), ("a refund of", 1)]
)
def test_of_what_reads_more_of_each_session_fewer_are_ranked(agent, says, monkeypatch, words, most):
    monkeypatch.setattr(relevance, "CANDIDATES", 3)
    monkeypatch.setattr(relevance, "FEWER", 2)
    monkeypatch.setattr(relevance, "FEWEST", 1)
    for _ in range(4):
        says("a refund of re/fund")
    wanted = SessionFilter(q=words, sort="relevance")
    assert relevance.found_page(agent.workspace_id, wanted, 9, None).ranked == Ranked(most, is_all=False)


def test_pages_show_each_session_once_while_others_begin(agent, says):
    wanted = SessionFilter(q="refund", sort="relevance")
    there = {says("a refund", title="refund" if number % 3 else "x") for number in range(7)}
    page = relevance.found_page(agent.workspace_id, wanted, 3, None)
    found = [one.pk for one in page.items]
    says("a refund", title="refund")
    while page.next_cursor:
        page = relevance.found_page(agent.workspace_id, wanted, 3, page.next_cursor)
        found += [one.pk for one in page.items]
    assert len(found) == 7 and set(found) == there


@pytest.mark.parametrize("words", ["", "-refund", "tag:vip", "!!"])
def test_without_words_there_is_nothing_to_rank_by(agent, says, words):
    with pytest.raises(BadFilter, match="search for some") as bad:
        ranked(agent, words)
    assert bad.value.field == "sort"


@pytest.mark.parametrize("cursor", ["x", "W10", "WzAsIngiXQ", "WzEsMl0", "WzUwMCwieCJd", "bnVsbA"])
def test_a_cursor_that_is_none_is_refused(agent, says, cursor):
    says("a refund")
    with pytest.raises(BadFilter) as bad:
        relevance.found_page(agent.workspace_id, SessionFilter(q="refund", sort="relevance"), 9, cursor)
    assert bad.value.field == "cursor"


def test_long_sessions_are_ranked_by_their_titles_where_counting_would_read_too_much(agent, says, monkeypatch):
    plain = says(*["a refund"] * 200)
    titled = says(*["a refund"] * 200, title="refund")
    newest = says("a refund")
    assert ranked(agent, "refund")[0] == titled
    with counted() as whole:
        ranked(agent, "refund")
    monkeypatch.setattr(relevance, "COUNTED", 4)
    with counted() as reads:
        assert ranked(agent, "refund") == [titled, newest, plain]
    # Of the index alone: whether an agent is looked up once or for each session, the planner decides anew each time.
    assert reads.by_relation["search_block_in_order"] < whole.by_relation["search_block_in_order"]


def test_what_is_read_does_not_grow_with_how_many_say_it(agent, says):
    for _ in range(150):
        says("a refund")
    _gather_statistics()
    with counted() as few:
        ranked(agent, "refund", limit=200)
    for _ in range(150):
        says("a refund")
    _gather_statistics()
    with counted() as many:
        assert len(ranked(agent, "refund", limit=200)) == relevance.CANDIDATES
    assert many.rows <= few.rows * 1.3 + 100
    assert many.rows < 2_000


def test_words_side_by_side_are_looked_for_in_one_session_and_not_in_all(agent, says, django_assert_max_num_queries):
    """Where the index is asked by the workspace it gives back the rows of all sessions for each: 102 of them 42 times,
    which small tables do not show."""
    for _ in range(30):
        says("re fund", "a refund of it")
    with django_assert_max_num_queries(8) as asked:
        found = session_list.found_page(agent.workspace_id, SessionFilter(q='"a refund of"'), 10, None)
    assert len(found.items) == 10
    reading = [one["sql"] for one in asked.captured_queries if "~*" in one["sql"]]
    assert reading
    for passes in reading:
        assert "'@s" in passes and "'@w" not in passes
        before, _, ordered = passes.rpartition(" FROM ")
        assert "~*" in before and "LIMIT" in ordered, "no event is read of sessions behind those of the page"


def _gather_statistics() -> None:
    """As autovacuum would: without, any index of the workspace looks as good as that of its order."""
    with database_roles.as_owner() as cursor:
        cursor.execute("ANALYZE")
