"""The overview strip in a browser: its bracket follows what is read, and a click or a key leads elsewhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from config.database.postgres import wait_until
from sessions_app.services.log import events, links, overview
from tests.views.session.build import path_of, said, session_with
from tests.views.session.test_strip import run

from .conftest import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_band_leads_to_its_events_and_shows_where_one_reads(open_page, agent):
    session = session_with(agent, run(60))
    overview.read_on(session)
    page = open_page(path_of(session))
    bracket = page.get_by_role("slider", name="Place in the run")
    expect(bracket).to_be_visible()
    band = page.locator("#strip .band").bounding_box()
    page.mouse.click(band["x"] + band["width"] * 0.9, band["y"] + band["height"] / 2)
    page.wait_for_url(re.compile(r"#e-2\d\d$"))
    expect(bracket).to_have_attribute("aria-valuenow", re.compile(r"^2\d\d$"))
    bracket.focus()
    page.keyboard.press("Home")
    page.wait_for_url(re.compile(r"#e-1$"))
    expect(bracket).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("m")
    expect(page.locator("#strip.is-grown .band-legend")).to_be_visible()
    page.locator("#strip a[data-axis=time]").click()
    page.wait_for_url(re.compile(r"axis=time"))
    expect(page.locator("#strip[data-axis=time].is-grown")).to_be_visible()
    page.keyboard.press("M")
    page.wait_for_url("**/waterfall")
    expect(page.get_by_role("link", name="Turn 1", exact=False).first).to_be_visible()


def test_the_bracket_is_dragged_to_where_one_wants_to_read(open_page, agent):
    session = session_with(agent, run(60))
    overview.read_on(session)
    page = open_page(path_of(session))
    bracket = page.get_by_role("slider", name="Place in the run")
    expect(bracket).to_be_visible()
    band = page.locator("#strip .band").bounding_box()
    held, middle = bracket.bounding_box(), band["y"] + band["height"] / 2
    page.mouse.move(held["x"] + 2, middle)
    page.mouse.down()
    page.mouse.move(band["x"] + band["width"] * 0.3, middle, steps=5)
    expect(bracket).to_have_attribute("aria-valuenow", re.compile(r"^[678]\d$"))
    assert "#e-" not in page.url, "while it is dragged, nothing else moves"
    page.mouse.move(band["x"] + band["width"] * 0.8, middle, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile(r"#e-(18|19|20)\d$"))
    expect(bracket).to_have_attribute("aria-valuenow", re.compile(r"^(18|19|20)\d$"))


@pytest.mark.parametrize("axis", ["events", "time"])
def test_the_tip_names_the_turn_under_the_pointer(open_page, agent, axis):
    session = session_with(agent, run(60))
    overview.read_on(session)
    page = open_page(f"{path_of(session)}?axis={axis}")
    band = page.locator("#strip.is-live .band").bounding_box()
    page.mouse.move(band["x"] + band["width"] * 0.5, band["y"] + band["height"] / 2)
    expect(page.locator("#strip .band-tip")).to_contain_text(re.compile(r"^turn (29|30|31)\b"))


class TestLive:
    @pytest.fixture
    def address(self, connected) -> str:
        return connected

    def test_the_band_of_a_run_at_work_is_drawn_again_as_it_grows(self, open_page, agent):
        session = session_with(agent, run(20))
        overview.read_on(session)
        page = open_page(path_of(session))
        strip = page.locator("#strip.is-live")
        expect(strip).to_have_attribute("data-last-seq", "80")
        band = strip.locator(".band").bounding_box()
        page.mouse.move(band["x"] + band["width"] * 0.99, band["y"] + band["height"] / 2)
        expect(strip.locator(".band-tip")).to_contain_text("turn 20")
        page.mouse.move(0, 400)
        more = [said(f"late{number}", f"Late {number}") for number in range(80)]
        events.append(session.pk, more, origin=links.RUNTIME)
        expect(strip).to_have_attribute("data-last-seq", "160")
        expect(page.get_by_role("slider", name="Place in the run")).to_be_visible()
        assert wait_until(lambda: page.locator("#strip").count() == 1, PATIENCE)
        page.mouse.move(band["x"] + band["width"] * 0.25, band["y"] + band["height"] / 2)
        expect(strip.locator(".band-tip")).to_contain_text(re.compile(r"event (3|4)\d\b"))
