"""The list of sessions: filters that are the URL, order, totals, pages, and values that mean nothing."""

from __future__ import annotations

import base64
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.queries.sessions import session_list as queries
from sessions_app.services import agents
from sessions_app.views import session_list
from tests import database_roles
from tests.html import on_one_line

from .build import asks, session_of, words


def titles(response) -> list[str]:
    return re.findall(r'data-row href="[^"]*/chat/[^"]*"[^>]*>([^<]*)</a>', response.content.decode())


@pytest.fixture
def three_sessions(workspace, agent) -> None:
    clerk = agents.get_or_create_agent(workspace.id, "Invoice clerk")
    session_of(agent, "Cheap", cost="0.01", tags=["vip"])
    session_of(agent, "Dear", cost="7.50", errors=2, status="archived")
    asks(session_of(clerk, "Waits", cost="0.50", status="running", origin="webhook"))


FOUND = {
    "": {"Cheap", "Dear", "Waits"},
    "agent=invoice-clerk": {"Waits"},
    "agent=nobody": set(),
    "status=archived": {"Dear"},
    "origin=webhook": {"Waits"},
    "tag=vip": {"Cheap"},
    "q=cheap": {"Cheap"},
    "q=timed": {"Dear"},
    "min_cost=0.50": {"Dear", "Waits"},
    "ended=archived": {"Dear"},
    "ended=idle": {"Cheap"},
    "ended=waiting": {"Waits"},
    "ended=running": set(),
    "q=ended:waiting": {"Waits"},
    "q=-ended:WAITING": {"Cheap", "Dear"},
    "ended=broke_off": set(),
    "has_errors=true": {"Dear"},
    "has_errors=false&needs_approval=false": {"Cheap"},
    "needs_approval=yes": {"Waits"},
    "from=2001-01-01&to=2001-01-02": set(),
    "from=2001-01-01T00:00Z&to=2999-12-31": {"Cheap", "Dear", "Waits"},
}
"""What is asked of the list of three sessions, and which of them it has."""


def test_session_list_is_filtered(viewer, three_sessions):
    for query, found in FOUND.items():
        assert set(titles(viewer.get(f"/sessions/?{query}"))) == found, query


def test_the_order_is_that_of_a_column_and_turns_round(viewer, three_sessions):
    assert titles(viewer.get("/sessions/?sort=cost")) == ["Cheap", "Waits", "Dear"]
    assert titles(viewer.get("/sessions/?sort=-cost")) == ["Dear", "Waits", "Cheap"]
    assert 'aria-sort="descending"><a href="?sort=cost">Cost' in on_one_line(viewer.get("/sessions/?sort=-cost"))


def test_the_totals_are_those_of_what_is_filtered(viewer, three_sessions):
    everything, dear = words(viewer.get("/sessions/")), words(viewer.get("/sessions/?has_errors=true"))
    assert "3 sessions" in everything and "$8.01" in everything and "1 pending" in everything
    assert "1 session " in dear and "$7.50" in dear and "2 errors" in dear and "1.2 k tokens" in dear


def test_an_active_filter_is_a_chip_that_takes_it_off(viewer, three_sessions):
    page = on_one_line(viewer.get("/sessions/?has_errors=true&tag=vip"))
    assert 'href="?tag=vip" aria-current="true">With errors' in page
    assert 'href="?has_errors=true" aria-current="true">tag vip' in page


def test_more_rows_follow_without_a_gap_with_htmx_and_without(viewer, agent, monkeypatch):
    monkeypatch.setattr(session_list, "ROWS", 2)
    for number in range(5):
        session_of(agent, f"Number {number}")
    page = viewer.get("/sessions/?sort=title")
    assert titles(page) == ["Number 0", "Number 1"]
    more = re.search(r'href="(\?[^"]*cursor=[^"]*)"', page.content.decode())[1].replace("&amp;", "&")
    session_of(agent, "Number 00")
    fragment = viewer.get(f"/sessions/{more}", headers={"HX-Request": "true"})
    assert titles(fragment) == ["Number 2", "Number 3"]
    assert "<html" not in fragment.content.decode()
    assert fragment.headers["Vary"].count("HX-Request") == 1
    assert titles(viewer.get(f"/sessions/{more}")) == ["Number 2", "Number 3"]


