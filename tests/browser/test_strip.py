"""The overview strip in a browser: its bracket follows what is read, and a click or a key leads elsewhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from sessions_app.services.log import overview
from tests.views.session.build import path_of, session_with
from tests.views.session.test_strip import run

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
