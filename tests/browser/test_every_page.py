"""The pages, once: nothing that axe-core objects to, nothing wider than the screen; and a day of reviewing by keys."""

from __future__ import annotations

import re
from itertools import cycle

import pytest
from playwright.sync_api import Page, expect

from bench.looks import checks, desk
from config.database.postgres import wait_until
from sessions_app.models import Approval, Comment, Session, Verdict

from .conftest import PATIENCE

WALKED = {
    "home", "sessions", "inbox", "queue", "agent", "usage", "audit", "oversight", "session-story", "session-tools",
    "session-raw", "session-pruned", "session-graph", "file-parts", "compare", "build", "card",
}  # fmt: skip
"""One page of each kind; ``python -m bench.looks --axe`` goes to all, in every form."""
KEYED = (
    "session-story", "session-tools", "session-pruned", "session-graph", "file-parts-found", "share-links", "sessions",
    "relevance", "inbox", "reviews", "keep-days",
)  # fmt: skip
"""Pages with controls of every kind."""
FORMS = [(375, "dark"), (1440, "light"), (768, "dark"), (375, "light"), (1440, "dark"), (768, "light")]
"""Widths and themes; each page is looked at in one of them."""
OVER = "document.documentElement.scrollWidth - innerWidth"


@pytest.fixture(autouse=True)
def kept_apart(settings, tmp_path):
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"


def faults(page: Page) -> list[str]:
    """What is wrong with a page while all but the rows of a timeline is open; its width also while all is shut."""
    expect(page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)
    shut = page.evaluate(OVER)
    page.evaluate("document.querySelectorAll('details:not(.event)').forEach((one) => { one.open = true; })")
    over = max(shut, page.evaluate(OVER))
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
  const roving = (one) => one.closest("[role=tablist], svg") && one.tabIndex < 0 || one.closest("#outline");
  const shown = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled && !roving(one));
  const groups = new Set(); // of radio buttons one is a stop: the chosen one, else the first
  window.unreached = new Set(shown.filter((one) => one.type !== "radio" || (one.checked || !document.querySelector(
    `input[name="${one.name}"]:checked`)) && !groups.has(one.name) && groups.add(one.name)));
  window.outline = document.querySelector("#outline a") ? "not reached" : "none"; // its stop is the turn that is read
  document.addEventListener("focusin", ({ target }) => {
    unreached.delete(target);
    if (target.closest("#outline")) window.outline = "reached";
  });
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
        page.wait_for_load_state("networkidle")  # the outline comes anew when what turns changed is known
        expect(page.locator(".htmx-request, [aria-busy=true]")).to_have_count(0)
        controls = page.evaluate(CONTROLS)
        assert controls > 10, name
        for stop in range(controls + BETWEEN):
            page.keyboard.press("Tab")
            if stop % 10 == 0 and page.evaluate("unreached.size === 0 && outline !== 'not reached'"):
                break
        assert page.evaluate(LEFT) == [], name
        assert page.evaluate("window.outline") in ("reached", "none"), name


STOPS = 120
"""Times that the Tab key is pressed at most."""


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    for _ in range(STOPS):
        page.keyboard.press(key)
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(
        f"{selector} is not reached: {page.url}, {page.evaluate('document.activeElement.outerHTML')[:200]}"
    )


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def in_focus(page: Page, selector: str) -> None:
    within = "(selector) => Boolean(document.activeElement.closest(selector))"
    assert wait_until(lambda: page.evaluate(within, selector), PATIENCE), (
        selector,
        page.evaluate("document.activeElement.outerHTML")[:200],
    )


