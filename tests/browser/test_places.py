"""Reload and the back button keep the place; columns keep their widths; times are in the zone of the browser."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from config.database.postgres import wait_until
from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import ListColumns, Session
from sessions_app.queries.sessions import narrowing, session_list
from sessions_app.services import audit
from sessions_app.services import sessions as session_services
from sessions_app.services.log import events, links
from tests.views.build import asks, session_of
from tests.views.session.build import path_of, session_with

from .conftest import playwright
from .test_far_windows import TRAVEL
from .test_page_size import turns

expect = playwright.expect
TOP = "document.getElementById('{0}').getBoundingClientRect().top"


@pytest.fixture
def long_session(agent) -> Session:
    session = session_services.create(agent, by=audit.COMMAND, title="Long")
    at = timezone.now() - timedelta(hours=5)
    for start in range(0, 600, 200):
        events.append(session.pk, [_step(number, at) for number in range(start, start + 200)], origin=links.RUNTIME)
    return session


def _step(number: int, began: datetime) -> EventDraft:
    at = began + timedelta(seconds=number)
    if number % 10 == 0:
        return EventDraft(kind="user_message", key=f"k{number}", at=at, text=f"Step {number}")
    call = ToolDraft(call_id=f"c{number}", name="Read", arguments={"path": f"file-{number}.py"})
    return EventDraft(kind="tool_call", key=f"k{number}", at=at, tool=call)


def address_of(session: Session, query: str = "") -> str:
    return f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}{query}"


def first_in_sight(page) -> str:
    """Id of the first row in the group of calls that is read."""
    return page.evaluate("""() => [...document.querySelectorAll('#timeline .group')].find((group) =>
        group.checkVisibility() && group.getBoundingClientRect().bottom > 220).querySelector('[data-seq]').id""")


def top_of(page, id_: str) -> float:
    return page.evaluate(f"""() => {{ const row = document.getElementById({id_!r});
        return (row?.closest('.group') ?? row)?.getBoundingClientRect().top ?? 1e9; }}""")


def until(page, script: str) -> None:
    """Wait for a condition; the policy of the page lets nothing poll inside of it."""
    assert wait_until(lambda: page.evaluate(script), 30), script


def settled_at(page, id_: str, top: float) -> None:
    assert wait_until(lambda: abs(top_of(page, id_) - top) < 2, 30), (id_, top, top_of(page, id_))


def stays_over_reload_and_back(page, row: str, top: float) -> None:
    page.reload()
    settled_at(page, row, top)
    page.goto(page.url.split("/dashboard")[0] + "/usage/")
    page.go_back()
    settled_at(page, row, top)


def test_a_session_is_where_it_was_after_reload_and_after_coming_back(open_page, long_session):
    page = open_page(address_of(long_session, "?show=everything&event=400"))
    page.locator("#inspector [data-event]").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_url(lambda url: "event=" not in url)
    until(page, "document.documentElement.scrollHeight > innerHeight + 900")
    page.evaluate("scrollBy(0, 900)")
    row = first_in_sight(page)
    top = top_of(page, row)
    stays_over_reload_and_back(page, row, top)


def test_a_session_that_is_reloaded_while_a_key_is_at_work_is_where_it_was(open_page, long_session):
    """The script of the keys comes with the first of them: Escape may make its entry after the reload began."""
    page = open_page(address_of(long_session, "?show=everything&event=400"))
    page.locator("#inspector [data-event]").wait_for()
    page.evaluate("scrollBy(0, 300)")
    row = first_in_sight(page)
    top = top_of(page, row)
    page.keyboard.press("Escape")
    page.reload()
    settled_at(page, row, top)


FIRST = """() => [...document.querySelectorAll("#timeline .rows [data-seq]")].find((row) =>
    row.id && row.checkVisibility() && row.getBoundingClientRect().top > 220).id"""


@pytest.mark.parametrize("lens", ["story", "tools", "requests", "raw"])
def test_each_lens_is_where_it_was_after_reload_and_after_coming_back(open_page, agent, lens):
    session = session_with(agent, turns())
    page = open_page(f"{path_of(session)}?lens={lens}")
    for _ in range(3):
        page.evaluate(TRAVEL, 1_500)
    row = page.evaluate(FIRST)
    top = top_of(page, row)
    stays_over_reload_and_back(page, row, top)


def test_a_turn_is_folded_by_key_where_it_is_and_stays_so(open_page, long_session):
    """Over windows that leave and come back, over a reload, until the key opens it again."""
    page = open_page(address_of(long_session, "?show=everything&turn=30"))
    page.evaluate("scrollBy(0, 500)")
    row = first_in_sight(page)
    turn, head = page.evaluate(
        f"(({{ dataset: {{ turn }} }}) => [turn, `t-${{turn}}`])(document.getElementById('{row}').closest('.turn'))"
    )
    rows_of = f"document.querySelectorAll('#{head} > .rows [data-seq]').length"
    page.locator(f"#{row}").evaluate("(row) => (row.closest('.group') ?? row).querySelector('summary').focus()")
    page.keyboard.press("z")
    page.wait_for_url(re.compile(f"folded={turn}(#|$)"))
    until(page, f"{rows_of} === 0")
    assert page.evaluate("document.activeElement.closest('.turn').id") == head
    top = top_of(page, head)
    assert 0 < top < 900, "what was folded is in sight"
    for by in [*[1_500] * 8, *[-1_500] * 12]:
        page.evaluate(TRAVEL, by)
        if by < 0 and page.evaluate(f"document.querySelector('#{head}')?.getBoundingClientRect().top > 0"):
            break
    assert page.evaluate(rows_of) == 0 and page.evaluate(f"document.querySelectorAll('#{head}.folded').length") == 1
    page.reload()
    until(page, f"document.querySelectorAll('#{head}.folded').length === 1 && !document.querySelector('.htmx-request')")
    page.locator(f"#{head} .turn-fold").focus()
    page.keyboard.press("Enter")
    until(page, f"{rows_of} > 0")
    assert "folded" not in page.url
    assert page.evaluate("document.activeElement.ariaExpanded") == "true"


def test_the_back_button_undoes_a_jump_within_a_session(open_page, long_session):
    page = open_page(address_of(long_session, "?show=everything"))
    before = page.url
    row = first_in_sight(page)
    top = top_of(page, row)
    page.locator("#outline a[href*='turn=50']").evaluate("(link) => link.click()")
    page.wait_for_url(re.compile("turn=50"))
    page.go_back()
    page.wait_for_url(before)
    settled_at(page, row, top)


def test_the_inspector_and_the_lens_are_there_after_reload(open_page, long_session):
    page = open_page(address_of(long_session, "?lens=tools"))
    page.locator("#timeline a[data-inspect]").first.click()
    expect(page.locator("#inspector [data-event]")).to_be_visible()
    shown = page.locator("#inspector [data-event]").get_attribute("data-event")
    page.reload()
    expect(page.locator(f"#inspector [data-event='{shown}']")).to_be_visible()
    expect(page.locator(".lenses [data-lens=tools]")).to_have_attribute("aria-current", re.compile("."))


def test_a_list_keeps_further_rows_the_cursor_and_chosen_rows(open_page, agent, monkeypatch):
    monkeypatch.setattr("sessions_app.views.session_list.ROWS", 20)
    for number in range(90):
        session = session_of(agent, title=f"Session {number:02}")
        Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(minutes=number))
    page = open_page("/sessions/")
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("[data-row]")).to_have_count(40)
    page.locator("[data-row]").nth(30).focus()
    page.keyboard.press("x")
    page.evaluate("scrollTo(0, 600)")
    title = page.locator("[data-row]").nth(30).inner_text()
    page.reload()
    until(page, "scrollY === 600")
    assert page.locator("[data-row]").count() == 40  # and no more that come while nobody looks
    assert page.evaluate("document.activeElement.innerText") == title
    assert page.locator(".cell-state input:checked").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/chat/**")
    page.go_back()
    until(page, "scrollY === 600")
    assert page.locator("[data-row]").count() == 40


def test_what_is_done_with_chosen_rows_leaves_the_list_where_it_was(open_page, agent, monkeypatch):
    """Its first page came anew: further rows, the scroll and the chosen rows were gone."""
    monkeypatch.setattr("sessions_app.views.session_list.ROWS", 20)
    for number in range(60):
        session = session_of(agent, title=f"Session {number:02}")
        Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(minutes=number))
    page = open_page("/sessions/?has_errors=false")
    page.get_by_role("link", name="Show more").click()
    expect(page.locator("[data-row]")).to_have_count(40)
    row = page.locator("tbody tr").nth(32)
    row.locator("input[type=checkbox]").check()
    page.evaluate("scrollTo(0, 700)")
    page.locator("#bulk input[name=tag]").fill("vip")
    page.locator("#bulk button[value=tag]").click()
    said = page.locator("#bulk-said")
    expect(said).to_have_text("1 session tagged.")
    expect(said).to_be_in_viewport()
    expect(page.locator("#bulk button[value=tag]")).to_be_focused()
    page.locator(".bulk-archive summary").click()
    page.locator("#bulk button[value=archive]").click()
    expect(said).to_have_text("1 session archived.")
    expect(row.locator(".state")).to_have_text("Archived")
    expect(page.locator(".bulk-archive summary")).to_be_focused()
    assert row.locator("input[type=checkbox]").is_checked(), "more can be done with the same rows"
    assert page.evaluate("scrollY") == 700 and page.locator("[data-row]").count() == 40
    assert page.url.endswith("/sessions/?has_errors=false")
    page.locator("tbody tr").nth(31).locator("input[type=checkbox]").check()
    expect(said).to_have_text("")


def test_the_inbox_keeps_its_row_and_its_scroll(open_page, agent):
    for number in range(30):
        asks(session_of(agent, title=f"Order {number}"), client_id=f"c{number}", arguments={"order": number})
    page = open_page("/approvals/")
    for _ in range(25):
        page.keyboard.press("j")
    chosen = page.locator("#inbox-rows a[aria-current]").get_attribute("href")
    top = page.evaluate("document.getElementById('inbox-scroll').scrollTop")
    assert top > 100
    page.reload()
    assert page.locator("#inbox-rows a[aria-current]").get_attribute("href") == chosen
    until(page, f"Math.abs(document.getElementById('inbox-scroll').scrollTop - {top}) < 30")


def width(page, name: str) -> float:
    return page.evaluate(f"""() => {{
        const at = [...document.querySelectorAll('colgroup col')].findIndex((one) => one.dataset.column === {name!r});
        return document.querySelectorAll('thead th')[at].getBoundingClientRect().width; }}""")


def test_a_column_is_dragged_and_moved_by_keys_and_stays_so(open_page, agent, reviewer_member):
    session_of(agent, title="One")
    page = open_page("/sessions/")
    before = {name: width(page, name) for name in ("title", "agent", "started", "cost")}
    page.get_by_role("separator", name="Width of Run").press("ArrowLeft")
    page.get_by_role("separator", name="Width of Session").press("Shift+ArrowLeft")
    assert abs(width(page, "title") - before["title"] + 64) < 4
    before = {name: width(page, name) for name in before}
    edge = page.get_by_role("separator", name="Width of Agent")
    box = edge.bounding_box()
    with page.expect_response("**/sessions/columns/widths/"):
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 10)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2 + 30, box["y"] + 10, steps=4)
        page.mouse.up()
    assert abs(width(page, "agent") - before["agent"] - 30) < 4
    assert abs(width(page, "started") - before["started"] + 30) < 4
    assert all(abs(width(page, name) - before[name]) < 3 for name in ("title", "cost"))
    with page.expect_response("**/sessions/columns/widths/"):
        page.get_by_role("separator", name="Width of Agent").press("ArrowLeft")
    now = width(page, "agent")
    assert abs(now - before["agent"] - 14) < 4
    page.reload()
    assert abs(width(page, "agent") - now) < 3
    kept = ListColumns.objects.get(member=reviewer_member).widths
    assert abs(kept["agent"] - now) <= 1 and "title" not in kept
    with page.expect_response("**/sessions/columns/widths/"):
        page.get_by_role("separator", name="Width of Agent").press("Home")
    assert page.locator("table.is-sized").count() == 0


def test_the_address_of_a_list_has_only_what_it_is_filtered_by(open_page, agent):
    session_of(agent, "Order 4711", cost="2.00")
    page = open_page("/sessions/")
    page.get_by_text("More filters").click()
    page.locator("[name=min_cost]").fill("1")
    page.get_by_role("button", name="Apply").click()
    page.wait_for_url(re.compile("min_cost"))
    assert page.url.endswith("/sessions/?min_cost=1")
    expect(page.get_by_text("Order 4711").first).to_be_visible()


def test_a_list_that_has_to_look_at_many_sessions_goes_on_by_itself_until_it_has_seen_all(
    open_page, agent, monkeypatch
):
    monkeypatch.setattr(narrowing, "FEW", 0)
    monkeypatch.setattr(session_list, "STRETCH", 5)
    for number in range(60):
        session = session_of(agent, title=f"Session {number:02}", tags=["vip"] if number in (25, 50) else [])
        Session.objects.filter(pk=session.pk).update(started_at=timezone.now() - timedelta(minutes=number))
    page = open_page("/sessions/?tag=vip&status=idle")
    expect(page.locator("[data-row]")).to_have_text(["Session 25", "Session 50"])
    expect(page.get_by_text("Sessions that match all filters are not counted")).to_be_visible()
    expect(page.get_by_role("link", name="Search further")).to_have_count(0)
    page.goto(f"{page.url}&agent={agent.slug}&tool=nobody-has-it")
    expect(page.get_by_text("No further sessions match")).to_be_visible()