def test_the_row_that_loads_more_has_no_column_of_its_own(viewer, agent, monkeypatch):
    """Columns with widths share what is left with every column that any row has."""
    monkeypatch.setattr(session_list, "FIRST", 2)
    for number in range(4):
        session_of(agent, title=f"Session {number}")
    page = viewer.get("/sessions/").content.decode()
    spans = {int(number) for number in re.findall(r'colspan="(\d+)"', page)}
    assert spans and max(spans) <= page.count('<th scope="col"')


def test_a_boosted_link_gets_the_whole_page(viewer, three_sessions):
    page = viewer.get("/sessions/", headers={"HX-Request": "true", "HX-Boosted": "true"})
    assert "<html" in page.content.decode()


TOLD = {
    "status=done": '"done" is no status; use one of idle, running, archived',
    "origin=moon": '"moon" is no origin',
    "ended=never": '"never" is no state; use one of completed, broke_off, error',
    "sort=luck": '"luck" is no order',
    "from=yesterday": '"yesterday" is no date',
    "to=9999-12-31": '"9999-12-31" is no date',
    "min_cost=abc": '"abc" is no amount of dollars',
    "min_cost=-1": '"-1" is no amount of dollars',
    "min_cost=NaN": '"NaN" is no amount of dollars',
    "min_cost=1e999999": '"1e999999" is no amount of dollars',
    "has_errors=maybe": '"maybe" is neither true nor false',
    "q=%00": "without NUL",
    "tag=%00": "without NUL",
    "agent=a%00": "without NUL",
    "cursor=nonsense": "begin again without one",
    "sort=cost&cursor=WyIxZTk5OTk5OSIsICIwMTlhMDAwMC0wMDAwLTcwMDAtODAwMC0wMDAwMDAwMDAwMDAiXQ": "begin again",
    "sort=title&cursor=WyJcdTAwMDAiLCAiMDE5YTAwMDAtMDAwMC03MDAwLTgwMDAtMDAwMDAwMDAwMDAwIl0": "begin again",
}
"""Values that mean nothing, and what the page says of each."""


def test_a_value_that_means_nothing_is_told_and_the_form_keeps_the_rest(viewer, three_sessions):
    for query, says in TOLD.items():
        answer = viewer.get(f"/sessions/?{query}&tag=keep" if "tag" not in query else f"/sessions/?{query}")
        assert answer.status_code == 400, query
        assert says in words(answer)
        assert 'role="search"' in answer.content.decode(), query
        if "tag" not in query:
            assert 'value="keep"' in answer.content.decode(), query


def test_every_bad_value_is_told_at_once(viewer):
    page = words(viewer.get("/sessions/?status=x&min_cost=x&from=x"))
    assert "is no status" in page and "is no amount" in page and "is no date" in page


def test_strange_words_are_no_fault_of_the_server(viewer, three_sessions):
    for query in ("q=" + "x" * 3000, "q='%22:*%26|!((", "from=0001-01-01", "q=%ff%fe%ed%a0%80"):
        assert viewer.get(f"/sessions/?{query}").status_code in (200, 400), query


def test_hostile_titles_are_text(viewer, agent):
    session_of(agent, "<script>alert(1)</script>\u202egnp.exe")
    page = viewer.get("/sessions/").content.decode()
    assert "<script>alert" not in page
    assert "\u202e" not in page


def test_unknown_cost_is_a_dash_and_a_part_is_at_least(viewer, agent):
    session_of(agent, "No price", cost=None)
    assert "—" in words(viewer.get("/sessions/"))
    session_of(agent, "Price", cost="0.25")
    assert "≥ $0.25" in words(viewer.get("/sessions/"))


def test_an_empty_list_says_what_to_do(viewer, workspace):
    assert "There are no sessions yet" in words(viewer.get("/sessions/"))


