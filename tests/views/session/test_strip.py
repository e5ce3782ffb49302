"""The overview strip on the page of a session, its page with a table, and small in the rows of lists."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Session, SessionOverview
from sessions_app.services.log import overview
from sessions_app.views.session import strip as views

from .build import Page, asked, call, path_of, priced, result, said, session_with

HTMX = {"HX-Request": "true"}
HOSTILE = '"><script>alert(1)</script>\u202e\x1b[31m'


def run(turns: int) -> list:
    events = []
    for n in range(turns):
        events += [
            asked(f"p{n}", f"Question {n}", n * 60), call(f"c{n}", "Bash", {"command": "make"}, n * 60 + 2),
            result(f"c{n}", HOSTILE, "error" if n % 4 == 2 else "ok", n * 60 + 9),
            said(f"m{n}", "Done", n * 60 + 10, **priced("0.25", f"r{n}", output_tokens=5)),
        ]  # fmt: skip
    return events


@pytest.fixture
def session(agent):
    return session_with(agent, run(5))


def strip_in(page: Page) -> dict[str, str | None]:
    (found,) = page.all("section", id="strip")
    return found


def test_the_page_asks_for_the_band_and_then_has_it(viewer, session):
    page = Page(viewer.get(path_of(session)).content)
    assert strip_in(page)["hx-trigger"] == "load" and not page.all("svg", role="img")
    assert any(link.get("href") == f"{path_of(session)}/strip" for link in page.all("a")), "without JavaScript, too"
    piece = Page(viewer.get(strip_in(page)["hx-get"], headers=HTMX).content)
    assert "hx-get" not in strip_in(piece)
    again = Page(viewer.get(path_of(session)).content)
    (picture,) = again.all("svg", role="img")
    assert picture["aria-label"] == "20 events in 5 turns. 1 error, at event 10. Cost $1.25."
    assert "hx-get" not in strip_in(again) and strip_in(again)["data-last-seq"] == "20"
    assert {"?event=1", "?event=20"} <= {link.get("href") for link in again.all("a", tabindex="-1")}


def test_the_axis_is_in_the_address(viewer, session):
    overview.read_on(session)
    by_events, by_time = (Page(viewer.get(f"{path_of(session)}{query}").content) for query in ("", "?axis=time"))
    assert strip_in(by_events)["data-axis"] == "events" and strip_in(by_time)["data-axis"] == "time"
    assert (strip_in(by_events)["data-columns"], strip_in(by_time)["data-columns"]) == ("20", "1000")
    assert strip_in(Page(viewer.get(f"{path_of(session)}?axis=sideways").content))["data-axis"] == "events"


def test_what_is_drawn_already_reads_no_event_and_weighs_little(viewer, agent, session):
    viewer.get(f"{path_of(session)}/strip", headers=HTMX)
    with CaptureQueriesContext(connection) as captured:
        answer = viewer.get(f"{path_of(session)}/strip", headers=HTMX)
    assert not [query for query in captured if "sessions_app_event" in query["sql"]]
    assert len(answer.content) < 12_000
    assert "style=" not in answer.content.decode()


def test_the_page_of_it_is_a_table_of_bounded_length(viewer, agent, session):
    long = session_with(agent, run(60))
    answer = viewer.get(f"{path_of(long)}/strip")
    page = Page(answer.content)
    assert len(page.all("th", scope="row")) <= views.STRETCHES
    assert "240 events" in page.text and "15 errors, at events 10, 26, 42, 58, 74 and 10 more." in page.text
    content = answer.content.decode()
    assert "<script>alert" not in content and "\u202e" not in content and "\x1b" not in content
    assert {"e-10", "e-26"} <= {(link.get("href") or "").partition("#")[2] for link in page.all("a")}


def test_where_some_has_no_price_what_was_spent_so_far_is_at_least_so_much(viewer, agent, session):
    known = viewer.get(f"{path_of(session)}/strip")
    assert "$1.25" in Page(known.content).text and "≥" not in Page(known.content).text
    Session.objects.filter(pk=session.pk).update(unpriced_tokens=5)
    page = Page(viewer.get(f"{path_of(session)}/strip").content)
    assert "Cost ≥ $1.25." in page.text and "≥ $0.25" in page.text
    assert strip_in(Page(viewer.get(path_of(session)).content))["data-least"] == "≥ "


def test_the_page_of_it_says_of_how_many_errors_it_lists_the_first(viewer, agent, monkeypatch):
    long = session_with(agent, run(20))
    assert "The first" not in Page(viewer.get(f"{path_of(long)}/strip").content).text
    SessionOverview.objects.all().delete()
    monkeypatch.setattr(overview, "NAMED", 3)
    page = Page(viewer.get(f"{path_of(long)}/strip").content)
    assert "The first 3 of 5." in page.text
    assert f"{path_of(long)}?lens=tools&is=failed" in [link.get("href") for link in page.all("a")]


def test_a_session_without_events_has_no_band(viewer, agent):
    empty = session_with(agent, [])
    assert not Page(viewer.get(path_of(empty)).content).all("section", id="strip")
    assert "no events yet" in Page(viewer.get(f"{path_of(empty)}/strip").content).text


def test_somebody_elses_run_is_not_found(viewer, charlie, session):
    for path in ("/strip", "/waterfall"):
        assert viewer.get(path_of(session) + path).status_code == 200
        assert charlie.get(path_of(session) + path).status_code == 404
    small = f"/sessions/strips?id={session.pk}"
    assert f'data-for="{session.pk}"' in viewer.get(small).content.decode()
    assert charlie.get(small).content.decode().strip() == ""


def test_a_list_asks_for_all_its_rows_at_once(viewer, agent, session):
    sessions = [session, *(session_with(agent, run(2)) for _ in range(4))]
    page = Page(viewer.get("/sessions/").content)
    ids = [cell["data-strip"] for cell in page.all("span") if "data-strip" in cell]
    assert set(ids) == {str(one.pk) for one in sessions}
    address = f"/sessions/strips?{'&'.join(f'id={one}' for one in ids)}&id=nonsense"
    drawn = Page(viewer.get(address).content)
    assert {picture["data-for"] for picture in drawn.all("svg", role="img")} == set(ids)
    with CaptureQueriesContext(connection) as all_of_them:
        viewer.get(address)
    with CaptureQueriesContext(connection) as only_one:
        viewer.get(f"/sessions/strips?id={ids[0]}")
    assert len(all_of_them) == len(only_one)


def test_one_request_of_a_list_draws_a_bounded_number_of_events(viewer, agent, monkeypatch):
    monkeypatch.setattr(views, "MOST_EVENTS", 10)
    sessions = [session_with(agent, run(2)) for _ in range(4)]
    address = f"/sessions/strips?{'&'.join(f'id={one.pk}' for one in sessions)}"
    drawn = [len(re.findall("data-for", viewer.get(address).content.decode())) for _ in range(3)]
    assert drawn == [2, 4, 4]
    assert SessionOverview.objects.count() == 4
