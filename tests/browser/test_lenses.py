"""Lenses in a browser: keys lead to them, the event that is read stays where it is, and ``G`` goes to the end."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from config.database.postgres import wait_until
from sessions_app.models import Session
from tests.views.session.build import asked, call, path_of, result, said, session_with

from .conftest import PATIENCE


def long_session(agent) -> Session:
    lines = [
        one for turn in range(60) for one in (
            asked(f"p{turn}", f"Question {turn}"), call(f"c{turn}", "lookup", {"order": turn}),
            result(f"c{turn}", "ok"), said(f"m{turn}", f"Answer {turn}\n\nand\n\nmore of it"),
        )
    ]  # fmt: skip
    session = session_with(agent, lines)
    Session.objects.filter(pk=session.pk).update(phase="completed")
    return session


def test_the_name_of_a_file_is_whole_among_the_tools(open_page, agent):
    path = f"/{'deep/' * 40}invoices.py"
    session = session_with(agent, [asked("p", "Go"), call("c", "Read", {"file_path": path}), result("c", "ok")])
    page = open_page(f"{path_of(session)}?lens=tools")
    name, cell = page.locator(".tool-row .path-name"), page.locator(".tool-row .object")
    expect(name).to_have_text("invoices.py")
    box, around = name.bounding_box(), cell.bounding_box()
    assert box["width"] > 0 and box["x"] + box["width"] <= around["x"] + around["width"] + 1


def test_a_lens_opens_at_what_is_read_and_the_end_is_one_key_away(open_page, agent):
    session = long_session(agent)
    page = open_page(f"{path_of(session)}?turn=30")
    call_here = page.locator("#e-118 > summary")
    call_here.focus()
    before = call_here.bounding_box()["y"]
    page.keyboard.press("2")
    row = page.locator(".tool-row#e-118")
    expect(row).to_be_focused()
    assert abs(row.bounding_box()["y"] - before) < 80
    page.keyboard.press("1")
    expect(page.locator("#e-118 > summary")).to_be_focused()
    page.keyboard.press("G")
    expect(page.locator(f"#e-{session.last_seq}")).to_be_in_viewport()
    at_the_end = "Math.abs(document.documentElement.scrollHeight - innerHeight - scrollY) < 2"
    assert wait_until(lambda: page.evaluate(at_the_end), PATIENCE)
    expect(page.locator("#outline .here")).to_have_attribute("data-turn", re.compile("5[5-9]|60"))


def test_what_was_recorded_of_an_event_can_be_copied(open_page, agent):
    session = session_with(agent, [asked("p", "Mend the gate")])
    page = open_page(f"{path_of(session)}?lens=raw", permissions=["clipboard-read", "clipboard-write"])
    page.locator(".raw-row summary", has_text="user_message").click()
    page.get_by_role("button", name="Copy", exact=True).click()
    kept = page.locator(".kept pre").inner_text()
    assert wait_until(lambda: page.evaluate("navigator.clipboard.readText()") == kept, 60)