def test_a_filter_that_finds_nothing_can_be_taken_off(viewer, three_sessions):
    assert "No sessions match" in words(viewer.get("/sessions/?q=zebra"))


def test_invalid_filter_is_refused_in_the_words_of_the_form(viewer):
    page = words(viewer.get("/sessions/?min_cost=abc&to=soon&sort=luck"))
    assert 'Cost at least : "abc" is no amount' in page and 'Started to : "soon" is no date' in page
    assert 'Sort : "luck" is no order' in page and "min_cost" not in page


def test_more_sessions_than_are_added_up_unasked_have_totals_on_demand(viewer, three_sessions, monkeypatch):
    monkeypatch.setattr(session_list, "ROWS", 2)
    monkeypatch.setattr(queries, "SUMMED", 2)
    page = viewer.get("/sessions/")
    assert "More than 2 sessions" in words(page) and "$8.01" not in words(page)
    assert 'href="?totals=all"' in page.content.decode()
    assert "3 sessions" in words(viewer.get("/sessions/?totals=all"))
    monkeypatch.setattr(queries, "SUMMED", 3)
    assert "3 sessions" in words(viewer.get("/sessions/"))


def test_how_many_there_are_about_is_told_by_statistics(viewer, three_sessions, monkeypatch):
    with database_roles.as_owner() as cursor:
        cursor.execute("ANALYZE sessions_app_session")
    monkeypatch.setattr(session_list, "ROWS", 1)
    monkeypatch.setattr(queries, "SUMMED", 1)
    with CaptureQueriesContext(connection) as captured:
        assert "About 3 sessions Add them all up" in words(viewer.get("/sessions/"))
    assert not [query for query in captured if "SUM(" in query["sql"]]
    monkeypatch.setattr(queries, "SUMMED", 0)
    assert "Many sessions" in words(viewer.get("/sessions/?from=2001-01-01&to=2999-12-31")), "they may depend"
    assert "3 sessions" in words(viewer.get("/sessions/?totals=all"))


def test_sessions_that_fit_on_the_page_are_not_read_again_for_their_totals(viewer, three_sessions):
    with CaptureQueriesContext(connection) as captured:
        page = words(viewer.get("/sessions/"))
    assert "3 sessions" in page and "$8.01" in page
    assert not [query for query in captured if "SUM(" in query["sql"]]


def test_further_rows_do_not_add_up_the_list_again(viewer, workspace, three_sessions):
    found = queries.filtered(workspace.id, queries.SessionFilter())
    cursor = queries.page(found, queries.DEFAULT_SORT, 2, None).next_cursor
    with CaptureQueriesContext(connection) as captured:
        viewer.get(f"/sessions/?cursor={cursor}", headers={"HX-Request": "true"})
    assert not [query for query in captured if "SUM(" in query["sql"]]


def test_the_page_comes_with_the_rows_of_a_screen_and_the_others_follow(viewer, agent):
    for number in range(95):
        session_of(agent, f"Number {number:02}")
    page = viewer.get("/sessions/?sort=title")
    assert titles(page) == [f"Number {number:02}" for number in range(30)]
    assert 'hx-trigger="revealed, click"' in page.content.decode()
    more = re.search(r'href="(\?[^"]*cursor=[^"]*)"', page.content.decode())[1].replace("&amp;", "&")
    rows = viewer.get(f"/sessions/{more}", headers={"HX-Request": "true"})
    assert titles(rows) == [f"Number {number:02}" for number in range(30, 80)]
    assert "hx-trigger" not in rows.content.decode(), "from here on somebody asks for them"


def test_a_cursor_of_nobody_is_told(viewer, three_sessions):
    for sort in ("-cost", "tokens", "title", "-started"):
        for position in ([1, 10**30], [1, None], [1, ["a"]], ["a\0b", "c"], {"a": 1}, 5):
            cursor = base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")
            answer = viewer.get(f"/sessions/?sort={sort}&cursor={cursor}")
            assert answer.status_code == 400 and "does not belong to this list" in words(answer), (sort, position)
