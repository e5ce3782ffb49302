"""A page has at most 120 kB of scripts, as a browser reads them: unpacked, with htmx. What comes later works, too."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from bench.looks import desk
from config.database.postgres import wait_until
from tests.views.session.build import asked, call, path_of, result, said, session_with

from .conftest import PATIENCE

MOST_BYTES = 120_000
PAGES = ("home", "sessions", "inbox", "agent", "usage", "session-story", "session-tools")
"""One of each kind of page that has scripts of its own; ``bench.looks`` has all pages."""
FETCHED = """() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)
    .filter((name) => name.startsWith("/static/") && name.endsWith(".js"))"""


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"


def test_a_page_has_at_most_120_kilobytes_of_scripts(open_page, workspace, collected):
    admin = desk.furnish(workspace)
    page = open_page("/", member=admin)
    sizes = {}
    paths = desk.pages(workspace)
    for name in PAGES:
        page.goto(paths[name])
        expect(page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)
        sizes[name] = sum(_size(collected, script) for script in set(page.evaluate(FETCHED)))
    assert min(sizes.values()) > 50_000, "htmx is among them"
    assert {name: size for name, size in sizes.items() if size > MOST_BYTES} == {}


def _size(collected: Path, script: str) -> int:
    place = collected / script.removeprefix("/static/")
    [written] = place.parent.glob(f"{place.stem}.????????????.js")
    return written.stat().st_size


@contextmanager
def slow(page: Page, script: str) -> Iterator[Callable[[], None]]:
    """A script that comes when what is given is called, and not before; it must have been asked for by then."""
    held: list[Route] = []
    page.route(f"**/session/{script}*.js", lambda route: held.append(route))

    def come() -> None:
        for _ in range(PATIENCE * 50):
            if held:
                break
            page.wait_for_timeout(20)
        held.pop().continue_()

    yield come
    page.unroute(f"**/session/{script}*.js")


@contextmanager
def missing(page: Page, script: str) -> Iterator[None]:
    """A script that the network loses."""
    page.route(f"**/session/{script}*.js", lambda route: route.abort())
    yield
    page.unroute(f"**/session/{script}*.js")


def test_a_turn_folds_when_its_script_has_come_and_without_it_the_link_does(open_page, agent):
    page = open_page(
        path_of(session_with(agent, [asked("p", "One"), said("m", "Yes"), asked("q", "Two"), said("n", "No")]))
    )
    fold = page.locator("#t-1 .turn-fold")
    with slow(page, "folding") as come:
        fold.click()
        page.evaluate("window.isTheSamePage = true")
        come()
        expect(page.locator("#t-1.folded .turn-fold")).to_be_focused()
    assert page.evaluate("isTheSamePage") and re.search("folded=1#", page.url)
    page.reload()
    with missing(page, "folding"):
        fold.click()
        expect(page.locator("#t-1:not(.folded)")).to_contain_text("Yes")
        assert "folded" not in page.url


def test_files_beside_a_session_come_with_their_script_and_are_asked_for_again(open_page, agent):
    edit = {"file_path": "/w/a.py", "old_string": "two", "new_string": "2"}
    session = session_with(agent, [asked("p", "Go"), call("e", "Edit", edit), result("e", "")])
    page = open_page(path_of(session))
    with missing(page, "tree"):
        page.locator("#side .files-link").click()
        expect(page.locator("#error-line")).to_contain_text("cannot be reached")
    page.locator("#side .files-link").click()
    expect(page.locator("#side-files a[data-file]")).to_contain_text("a.py")
    page = open_page(path_of(session))
    with slow(page, "tree") as come:
        page.locator("#side .files-link").click()
        expect(page.locator("#side-files")).to_be_visible()
        come()
        expect(page.locator("#side-files a[data-file]")).to_contain_text("a.py")


def test_turns_leave_the_outline_when_the_script_has_come_and_stay_until_then(open_page, agent):
    session = session_with(agent, (asked(f"p{at}", f"Question {at}") for at in range(1, 101)))
    page = open_page(f"{path_of(session)}?from=0")
    turns, rail = page.locator("#outline li[data-turn]"), page.locator("#rail")

    def read_on(least: int) -> bool:
        rail.evaluate("(rail) => rail.scrollTo(0, rail.scrollHeight)")
        return turns.count() >= least

    with missing(page, "outline"):
        assert wait_until(lambda: read_on(56), 60)
    with slow(page, "outline") as come:
        assert wait_until(lambda: read_on(72), 60)
        rail.evaluate("(rail) => rail.scrollTo(0, 40)")
        top = turns.nth(9).bounding_box()["y"]
        come()
        expect(page.locator("#outline li[data-turn='72']")).to_have_count(0)
    assert 24 <= turns.count() < 56
    assert turns.nth(9).bounding_box()["y"] == pytest.approx(top, abs=2)
