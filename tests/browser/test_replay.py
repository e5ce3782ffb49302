"""A session played again in a browser: rows appear one after the other, and the address says where it stands."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from config.database.postgres import wait_until
from tests.views.session.build import asked, call, path_of, result, said, session_with

from .conftest import PHONE

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE = 60


def test_it_is_played_to_its_end_and_stepped_back(agent, open_page):
    """Two windows of rows, so that rows are fetched on the way; all at once, so that it lasts no time."""
    lines = [asked("p", "Go", 0), call("slow", "Bash", {"command": "make"}, 0)]
    lines += [said(f"m{number}", f"Step {number}", 0) for number in range(60)]
    session = session_with(agent, [*lines, result("slow", "done", seconds=0), said("e", "The end", 0)])
    page = open_page(f"{path_of(session)}?replay=2")
    page.locator("#replay [data-go=play]").wait_for()
    assert page.locator("#timeline [data-seq]:visible").count() == 2
    assert page.locator("#e-2.is-pending").count() == 1
    assert "event 2 of 64" in page.locator("#replay").inner_text()
    page.keyboard.press("ArrowRight")
    assert wait_until(lambda: page.locator("#e-3").is_visible(), PATIENCE)
    assert page.locator("#e-4").count() == 0 or page.locator("#e-4").is_hidden()
    page.keyboard.press("Space")
    assert wait_until(lambda: page.locator("#e-64").is_visible(), PATIENCE)
    assert wait_until(lambda: page.evaluate("location.search") == "?replay=64", PATIENCE)
    assert page.locator("#e-2.is-pending").count() == 0
    page.keyboard.press("ArrowLeft")
    assert wait_until(lambda: page.locator("#e-64").is_hidden(), PATIENCE)
    assert wait_until(lambda: page.evaluate("location.search") == "?replay=63", PATIENCE)


def test_its_clock_is_that_of_the_page(agent, open_page):
    """A step by key showed UTC where the step before it, written by the server, was in the zone of the reader."""
    session = session_with(agent, [asked("p", "Go", 0), said("m", "One", 1), said("e", "Two", 2)])
    page = open_page(f"{path_of(session)}?replay=2", timezone_id="Asia/Tokyo")
    page.reload()  # the zone is told to the server by the first page
    page.locator("#replay [data-go=play]").wait_for()
    shown = page.locator("#replay [data-time]")
    before, row = shown.inner_text(), page.locator("#e-3 .when")
    page.keyboard.press("ArrowRight")
    assert wait_until(lambda: page.locator("#e-3").is_visible(), PATIENCE)
    assert shown.inner_text()[:2] == before[:2] == row.inner_text()[:2]


def test_its_slider_leads_to_any_event_by_pointer_and_by_keys(agent, open_page):
    """It led to where the replay stood: what stops the replay drew it there before it was read."""
    session = session_with(agent, [asked("p", "Go", 0), *(said(f"m{n}", f"Step {n}", n) for n in range(20))])
    page = open_page(f"{path_of(session)}?replay=2")
    page.locator("#replay [data-go=play]").wait_for()
    slider = page.locator("#replay input[type=range]")
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url(re.compile(r"replay=(9|1[0-3])$"))
    at = int(page.url.rsplit("=", 1)[1])
    assert wait_until(lambda: page.evaluate("document.activeElement.type") == "range", PATIENCE)
    assert f"event {at} of 21" in page.locator("#replay").inner_text()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile(f"replay={at + 1}$"))
    assert wait_until(lambda: page.locator(f"#e-{at + 1}").is_visible(), PATIENCE)
    assert wait_until(lambda: page.evaluate("document.activeElement.type") == "range", PATIENCE)
    page.keyboard.press("Space")
    assert page.locator("#replay [data-go=play]").get_attribute("aria-pressed") == "true"
    assert page.locator("#replay [role=status]").get_attribute("aria-live") == "off"


def test_its_speed_stays_when_the_slider_leads_elsewhere(agent, open_page):
    session = session_with(agent, [asked("p", "Go", 0), *(said(f"m{n}", f"Step {n}", n) for n in range(20))])
    page = open_page(f"{path_of(session)}?replay=2")
    page.locator("#replay [data-go=play]").wait_for()
    page.locator("#replay [data-speed]").select_option("30")
    page.locator("#replay [data-pause]").select_option("")
    page.locator("#replay input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("replay=3$"))
    expect(page.locator("#replay[data-begun]")).to_contain_text("event 3 of 21")
    expect(page.locator("#replay [data-speed]")).to_have_value("30")
    expect(page.locator("#replay [data-pause]")).to_have_value("")


def test_its_speed_is_chosen_on_a_phone_and_at_twice_the_size_too(agent, open_page):
    session = session_with(agent, [asked("p", "Go", 0), said("m", "One", 1), said("e", "Two", 2)])
    page = open_page(f"{path_of(session)}?replay=2", viewport=PHONE)
    page.locator("#replay [data-go=play]").wait_for()
    for size in (PHONE, {"width": 720, "height": 450}):
        page.set_viewport_size(size)
        for control in ("[data-speed]", "[data-pause]", "[data-go=leave]"):
            expect(page.locator(f"#replay {control}")).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert page.locator("#replay").bounding_box()["height"] < size["height"] / 4
