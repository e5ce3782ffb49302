"""Ctrl + K: from any page to another, to what a menu offers, or to a session."""

from __future__ import annotations

from tests.views.build import session_of


def test_the_palette_finds_pages_actions_and_sessions(open_page, agent):
    session_of(agent, title="Order 4711 <b>refund</b>")
    page = open_page("/agents/")
    page.keyboard.press("Control+k")
    page.keyboard.type("usa")
    page.get_by_role("option", name="Usage page").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/usage/")
    page.keyboard.press("Control+k")
    page.keyboard.type("4711")
    page.get_by_role("option", name="Order 4711 <b>refund</b> session").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/*")
    page.keyboard.press("Control+k")
    page.keyboard.type("compare")
    page.get_by_role("option", name="Compare with another session").wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/sessions/compare/*")
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