def test_a_day_of_reviewing_by_keyboard_alone(open_page, workspace):
    """What is done by key leaves the focus where keys go on."""
    admin = desk.furnish(workspace)
    page = open_page("/", member=admin)

    tab_to(page, "nav a[href='/sessions/']")
    press(page, "Enter")
    page.wait_for_url(re.compile("/sessions/"))
    press(page, "/")
    page.keyboard.type("invoice")
    press(page, "Enter")
    page.wait_for_url(re.compile("q=invoice"))
    tab_to(page, "summary:has(+ .filter-fields)")
    press(page, "Enter")
    tab_to(page, "select[name=has_errors]")
    page.keyboard.type("With")
    tab_to(page, ".filter-fields ~ * button, .filter-fields button, .filter-go")
    press(page, "Enter")
    page.wait_for_url(re.compile("has_errors=true"))

    press(page, "j", "Enter")
    page.wait_for_url(re.compile("/chat/"))
    session = Session.objects.get(pk=page.url.split("/chat/")[1][:36])
    press(page, "/")
    page.keyboard.type("invoice")
    press(page, "Enter")
    in_focus(page, "a[data-hit]")
    press(page, "Enter")
    in_focus(page, "#timeline [data-seq]")

    press(page, "2")
    page.wait_for_url(re.compile("lens=tools"))
    expect(page.locator(".lenses [data-lens=tools]")).to_have_attribute("aria-current", "true")
    press(page, "1")
    page.wait_for_url(re.compile("lens=story"))

    expect(page.locator("#comment-form")).to_be_visible()
    press(page, "C")
    in_focus(page, "#comment-form textarea")
    page.keyboard.type("Was this asked?")
    tab_to(page, "#comment-form button")
    press(page, "Enter")
    expect(page.locator("#review .thread", has_text="Was this asked?")).to_be_visible()  # the answer is on the page
    assert Comment.objects.filter(session=session, text="Was this asked?").exists()
    in_focus(page, "#comment-form button")
    tab_to(page, "#comment-form textarea", "Shift+Tab")
    page.keyboard.type("By whom?")
    press(page, "Control+Enter")
    expect(page.locator("#review .thread", has_text="By whom?")).to_be_visible()
    in_focus(page, "#comment-form textarea")
    tab_to(page, ".verdict-form [name=verdict]", "Shift+Tab")
    press(page, "Space")
    tab_to(page, ".verdict-form button.primary")
    press(page, "Enter")
    assert wait_until(lambda: Verdict.objects.filter(session=session).exists(), PATIENCE)
    expect(page.locator("#review").locator(".htmx-request, .htmx-swapping, .htmx-settling")).to_have_count(0)
    in_focus(page, ".verdict-form button.primary")

    press(page, "Escape")
    press(page, "E")
    in_focus(page, "details.export > summary")
    tab_to(page, ".out-get")
    assert page.evaluate("document.activeElement.checkVisibility()")
    press(page, "Escape")
    in_focus(page, "details.export > summary")
    tab_to(page, "details:not(.export) > summary")
    press(page, "Enter")
    tab_to(page, "a[href*='/compare/']")
    press(page, "Enter")
    page.wait_for_url(re.compile("/compare/"))
    tab_to(page, "main input[name=session]")
    other = Session.objects.exclude(pk=session.pk).filter(event_count__gt=0).earliest("pk")
    page.keyboard.type(str(other.pk))
    press(page, "Enter")
    page.wait_for_url(re.compile(f"session={session.pk}&session={other.pk}"))

    page.goto("/approvals/")
    press(page, "j")
    chosen = page.locator(".inbox-row a[aria-current]").get_attribute("id")
    press(page, "d")
    in_focus(page, "#card-place textarea")
    page.keyboard.type("Not today")
    press(page, "Control+Enter")
    asked = Approval.objects.get(pk=str(chosen).removeprefix("line-"))
    assert wait_until(lambda: not Approval.objects.filter(pk=asked.pk, status="pending").exists(), PATIENCE)
    in_focus(page, ".inbox-row, #card-place")

    page.goto(desk.pages(workspace)["chat"])
    in_focus(page, "textarea[name=text]")
    page.keyboard.type("Good morning")
    press(page, "Control+Enter")
    page.wait_for_url(re.compile("/chat/"))
    expect(page.get_by_text("Good morning").first).to_be_visible()
