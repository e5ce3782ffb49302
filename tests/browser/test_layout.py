"""Where things stand on a screen: the transcript near the top, one left edge, nothing wider than the screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from sessions_app.models import Role, Session
from sessions_app.services import agents, audit, sessions
from sessions_app.services.approvals import requests as approval_requests
from sessions_app.services.log import events, links
from sessions_app.services.people import members
from tests.views.session.build import asked, call, path_of, result, said, session_with

from .test_desk import PAGES

STRIP = 32
"""Pixels of the strip of the whole run, where a session has one."""
FIRST_EVENT = {(1440, 900): 160, (1920, 1080): 160, (768, 1024): 160, (375, 812): 200, (720, 450): 200}
"""Pixels from the top of the screen at most; (720, 450) is 1440x900 at 200 % zoom."""
WIDTHS = (320, 768, 899, 1440, 3840)


@pytest.fixture
def edited_session(agent) -> Session:
    edit = {"file_path": "/src/billing/invoices.py", "old_string": "vat = 19", "new_string": "vat = rate(customer)"}
    session = session_with(agent, [
        asked("p1", "Mend the invoices of customers without VAT. " * 20),
        said("m1", "I look first"),
        call("c1", "Edit", edit), result("c1", "ok"),
        *(said(f"n{number}", f"Line {number}") for number in range(60)),
    ])  # fmt: skip
    Session.objects.filter(pk=session.pk).update(phase="completed", title="A long title " * 12)
    return session


def wider(page: Page) -> int:
    return page.evaluate("document.documentElement.scrollWidth - innerWidth")


def test_the_first_event_is_near_the_top_of_every_screen(open_page, edited_session):
    page = open_page(path_of(edited_session))
    for (width, height), most in FIRST_EVENT.items():
        page.set_viewport_size({"width": width, "height": height})
        top = page.locator("#timeline .event").first.bounding_box()["y"]
        strip = page.evaluate("document.querySelector('.strip')?.offsetHeight ?? 0")
        assert 0 < top + STRIP - min(strip, STRIP) <= most, (width, height)
        assert wider(page) <= 0, (width, height)
    page.set_viewport_size({"width": 1440, "height": 900})
    timeline, composer, side = (page.locator(of).bounding_box() for of in ("#timeline", "#composer", "#side"))
    assert (composer["x"], composer["width"]) == (timeline["x"], timeline["width"])
    assert composer["y"] + composer["height"] == 900 <= side["y"] + side["height"]


def test_on_a_phone_the_head_says_all_of_how_it_stands(open_page, edited_session):
    Session.objects.filter(pk=edited_session.pk).update(error_count=163, cost_recorded="216.60", unpriced_tokens=9)
    page = open_page(path_of(edited_session), viewport={"width": 375, "height": 812})
    stands, errors = (page.locator(of).bounding_box() for of in (".s-stands", ".s-errors"))
    assert errors["x"] + errors["width"] <= stands["x"] + stands["width"]


def test_all_tools_are_in_sight_also_where_a_session_has_errors_and_waits(open_page, edited_session):
    Session.objects.filter(pk=edited_session.pk).update(error_count=163, pending_approvals=12)
    page = open_page(path_of(edited_session))
    for width in (768, 896, 900, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        hidden = page.evaluate("(tools => tools.scrollWidth - tools.clientWidth)(document.getElementById('tools'))")
        assert hidden <= 0, width


def test_what_columns_mean_stays_in_sight_below_the_tools(open_page, edited_session):
    page = open_page(f"{path_of(edited_session)}?lens=raw")
    page.evaluate("scrollTo(0, 600)")
    columns, tools = (page.locator(of).bounding_box() for of in (".lens-columns", "#bars"))
    assert columns["y"] == pytest.approx(tools["y"] + tools["height"], abs=2)


def test_the_third_column_shows_one_thing_and_below_1280_the_overview_is_a_sheet(open_page, edited_session):
    page = open_page(path_of(edited_session))
    expect(page.locator("#overview")).to_be_visible()
    page.locator("#e-2").focus()
    page.keyboard.press("i")
    expect(page.locator("#inspector")).to_contain_text("Event 2")
    expect(page.locator("#overview")).to_be_hidden()
    page.locator("#side .files-link").click()
    page.locator("#side-files .files-row", has_text="invoices.py").wait_for()
    page.locator("#side").get_by_text("Overview").click()
    expect(page.locator("#overview")).to_be_visible()
    assert page.locator("#outline a:not([tabindex='-1'])").count() == 1, "the outline is one stop, and arrows lead on"
    page.locator("#outline a:not([tabindex='-1'])").focus()
    page.keyboard.press("Home")
    expect(page.locator("#outline a").first).to_be_focused()
    page.set_viewport_size({"width": 768, "height": 1024})
    expect(page.locator("#overview")).to_be_hidden()
    page.get_by_role("button", name="Overview").click()
    expect(page.locator("#overview")).to_be_in_viewport()
    assert wider(page) <= 0
    page.keyboard.press("Escape")
    expect(page.locator("#overview")).to_be_hidden()


def test_every_page_begins_at_one_edge_and_is_no_wider_than_its_screen(open_page, edited_session):
    page = open_page("/")
    for path in (*(path for path in PAGES if path != "/audit/"), path_of(edited_session)):
        page.goto(path)
        edges = {}
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            assert wider(page) <= 0, (path, width)
            heading = page.locator("main h1:not(.hidden), .inbox-title").first
            if heading.count():
                edges[width] = heading.bounding_box()["x"]
        assert {x for width, x in edges.items() if width >= 768} <= {24}, path


def test_two_versions_of_an_agent_are_compared_on_a_phone_too(open_page, agent, edited_session):
    changed = agents.change(agent, {"instructions": "Read the tests first"}, by=audit.COMMAND)
    sessions.create(changed, by=audit.COMMAND)
    Session.objects.update(cost_recorded="1234.5678", error_count=1)
    page = open_page(f"/agents/{agent.slug}/versions/?from=1&to=2", viewport={"width": 375, "height": 812})
    expect(page.locator(".version-measures")).to_be_visible()
    assert wider(page) <= 0


BASELINE = """(element) => {
  const mark = element.appendChild(document.createElement("span"));
  mark.style.cssText = "display: inline-block";
  const { bottom } = mark.getBoundingClientRect();
  mark.remove();
  return bottom;
}"""


def furthest(page: Page, selector: str) -> float:
    """The right edge of what reaches furthest to the right, in pixels."""
    edges = "(all) => all.map((one) => one.getBoundingClientRect().right)"
    return max(page.locator(selector).evaluate_all(edges))


def test_four_sessions_are_compared_on_every_screen_without_scrolling_sideways(open_page, agent):
    ids = [session_with(agent, [asked("p1", "Mend the invoices " * 30), said("m1", "Done")]).pk for _ in range(4)]
    page = open_page(f"/sessions/compare/?{'&'.join(f'session={pk}' for pk in ids)}")
    for width in (375, 768, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert furthest(page, ".compare :is(th, td, a)") <= width, width
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.locator(".compare thead th").last).to_be_in_viewport()


def test_a_row_of_the_list_has_the_picture_of_its_run_only_where_it_is_a_row(open_page, edited_session):
    page = open_page("/sessions/")
    for width in (375, 768, 1200):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator("td.cell-strip")).to_be_hidden()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.locator("td.cell-strip")).to_be_visible()


def test_who_did_it_stands_in_the_audit_log_in_one_line(open_page, workspace):
    admin = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]
    audit.record(workspace.pk, audit.Actor("system", name="Countersign"), "rubric.added")
    page = open_page("/audit/", member=admin)
    for width in (768, 900, 1024):
        page.set_viewport_size({"width": width, "height": 900})
        who = page.get_by_text("Countersign", exact=True).last
        assert who.bounding_box()["height"] < 30, width


def test_the_form_that_exports_the_audit_log_stands_below_its_buttons_at_their_edge(open_page, workspace):
    admin = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]
    page = open_page("/audit/", member=admin)
    page.locator(".audit-export > summary").click()
    verify, export, first = (
        page.locator(of).bounding_box()
        for of in (".audit-do > a", ".audit-export > summary", ".audit-export [name=from]")
    )
    assert verify["y"] == export["y"] < first["y"]
    assert verify["x"] == first["x"]


def test_the_time_of_a_row_stands_on_the_line_of_its_words(open_page, edited_session):
    page = open_page(path_of(edited_session))
    for row in page.locator("#timeline .line").all():
        words, time = (row.locator(of).first.evaluate(BASELINE) for of in (".who", ":scope > .when"))
        assert words == pytest.approx(time, abs=1), row.inner_text()


SCROLLS_SIDEWAYS = """() => [...document.querySelectorAll("main *")]
    .filter((one) => !one.matches("pre") && one.scrollWidth > one.clientWidth + 1)
    .filter((one) => ["auto", "scroll"].includes(getComputedStyle(one).overflowX))
    .filter((one) => !one.ariaLabel || (one.tabIndex < 0 && !one.querySelector("a, button, input")))
    .map((one) => one.className)"""


@pytest.mark.parametrize("width", [320, 360, 375])
def test_on_a_phone_only_what_has_a_name_and_is_reached_by_keys_scrolls_sideways(open_page, edited_session, width):
    Session.objects.filter(pk=edited_session.pk).update(error_count=163, pending_approvals=12)
    path = path_of(edited_session)
    page = open_page(path, viewport={"width": width, "height": 812})
    for query in ("", "?lens=tools", "?show=everything", "/strip", "/waterfall"):
        page.goto(f"{path}{query}")
        assert (wider(page), page.evaluate(SCROLLS_SIDEWAYS)) == (0, []), query
        tools = page.locator("#tools")
        assert not tools.count() or tools.evaluate("(tools) => tools.scrollHeight <= tools.clientHeight"), query
    page.goto("/sessions/?verdict=fail")
    assert (wider(page), page.evaluate(SCROLLS_SIDEWAYS)) == (0, [])


def test_a_session_that_waits_opens_at_the_call_that_waits(open_page, agent):
    session = session_with(agent, [asked("p", "Go"), *(said(f"a{n}", f"Line {n}. " * 40) for n in range(30))])
    approval_requests.request(session, approval_requests.Question("issue_refund", {"order": 4711}), by=audit.COMMAND)
    events.append(session.pk, [said(f"b{n}", f"Line {n}. " * 40) for n in range(30)], origin=links.RUNTIME)
    for width, height, script in ((1440, 900, False), (375, 812, False), (1440, 900, True), (375, 812, True)):
        size = {"width": width, "height": height}
        page = open_page(path_of(session), viewport=size, java_script_enabled=script)
        card = page.locator("#timeline .asked .card")
        expect(card.get_by_text("issue_refund").first).to_be_in_viewport()
        bars = page.locator("#bars").bounding_box()
        assert card.bounding_box()["y"] >= bars["y"] + bars["height"]
    page.mouse.wheel(0, -4_000)
    expect(card).not_to_be_in_viewport()
    page.reload()
    expect(card).not_to_be_in_viewport()
    page.goto(f"{path_of(session)}?turn=1")
    expect(card).not_to_be_in_viewport()
