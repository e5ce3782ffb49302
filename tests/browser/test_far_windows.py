"""A long session in a browser: rows far away from what is read leave the page, and come back where they were."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from config.database.postgres import wait_until
from config.env import BASE_DIR
from sessions_app.drafts import EventDraft
from sessions_app.models import Session
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from tests.views.session.build import BOT, asked, call, path_of, result, said, session_with

from .conftest import PATIENCE


def _sheets_of(page: str) -> list[str]:
    return re.findall(r'@import "([\w-]+)\.css"', (BASE_DIR / "static" / "css" / f"{page}.css").read_text())


MOST_ELEMENTS = 3_000
"""On the page, however much was read before: five screens of rows, the outline, and what stands around them."""
SCREEN = 800
"""px: rows are there half a screen around what is read, so a step of nearly two may pass over some."""
MOST_TEXTS = 40
"""Between turns, of which 90 were read."""
STYLES = (*_sheets_of("desk"), *_sheets_of("session-page"), "print")

TRAVEL = """async (by) => {
    const frame = () => new Promise(requestAnimationFrame);
    const settled = async () => {
        for (let quiet = 0, seen = ""; quiet < 6; await frame()) {
            const busy = document.querySelectorAll(".htmx-request, [aria-busy]").length;
            const now = `${document.querySelectorAll("*").length} ${busy}`;
            quiet = now === seen && now.endsWith(" 0") ? quiet + 1 : 0;
            seen = now;
        }
    };
    window.scrollBy({ top: by, behavior: "instant" });
    const rows = [...document.querySelectorAll("#timeline .event[data-seq]")];
    const row = rows.find((one) => one.getBoundingClientRect().top > 60);
    const before = row?.getBoundingClientRect().top;
    await settled();
    return {
        moved: row?.isConnected ? Math.abs(row.getBoundingClientRect().top - before) : 0,
        seqs: [...document.querySelectorAll("#timeline [data-seq]")].map((one) => Number(one.dataset.seq)),
        elements: document.querySelectorAll("*").length,
        texts: document.evaluate("count(id('timeline')/text())", document).numberValue,
        y: scrollY, height: document.documentElement.scrollHeight, screen: innerHeight,
    };
}"""
"""Scrolls and waits until the page changes no more; says how far the first row in sight was moved meanwhile."""

GROWTH = """() => {
    const count = () => document.querySelectorAll("#timeline *").length;
    window.growth = { last: count(), most: 0, times: 0 };
    new MutationObserver(() => {
        const now = count();
        growth.most = Math.max(growth.most, now - growth.last);
        growth.times += now > growth.last ? 1 : 0;
        growth.last = now;
    }).observe(document.getElementById("timeline"), { childList: true, subtree: true });
}"""
"""Watches by how many elements the timeline grows in one task at the most, and in how many tasks."""
SLOW_CLOCK = "performance.now = ((now) => () => { now += 100; return now; })(0)"
"""Whatever is timed takes 100 ms."""

FOCUSED = "Number(document.activeElement.closest('[data-seq]').dataset.seq)"


def turns(count: int) -> Iterator[EventDraft]:
    for number in range(1, count + 1):
        yield asked(f"p{number}", f"Question {number} " + "of many words " * (number % 7))
        for step in range(number % 4):
            yield call(f"c{number}-{step}", "lookup", {"order": number, "step": step})
            yield result(f"c{number}-{step}", f"found {number}")
        yield said(f"m{number}", f"Answer {number}\n\n" + "- and more of it\n" * (number % 11))


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture
def long_session(agent) -> Session:
    return completed(agent, turns(90))


@pytest.fixture
def one_turn(agent) -> Session:
    """A session of one turn of several windows, which begins with rows to open."""
    lines = (said(f"m{number}", f"Line {number}\n\nand\n\nmore of it") for number in range(120))
    return completed(agent, [asked("p", "Count"), call("c", "Bash", {"command": "ls"}), result("c", "a.py"), *lines])


def completed(agent, new: Iterator[EventDraft] | list[EventDraft]) -> Session:
    session = session_with(agent, new)
    Session.objects.filter(pk=session.pk).update(phase="completed")
    return session


def travel_to_the_end(page: Page, by: int) -> list[dict[str, Any]]:
    """What the page said at each step of a way to its end (``by`` > 0) or its beginning."""
    steps = [page.evaluate(TRAVEL, by)]
    while not _is_over(page, steps[-1], by):
        assert len(steps) < 100
        steps.append(page.evaluate(TRAVEL, by))
    return steps


def _is_over(page: Page, step: dict[str, Any], by: int) -> bool:
    if by < 0:
        return step["y"] == 0
    return step["y"] + step["screen"] >= step["height"] - 1 and not page.locator("#timeline > .more.after").count()


def test_a_page_that_was_read_to_its_end_holds_a_few_screens_and_moves_nothing(open_page, long_session):
    page = open_page(path_of(long_session))
    down = [page.evaluate(TRAVEL, 0), *travel_to_the_end(page, SCREEN)]
    assert 1 not in down[-1]["seqs"], "what is far away has left"
    up = travel_to_the_end(page, -SCREEN)
    seen, again = ({seq for step in way for seq in step["seqs"]} for way in (down, down[-1:] + up))
    assert seen == again, "everything comes back"
    assert long_session.last_seq in seen and 1 in seen
    assert up[-1]["seqs"] == sorted(up[-1]["seqs"])
    assert max(step["elements"] for step in down + up) < MOST_ELEMENTS
    assert max(step["texts"] for step in down[10:] + up) < MOST_TEXTS, (
        "white space leaves with the turns that it was behind"
    )
    assert max(step["moved"] for step in down + up) < 4
    assert page.locator(".turn.continued").count() == 0


def test_a_window_comes_in_a_few_rows_at_a_time(open_page, long_session):
    page = open_page(path_of(long_session))
    page.evaluate(GROWTH)
    down = page.evaluate(TRAVEL, 100_000)
    assert max(down["seqs"]) > 50, "a window came"
    assert page.evaluate("growth.most") <= 120


def test_a_window_comes_in_row_by_row_where_tasks_take_long(open_page, long_session):
    page = open_page(path_of(long_session))
    page.evaluate(SLOW_CLOCK)
    page.evaluate(GROWTH)
    down = page.evaluate(TRAVEL, 100_000)
    assert max(down["seqs"]) > 50, "a window came"
    assert page.evaluate("growth.times") >= 15


def test_who_reads_on_fetches_no_row_twice(open_page, long_session):
    page = open_page(path_of(long_session))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(4):
        down = page.evaluate(TRAVEL, 3_000)
    assert 1 not in down["seqs"], "what was read has left"
    rows = [url for url in asked if "/rows?" in url]
    assert rows and not [url for url in rows if "to=" in url]


def test_a_row_of_a_later_window_fetches_what_it_holds_when_it_is_opened(open_page, agent):
    lines = [said(f"m{number}", f"Line {number}\n\nand\n\nmore of it") for number in range(60)]
    called = [call("c", "Bash", {"command": "ls"}), result("c", "a.py")]
    session = completed(agent, [asked("p", "Count"), *lines, *called, said("last", "Done")])
    page = open_page(path_of(session))
    travel_to_the_end(page, 3_000)
    page.locator(".call summary").last.click()
    expect(page.locator(".call .inside")).to_contain_text("a.py")


def test_the_windows_of_one_turn_leave_and_come_back_under_its_head(open_page, one_turn):
    page = open_page(path_of(one_turn))
    page.locator("#e-2 summary").click()
    expect(page.locator("#e-2 .inside")).to_contain_text("a.py")
    page.evaluate("document.activeElement.blur()")
    down = travel_to_the_end(page, 3_000)
    assert 2 not in down[-1]["seqs"] and page.locator(".turn-head").count() == 1
    up = travel_to_the_end(page, -3_000)
    assert max(step["moved"] for step in down + up) < 4
    expect(page.locator("#e-2 .inside")).to_be_visible()  # as somebody left it
    assert page.locator(".turn").count() == 1


def test_what_somebody_is_at_never_leaves(open_page, agent):
    session = session_with(agent, list(turns(60)))
    approval = requests.request(session, requests.Question("issue_refund", {"order": 4711}), by=BOT)
    more = [said(f"late{number}", f"Late {number}\n\nand\n\nmore") for number in range(80)]
    events.append(session.pk, more, origin=links.RUNTIME)
    page = open_page(path_of(session))
    page.locator("[data-choice=answer] summary").click()
    page.locator("textarea[name=answer]").fill("Half of it")
    page.evaluate("document.activeElement.blur()")
    down = travel_to_the_end(page, 3_000)
    assert approval.event_seq in down[-1]["seqs"]
    expect(page.locator("textarea[name=answer]")).to_have_value("Half of it")


def test_keys_walk_through_what_is_away(open_page, long_session):
    page = open_page(path_of(long_session))
    travel_to_the_end(page, 3_000)
    first = page.evaluate("Number(document.querySelector('#timeline [data-seq]').dataset.seq)")
    assert first > 1
    page.locator(f"#e-{first}").evaluate("row => (row.querySelector('summary') ?? row).focus({ preventScroll: true })")
    for _ in range(4):
        before = _focused(page)
        page.keyboard.press("k")
        assert wait_until(lambda before=before: _focused(page) < before, PATIENCE)
        assert before - _focused(page) <= 2  # a result has no row of its own


def _focused(page: Page) -> int:
    return page.evaluate(FOCUSED)


def test_a_menu_stays_open_while_turns_come_into_the_outline(open_page, long_session):
    """The page asks for them, and nobody clicks: a click would close the menu, and lay out all that has come in."""
    page = open_page(path_of(long_session))
    first, last = (page.locator("#outline li[data-turn]").first, page.locator("#outline li[data-turn]").last)
    before = last.get_attribute("data-turn")
    menu = page.locator("#top details.export")
    menu.locator("> summary").click()
    page.evaluate("window.clicks = []; document.addEventListener('click', ({ target }) => clicks.push(target.id))")
    page.locator("#rail").evaluate("(rail) => rail.scrollTo(0, rail.scrollHeight)")
    expect(last).not_to_have_attribute("data-turn", before)
    page.locator("#rail").evaluate("(rail) => rail.scrollTo(0, 0)")
    expect(first).to_have_attribute("data-turn", "1")
    assert page.evaluate("clicks") == []
    assert menu.get_attribute("open") is not None


def test_what_was_read_is_printed(open_page, long_session):
    page = open_page(path_of(long_session))
    down = travel_to_the_end(page, 3_000)
    read = {seq for step in down for seq in step["seqs"]}
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    printed = page.evaluate(
        "[...document.querySelectorAll('#timeline [data-seq]')]"
        ".filter((row) => row.checkVisibility({ contentVisibilityAuto: true })).map((row) => Number(row.dataset.seq))"
    )
    assert read <= set(printed) and printed == sorted(printed)
    page.emulate_media(media="screen")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(page.locator("#timeline .away")).not_to_have_count(0)


def test_new_events_come_in_below_while_somebody_reads_far_above(open_page, agent):
    session = session_with(agent, list(turns(40)))
    page = open_page(f"{path_of(session)}?from=0")
    travel_to_the_end(page, 3_000)
    travel_to_the_end(page, -3_000)
    new = [said(f"late{number}", f"Late {number}") for number in range(30)]
    events.append(session.pk, new, origin=links.RUNTIME)
    expect(page.locator("#unread")).to_be_visible()
    down = travel_to_the_end(page, 3_000)
    assert session.last_seq + 30 in down[-1]["seqs"]


@pytest.mark.parametrize("name", STYLES)
def test_no_style_of_the_session_page_is_looked_at_again_with_each_row_that_comes_in(name):
    """For what an element contains (but the badge in the head), and for any element behind another, all rows are."""
    sheet = re.sub(r"/\*.*?\*/", "", (BASE_DIR / "static" / "css" / f"{name}.css").read_text(), flags=re.DOTALL)
    assert not re.search(r"(?<!nav-waiting:not\():has\(|[+~][^,{}]*\*[^,{}]*[,{]", sheet)
