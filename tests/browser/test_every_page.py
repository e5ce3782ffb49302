"""The pages, once: nothing that axe-core objects to, nothing wider than the screen."""

from __future__ import annotations

from itertools import cycle

import pytest
from playwright.sync_api import Page, expect

from bench.looks import checks, desk

WALKED = {
    "home", "sessions", "inbox", "queue", "agent", "usage", "audit", "oversight", "session-story", "session-tools",
    "session-raw", "session-pruned", "session-graph", "file-parts", "compare", "build",
}  # fmt: skip
"""One page of each kind; ``python -m bench.looks --axe`` goes to all, in every form."""
KEYED = (
    "session-story", "session-tools", "session-pruned", "session-graph", "file-parts-found", "share-links", "sessions",
    "relevance", "inbox", "reviews", "keep-days",
)  # fmt: skip
"""Pages with controls of every kind."""
FORMS = [(375, "dark"), (1440, "light"), (768, "dark"), (375, "light"), (1440, "dark"), (768, "light")]
"""Widths and themes; each page is looked at in one of them."""


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"


def faults(page: Page) -> list[str]:
    expect(page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)
    over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    found = [f"{rule}: {first}" for rule, _, _, first in checks.violations(page)]
    return found + ([f"{over} px too wide"] if over > 0 else [])


def test_every_page_is_accessible_and_fits_its_screen(open_page, workspace):
    admin = desk.furnish(workspace)
    page = open_page("/", member=admin)
    found = {}
    walked = {name: path for name, path in desk.pages(workspace).items() if name in WALKED}
    assert walked.keys() == WALKED
    for (name, path), (width, theme) in zip(walked.items(), cycle(FORMS), strict=False):
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.goto(path)
        found |= {(name, width, theme): wrong} if (wrong := faults(page)) else {}
    page.keyboard.press("Control+k")
    expect(page.locator("#palette")).to_be_visible()
    found |= {"palette": wrong} if (wrong := faults(page)) else {}
    assert found == {}


CONTROLS = """() => {
  const roving = (one) => one.closest("[role=tablist], #outline, svg") && one.tabIndex < 0;
  const shown = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !roving(one));
  const groups = new Set(); // of radio buttons one is a stop: the chosen one, else the first
  window.unreached = new Set(shown.filter((one) => one.type !== "radio" || (one.checked || !document.querySelector(
    `input[name="${one.name}"]:checked`)) && !groups.has(one.name) && groups.add(one.name)));
  document.addEventListener("focusin", ({ target }) => unreached.delete(target));
  return unreached.size;
}"""
LEFT = "() => [...unreached].filter((one) => one.isConnected).map((one) => one.outerHTML.slice(0, 120))"
BETWEEN = 40
"""Stops that are no control: parts that scroll."""


def test_every_control_is_reached_with_the_tab_key(open_page, workspace):
    admin = desk.furnish(workspace)
    page = open_page("/", member=admin)
    addresses = desk.pages(workspace)
    for name in KEYED:
        page.goto(addresses[name])
        expect(page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)
        controls = page.evaluate(CONTROLS)
        assert controls > 10, name
        for stop in range(controls + BETWEEN):
            page.keyboard.press("Tab")
            if stop % 10 == 0 and page.evaluate("unreached.size") == 0:
                break
        assert page.evaluate(LEFT) == [], name
