"""The picture over the usage table: drawn, told on the way over it, leading to sessions; without it the table reads."""

from __future__ import annotations

import re

import pytest

from sessions_app.services import agents
from tests.views.money.spending import ran

from .conftest import PHONE

CHART = "#usage-chart canvas"
WIDTHS = "[document.documentElement.scrollWidth, innerWidth]"


@pytest.fixture
def agent_with_usage(workspace):
    found = agents.get_or_create_agent(workspace.id, "Refund agent")
    ran(found, "0.50", tool="lookup", price="0.02")
    return found


def over_today(page) -> None:
    """The pointer over the last bar."""
    box = page.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 15, box["y"] + box["height"] - 20)


def test_a_bar_says_its_numbers_and_leads_to_its_sessions(open_page, agent_with_usage):
    page = open_page("/usage/")
    page.locator(CHART).wait_for()
    over_today(page)
    assert "1 session" in (tip := page.locator(".usage-tip").inner_text())
    assert "AI wallet $0.50" in tip and "data wallet $0.020" in tip and "external —" in tip
    box = page.locator(".u-over").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 15, box["y"] + box["height"] - 20)
    page.wait_for_url(re.compile(r"/sessions/\?.*used_from="))
    assert page.get_by_text("Order 4711").count() == 1


def test_another_grouping_or_period_draws_it_again_in_place(open_page, agent_with_usage):
    page = open_page("/usage/")
    page.get_by_role("link", name="By tool").click()
    page.get_by_role("link", name="lookup").wait_for()
    page.locator(CHART).wait_for()
    page.get_by_role("link", name="7 days").click()
    page.wait_for_url(re.compile("from="))
    page.locator(CHART).wait_for()
    page.go_back()
    page.locator(CHART).wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/usage/?by=tool", "/usage/wallets/", "/usage/calls/"])
def test_nothing_lies_outside_of_a_phone(open_page, agent_with_usage, path, scheme):
    page = open_page(path, viewport=PHONE, color_scheme=scheme)
    wide, screen = page.evaluate(WIDTHS)
    assert wide <= screen


def test_without_javascript_the_table_reads(open_page, agent_with_usage):
    page = open_page("/usage/", java_script_enabled=False)
    assert page.locator("#usage-chart").is_hidden()
    assert "$0.52" in page.locator("table.usage tfoot").inner_text()
