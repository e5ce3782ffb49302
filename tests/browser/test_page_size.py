"""However much of a long session was read, and in whichever lens, its page holds at most 3,000 elements."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from config.database.postgres import wait_until
from sessions_app.drafts import EventDraft
from sessions_app.models import Session
from sessions_app.services.log import overview
from tests.views.session.build import asked, call, path_of, priced, result, said, session_with

from .conftest import PATIENCE
from .test_far_windows import TRAVEL

pytestmark = pytest.mark.django_db(transaction=True)
MOST_ELEMENTS = 3_000
MOST_HEAP = 60e6
TURNS = 160
REPLAYED = 300
"""Events after which a replay has left several windows behind."""
USED = {"input_tokens": 9_000, "cache_write_tokens": 400, "output_tokens": 300}


@pytest.fixture
def address(connected) -> str:
    return connected


def turns() -> Iterator[EventDraft]:
    """Turns with an answer, calls of which one fails, and what they cost: what has the most elements a row."""
    for number in range(TURNS):
        yield asked(f"p{number}", f"Question {number}: why does the pump of silo {number} stop?")
        for step in range(3):
            name, failed = f"c{number}-{step}", step == 2
            yield call(name, "Bash", {"command": f"cat /srv/orchard/{number}/{step}.log"}, **priced(None, name, **USED))
            yield result(name, "no such file" if failed else "of silo\n" * 3, "error" if failed else "ok")
        yield said(f"m{number}", f"It **stops**.\n\n- `valve {number}`\n- the sensor")


@pytest.fixture
def long_session(agent) -> Session:
    session = session_with(agent, turns())
    Session.objects.filter(pk=session.pk).update(phase="completed")
    overview.read_on(session)
    return session


@pytest.mark.parametrize("lens", ["story", "story&show=everything", "tools", "requests", "raw"])
def test_a_page_that_was_read_to_its_end_holds_three_thousand_elements(open_page, long_session, lens):
    page = open_page(f"{path_of(long_session)}?lens={lens}")
    most = _elements(page)
    for _ in range(60):
        step = page.evaluate(TRAVEL, 1_500)
        most = max(most, step["elements"])
    assert min(step["seqs"]) > 24, "it was read further than a window, and what is far away has left"
    assert most <= MOST_ELEMENTS
    assert _heap(page) <= MOST_HEAP


def test_turns_that_left_the_page_are_kept_nowhere(open_page, agent):
    """Of turns that are longer than a window the heads were kept, fifty nodes each: they went after their rows."""
    steps = [
        event
        for turn in range(6)
        for event in (
            asked(f"p{turn}", f"Go on {turn}"),
            *(said(f"m{turn}-{at}", f"Note {at}\n\n" * 4) for at in range(60)),
        )
    ]
    page = open_page(path_of(session_with(agent, steps, phase="completed")))
    for _ in range(60):
        page.evaluate(TRAVEL, 1_500)
    tools = page.context.new_cdp_session(page)
    tools.send("DOM.enable")
    tools.send("HeapProfiler.collectGarbage")
    kept = tools.send("DOM.getDetachedDomNodes")["detachedNodes"]
    assert page.locator("#timeline .away").count() >= 1
    assert [one["treeNode"]["attributes"] for one in kept if one["treeNode"]["localName"] == "section"] == []


def test_a_replay_holds_three_thousand_elements(open_page, long_session):
    page = open_page(f"{path_of(long_session)}?replay=1")
    page.locator("#replay [data-go=play]").wait_for()
    speed = page.locator("#replay [data-speed]")
    speed.select_option(speed.locator("option").last.get_attribute("value"))
    page.locator("#replay [data-go=play]").click()
    most = 0

    def is_there() -> bool:
        nonlocal most
        most = max(most, _elements(page))
        return int(page.locator("#replay input[type=range]").input_value()) > REPLAYED

    assert wait_until(is_there, PATIENCE)
    assert most <= MOST_ELEMENTS


def test_formats_of_the_export_menu_come_when_they_are_opened(open_page, long_session):
    page = open_page(path_of(long_session))
    menu = page.locator("#top details.export")
    assert menu.locator(".out-more form").count() == 0
    menu.locator("> summary").click()
    expect(menu.get_by_text("Hand over").first).to_be_visible()
    menu.locator(".out-more > summary").click()
    expect(menu.locator(".out-more").get_by_text("jsonl", exact=True)).to_be_visible()
    menu.get_by_role("link", name="Limitations").first.click()  # which htmx fetches
    expect(menu.locator(".out-report").first).not_to_be_empty()


def _elements(page: Page) -> int:
    return page.evaluate("document.querySelectorAll('*').length")


def _heap(page: Page) -> float:
    tools = page.context.new_cdp_session(page)
    tools.send("Performance.enable")
    tools.send("HeapProfiler.collectGarbage")
    return {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}["JSHeapUsedSize"]
