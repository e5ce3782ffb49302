"""The page of a session as a person meets it: by keys, on a phone, live, without JavaScript, under attack."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from config.database.postgres import wait_until
from sessions_app.models import Approval, Role, Session
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import events, links
from tests.views.session.build import BOT, asked, call, other, path_of, priced, result, said, session_with
from tests.views.session.hostile.test_kinds import ATTACK, hostile_session
from tests.views.session.hostile.test_many import session_of

from .conftest import PATIENCE, PHONE

__all__ = ["hostile_session"]
BEYOND = """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > innerWidth && one.checkVisibility())
  .map((one) => `${one.tagName}.${one.className}`).slice(0, 20)"""
"""Elements that reach beyond the right edge of a page that is wider than its window."""


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture
def completed_session(agent) -> Session:
    usage = priced("0.031", input_tokens=1_200, output_tokens=250)
    session = session_with(agent, [
        asked("p1", "Refund order 4711"),
        other("r", "reasoning", "The parcel is lost"),
        said("m1", "I **look** first\n\n```\n" + "wide " * 80 + "\n```", **usage),
        call("c1", "Bash", {"command": "echo " + "very_long_word" * 30}),
        result("c1", "\n".join(f"line {number}" for number in range(500))),
        call("c2", "Edit", {"file_path": f"/{'deep/' * 30}a.py", "old_string": "one", "new_string": "two " * 90}),
        result("c2", "Exit code 1\nno such file", "error"),
        asked("p2", "Try again", 60),
        said("m2", "| a | b |\n|---|---|\n| " + "cell " * 60 + " | 2 |", 61),
    ])  # fmt: skip
    Session.objects.filter(pk=session.pk).update(phase="completed")
    return session


def ask(session: Session, **more) -> Approval:
    arguments = {"order": 4711, "note": "lost " * 300}
    return requests.request(
        session, requests.Question("issue_refund", arguments, context="The carrier lost it.", **more), by=BOT
    )


def marked(page: Page) -> list[str]:
    """Words that are painted in the transcript because somebody looked for them."""
    return page.evaluate("[...(CSS.highlights.get('found') ?? [])].map(String)")


def focused(page: Page) -> str:
    return page.evaluate("document.activeElement.closest('[data-seq]')?.dataset.seq ?? document.activeElement.tagName")


def fits(page: Page) -> bool:
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_keys_lead_through_events_turns_and_errors(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert wait_until(lambda: focused(page) == "2", PATIENCE), "the keys come with the first one"
    page.keyboard.press("k")
    assert focused(page) == "1"
    page.keyboard.press("]")
    assert focused(page) == "8"
    page.keyboard.press("[")
    page.keyboard.press("x")
    assert wait_until(lambda: focused(page) == "6", PATIENCE), "the numbers of the errors are fetched first"
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#help")).to_be_hidden()


@pytest.mark.parametrize(("down", "error"), [("о", "ч"), ("ξ", "χ"), ("ת", "ס")])
def test_keys_lie_where_they_do_on_a_keyboard_of_another_script(open_page, completed_session, down, error):
    page = open_page(path_of(completed_session))
    keys = page.context.new_cdp_session(page)

    def press(key: str, code: str) -> None:
        for kind in ("keyDown", "keyUp"):
            keys.send("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": code})

    press(down, "KeyJ")
    press(down, "KeyJ")
    assert wait_until(lambda: focused(page) == "2", PATIENCE)
    press("х", "BracketRight")
    assert focused(page) == "8"
    press(error, "KeyX")
    assert wait_until(lambda: focused(page) == "6", PATIENCE)
    press("ü", "BracketRight")
    assert focused(page) == "6", "a letter of Latin script is itself"


def test_the_key_of_costs_colours_rows_and_is_kept(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.keyboard.press("$")
    expect(page.locator("[data-heat]")).to_have_attribute("aria-pressed", "true")
    page.reload()
    expect(page.locator("#panes")).to_have_class(re.compile("with-heat"))


def test_a_card_opens_in_place_and_fetches_its_body_once(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.locator("#e-4 summary").focus()
    with page.expect_response(lambda response: "/events/4/body" in response.url):
        page.keyboard.press("o")
    expect(page.locator("#e-4 .inside")).to_contain_text("line 3")
    expect(page.get_by_text("line 400")).to_have_count(0)
    page.locator("#e-4").get_by_text("Show all").click()
    expect(page.locator("#e-4 .inside")).to_contain_text("line 400")
    page.keyboard.press(".")
    expect(page.locator("#e-4 .inside")).to_be_hidden()


def test_scrolling_fetches_what_comes_next_and_a_turn_stays_one_section(open_page, agent):
    session = session_with(
        agent, [asked("p", "Count"), *(said(f"m{number}", f"Number {number}") for number in range(120))]
    )
    Session.objects.filter(pk=session.pk).update(phase="completed")
    page = open_page(path_of(session))
    for _ in range(200):
        page.mouse.wheel(0, 4_000)
        page.wait_for_timeout(50)
        if page.locator("#e-121").count():
            break
    expect(page.locator("#e-121")).to_be_attached()
    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".turn-head")).to_have_count(1)
    page.mouse.wheel(0, -100_000)
    expect(page.locator("#e-10")).to_be_attached()
    assert page.locator(".turn").count() == 1


def test_g_leads_to_the_end_of_a_long_session_and_back(open_page, agent):
    session = session_with(
        agent, [asked("p", "Count"), *(said(f"m{n}", f"Number {n}\n\nand more") for n in range(400))]
    )
    Session.objects.filter(pk=session.pk).update(phase="completed")
    page = open_page(path_of(session))
    page.keyboard.press("G")
    expect(page.locator("#e-401")).to_be_in_viewport()
    page.wait_for_timeout(500)  # nothing that comes in later may take it away
    expect(page.locator("#e-401")).to_be_in_viewport()
    expect(page.locator("#e-300")).to_have_count(0)
    page.keyboard.press("g")
    expect(page.locator("#e-2")).to_be_in_viewport()
    expect(page.locator("#e-401")).to_have_count(0)
    page.keyboard.press("G")  # over what is loaded and over what is not
    expect(page.locator("#e-401")).to_be_in_viewport()


def test_earlier_rows_come_above_without_moving_what_is_read(open_page, agent):
    session = session_with(
        agent, [asked("p", "Count"), *(said(f"m{number}", f"Number {number}") for number in range(120))]
    )
    page = open_page(f"{path_of(session)}?event=90#e-90")
    expect(page.locator("#e-90")).to_be_in_viewport()
    expect(page.locator("#e-40")).to_have_count(0)
    page.locator(".more.before").scroll_into_view_if_needed()
    before = page.locator("#e-90").bounding_box()["y"]
    page.mouse.wheel(0, -5)
    expect(page.locator("#e-60")).to_be_attached()
    assert abs(page.locator("#e-90").bounding_box()["y"] - before) < 60


def test_an_open_inspector_follows_the_focus_and_a_jump_opens_none(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.keyboard.press("x")
    assert wait_until(lambda: focused(page) == "6", PATIENCE), "the numbers of the errors are fetched first"
    page.wait_for_timeout(400)
    assert page.locator("#inspector > *").count() == 0 and "event=" not in page.url
    error = focused(page)
    page.keyboard.press("i")
    expect(page.locator("#inspector [data-event]")).to_have_attribute("data-event", error)
    page.locator(f"#e-{error}").focus()
    page.keyboard.press("k")
    before = focused(page)
    assert before != error
    expect(page.locator("#inspector [data-event]")).to_have_attribute("data-event", before)
    assert f"event={before}" in page.url and page.locator(".is-inspected").count() == 1
    assert focused(page) == before, "what is looked at keeps the focus"


def test_a_jump_beyond_what_is_loaded_opens_no_inspector(open_page, agent):
    lines = [said(f"m{number}", f"Line {number}") for number in range(600)]
    session = session_with(agent, [asked("p1", "Go"), *lines, other("late", "error", "It broke off")])
    Session.objects.filter(pk=session.pk).update(phase="completed", error_count=1)
    page = open_page(path_of(session))
    assert page.locator("#e-602").count() == 0
    page.keyboard.press("x")
    expect(page.locator("#e-602")).to_be_focused()
    assert page.locator("#inspector > *").count() == 0 and page.url.endswith("#e-602")


def test_the_inspector_opens_beside_and_has_the_address_of_the_event(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.locator('a[data-inspect="3"]').click()
    expect(page.locator("#inspector")).to_contain_text("Event 3")
    assert page.url.endswith(f"{path_of(completed_session)}?event=3#e-3")
    assert page.locator("#timeline").bounding_box()["x"] + 100 < page.locator("#inspector").bounding_box()["x"]
    page.locator(".tabs").get_by_text("Usage").click()
    expect(page.locator("#inspector")).to_contain_text("reported by the recorder")
    page.keyboard.press("Escape")
    expect(page.locator("#inspector > *")).to_have_count(0)
    page.go_back()
    expect(page.locator("#inspector")).to_contain_text("Event 3")


def test_an_address_with_only_the_anchor_leads_to_its_event(open_page, agent):
    session = session_with(
        agent, [asked("p", "Count"), *(said(f"m{number}", f"Number {number}") for number in range(200))]
    )
    Session.objects.filter(pk=session.pk).update(phase="completed")
    page = open_page(f"{path_of(session)}#e-150")
    expect(page.locator("#e-150")).to_be_in_viewport()
    expect(page.locator("#inspector")).to_contain_text("Event 150")


def test_the_outline_jumps_within_and_beyond_what_is_loaded(open_page, agent):
    session = session_with(
        agent, [event for n in range(60) for event in (asked(f"p{n}", f"Question {n}"), said(f"m{n}", "…"))]
    )
    Session.objects.filter(pk=session.pk).update(phase="completed")
    page = open_page(path_of(session))
    page.locator("#outline").get_by_text("Question 4").first.click()
    expect(page.locator("#t-5 h2")).to_be_in_viewport()
    page.locator("#outline").get_by_text("Question 22").click()
    expect(page.locator("#t-23 h2")).to_be_in_viewport()
    assert page.url.endswith("?turn=23#t-23")
    expect(page.locator("#outline .here")).to_contain_text("Question 22")
    assert focused(page) == "45", "keys go on from the turn that was gone to"
    page.locator("#outline").get_by_text("Question 23").click()
    assert focused(page) == "47"
    page.keyboard.press("PageDown")
    expect(page.locator("#e-47")).not_to_be_in_viewport()


def test_a_short_last_turn_stands_on_a_full_page(open_page, agent):
    """It stood under "Load earlier" with nothing around it."""
    session = session_with(
        agent, [event for n in range(60) for event in (asked(f"p{n}", f"Question {n}"), said(f"m{n}", "…"))]
    )
    Session.objects.filter(pk=session.pk).update(phase="completed")
    here = path_of(session)
    page = open_page(f"{here}?turn=10#t-10")
    page.locator("#outline").get_by_text("Question 20").click()
    expect(page.locator("#t-21 h2")).to_be_in_viewport()
    for address in (f"{here}?turn=60#t-60", f"{here}?turn=60"):
        page.goto(address)
        expect(page.locator("#t-60 h2")).to_be_in_viewport()
        expect(page.locator("#t-57 h2")).to_be_in_viewport()
    page.goto(f"{here}?turn=50#t-50")
    page.locator("#outline").get_by_text("Question 59").click()
    expect(page.locator("#t-60 h2")).to_be_in_viewport()
    assert focused(page) == "119", "keys go on from the turn that was gone to, not from what fills the page"
    page.set_viewport_size({"width": 1440, "height": 2_000})
    page.goto(f"{here}?turn=60#t-60")
    expect(page.locator("#t-60 h2")).to_be_in_viewport()
    expect(page.locator("#timeline > .more.before")).not_to_be_in_viewport()


def test_search_lists_hits_and_n_steps_through_them(open_page, completed_session):
    page = open_page(path_of(completed_session))
    page.keyboard.press("/")
    page.keyboard.type("line")
    page.keyboard.press("Enter")
    expect(page.locator("#found")).to_contain_text("1 event says line")
    expect(page.locator("a[data-hit]")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator("a[data-hit][aria-current]")).to_have_count(1)
    expect(page.locator("#e-4")).to_be_in_viewport()
    assert wait_until(lambda: "line" in marked(page), PATIENCE)


def test_words_that_were_found_are_brought_into_sight_in_a_long_output(open_page, agent):
    lines = "\n".join(f"row {number}" for number in range(90)) + "\nneedle\n" + "rest\n" * 40
    new = [asked("p1", "Look"), call("c", "Bash", {"command": "cat"}), result("c", lines), said("m", "Done")]
    run = session_with(agent, new)
    page = open_page(f"{path_of(run)}?event=2&q=needle#e-2")
    assert wait_until(lambda: "needle" in marked(page), PATIENCE)
    block = page.locator("#e-2 .code", has_text="needle").last
    assert wait_until(lambda: block.evaluate("block => block.scrollTop > 0"), PATIENCE)


def test_a_decision_is_made_by_keys_and_the_page_follows(open_page, completed_session):
    approval = ask(completed_session)
    page = open_page(path_of(completed_session))
    page.keyboard.press("w")
    assert wait_until(lambda: focused(page) == str(approval.event_seq), PATIENCE)
    page.keyboard.press("Enter")
    page.keyboard.press("d")
    page.keyboard.type("Ask the customer first")
    page.get_by_role("button", name="Deny and tell the agent why").click()
    expect(page.locator(".card")).to_contain_text("Denied")
    expect(page.locator("#s-head")).not_to_contain_text("Needs approval")
    approval.refresh_from_db()
    assert (approval.status, approval.decision["reason"]) == ("denied", "Ask the customer first")


def test_what_somebody_types_is_not_lost_when_another_decides(open_page, completed_session, workspace):
    approval = ask(completed_session)
    page = open_page(path_of(completed_session))
    page.locator("[data-choice=answer] summary").click()
    page.locator("textarea[name=answer]").fill("Half of it")
    ada = decisions.Decider(audit.Actor("member", "ada", "Ada"), Role.ADMIN, "api")
    decisions.decide(approval, ada, decisions.Decision("approve", version=approval.version, digest=approval.digest))
    page.wait_for_timeout(1_500)  # the stream has told by now, and the card was left alone
    expect(page.locator("textarea[name=answer]")).to_have_value("Half of it")
    page.get_by_role("button", name="Send the reply").click()
    expect(page.locator(".card [role=alert]")).to_contain_text("Ada decided this already")
    expect(page.locator(".card [role=alert]")).to_contain_text("Half of it")


def test_a_turn_whose_question_a_later_turn_settled_waits_no_more_in_the_outline(open_page, agent):
    session = session_with(agent, [asked("p", "Go"), said("m", "First I ask.")])
    approval = ask(session)
    page = open_page(path_of(session))
    mark = page.locator("#outline li[data-turn='1']")
    expect(mark).to_contain_text("Needs approval")
    events.append(session.pk, [asked("p2", "Never mind")], origin=links.RUNTIME)
    ada = decisions.Decider(audit.Actor("member", "ada", "Ada"), Role.ADMIN, "api")
    decisions.decide(approval, ada, decisions.Decision("deny", version=approval.version, digest=approval.digest))
    expect(page.locator("#outline li[data-turn='2']")).to_contain_text("Never mind")
    expect(mark).not_to_contain_text("Needs approval")
    expect(mark).to_contain_text("Go")


def test_new_events_come_in_below_and_results_join_their_calls(open_page, agent):
    session = session_with(agent, [asked("p", "Go"), call("c", "lookup", {"order": 1})])
    page = open_page(path_of(session))
    expect(page.locator("#e-2")).to_contain_text("no result")
    events.append(
        session.pk,
        [result("c", "found it", value={"x": 1}), said("m", "It was found"), asked("p2", "And now?")],
        origin=links.RUNTIME,
    )
    expect(page.locator("#e-4")).to_contain_text("It was found")
    expect(page.locator("#t-2")).to_contain_text("And now?")
    expect(page.locator("#e-2")).to_contain_text("found it")
    expect(page.locator("#overview")).to_contain_text("2 turns")
    ask(session)
    expect(page.locator(".card.is-open")).to_contain_text("issue_refund")
    expect(page.locator("#s-head")).to_contain_text("Needs approval")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_nothing_is_wider_than_a_phone(open_page, completed_session, theme):
    ask(completed_session, risk="high")
    page = open_page(f"{path_of(completed_session)}?turn=1", viewport=PHONE, color_scheme=theme)
    page.evaluate("for (const row of document.querySelectorAll('#timeline details')) row.open = true")
    page.wait_for_timeout(800)
    assert fits(page)
    page.get_by_role("button", name="Outline").click()
    expect(page.locator("#rail")).to_be_in_viewport()
    page.locator("#outline").get_by_text("Try again").click()
    expect(page.locator("#rail")).to_be_hidden()
    page.locator('a[data-inspect="9"]').click()
    expect(page.locator("#inspector")).to_contain_text("Event 9")
    box = page.locator("#inspector").bounding_box()
    assert (box["x"], box["width"]) == (0, PHONE["width"]) and fits(page)


def test_without_javascript_everything_reads_and_a_decision_can_be_made(open_page, completed_session):
    approval = ask(completed_session)
    page = open_page(f"{path_of(completed_session)}?turn=1", java_script_enabled=False)
    page.locator("#e-4 summary").click()
    page.locator("#e-4").get_by_role("link", name="Arguments and result").click()
    expect(page.locator("main")).to_contain_text("line 3")
    page.go_back()
    page.locator('a[data-inspect="3"]').click()
    expect(page.locator("#inspector")).to_contain_text("Event 3")
    page.locator("[data-choice=deny] summary").click()
    page.locator("textarea[name=reason]").fill("No")
    page.get_by_role("button", name="Deny and tell the agent why").click()
    expect(page.locator(".card")).to_contain_text("Denied")
    approval.refresh_from_db()
    assert approval.status == "denied"


def test_a_hostile_transcript_runs_nothing_asks_nobody_and_breaks_no_layout(open_page, hostile_session, agent, address):
    asked_for = []
    places = [path_of(hostile_session) + place for place in ("", "?turn=1", "?event=3&tab=raw", "?q=alert")]
    places += [path_of(session_of(agent, 0, 20)) + place for place in ("", "?turn=10")]
    page = open_page("/approvals/")
    page.on("request", lambda request: asked_for.append(request.url))
    for place in places:
        page.goto(place)
        page.evaluate("for (const row of document.querySelectorAll('#timeline details')) row.open = true")
        page.wait_for_timeout(600)
        if place == places[0]:
            assert ATTACK[:20] in page.locator("#timeline").inner_text()
        assert wait_until(lambda: page.evaluate(BEYOND) == [], 60), (place, page.evaluate(BEYOND))
    assert [url for url in asked_for if not url.startswith(address)] == []
    assert page.evaluate("document.querySelectorAll('#timeline img, #timeline script').length") == 0


def test_a_viewer_sees_no_buttons_to_decide(open_page, completed_session, workspace):
    from sessions_app.services import audit
    from sessions_app.services.people import members

    ask(completed_session)
    vito = members.add_member(workspace, "vito@example.org", "Vito", Role.VIEWER, by=audit.COMMAND)[0]
    page = open_page(path_of(completed_session), member=vito)
    expect(page.locator(".card")).to_contain_text("You are a viewer")
    expect(page.locator(".card button")).to_have_count(0)


def test_on_paper_stands_what_is_read_and_that_it_goes_on(open_page, agent):
    session = session_with(
        agent, [asked("p", "Count"), *(said(f"m{number}", f"Number {number}") for number in range(60))]
    )
    page = open_page(path_of(session), java_script_enabled=False, color_scheme="dark")
    page.emulate_media(media="print")
    expect(page.locator("#e-61")).to_be_visible()
    for gone in (".desk-menu", "#tools", "#rail", "#composer", ".more > a"):
        expect(page.locator(gone).first).to_be_hidden()
    more = page.locator(".more").first.evaluate("more => getComputedStyle(more, '::after').content")
    told = page.locator(".middle").evaluate("middle => getComputedStyle(middle, '::after').content")
    assert more == '"…"' and "“…” stands for what was not loaded" in told and "holds the whole session" in told
    ink = page.locator("#e-61").evaluate("row => getComputedStyle(row).color")
    assert ink == "rgb(29, 29, 27)", "dark on white, whatever the screen is like"


def test_what_is_written_from_right_to_left_is_cut_at_its_end_and_stays_in_its_column(agent, open_page):
    """The beginning of a long Arabic error was cut off, its line ran through the times, and numbers stood outside."""
    error = "خطأ: الملف tests/فواتير/test_tax.py غير موجود في هذا المشروع ولا في المشروع الآخر (رمز الخروج 2)"
    session = session_with(agent, [
        asked("p", "أصلح الفواتير"), said("m", "1. قراءة الملف\n2. إصلاح الخطأ"),
        call("c", "Bash", {"command": "pytest"}), result("c", error, "error"),
    ])  # fmt: skip
    page = open_page(path_of(session))
    fault = page.locator(".fault")
    drawn = "(one) => [getComputedStyle(one).direction, getComputedStyle(one).textAlign]"
    assert fault.evaluate(drawn) == ["rtl", "left"]
    item = "(one) => one.parentElement.getBoundingClientRect().right - one.getBoundingClientRect().right"
    assert page.locator(".prose li").first.evaluate(item) > 16, "its number stands within the list"
    page.goto(f"{path_of(session)}?lens=tools")
    glance = page.locator(".tool-row .glance")
    begins = "(one) => one.closest('[role=cell]').getBoundingClientRect().right - one.getBoundingClientRect().right"
    assert glance.evaluate("(one) => one.scrollWidth > one.clientWidth"), "it is too long for its cell"
    assert glance.evaluate(begins) >= 0, "and it is its beginning that is shown"


def test_what_turns_changed_comes_into_the_outline_and_all_else_stays(agent, open_page):
    edit = {"file_path": "/a/b.py", "old_string": "x", "new_string": "y"}
    session = session_with(agent, [
        one for number in range(60) for one in (
            asked(f"p{number}", f"Question {number}"), call(f"c{number}", "Edit", edit), result(f"c{number}", "ok"),
        )
    ])  # fmt: skip
    page, changes = open_page("/sessions/"), []
    page.route("**/files/link", lambda route: changes.append(route))  # until then the outline does not know them
    page.goto(f"{path_of(session)}?from=0")
    page.locator("#outline a").nth(2).focus()
    turns, rail = page.locator("#outline li[data-turn]"), page.locator("#rail")

    def read_on() -> bool:
        rail.evaluate("(rail) => rail.scrollTo(0, rail.scrollHeight)")
        return turns.count() > 24

    assert wait_until(read_on, 30), "more turns were asked for"
    expect(page.locator("#outline .htmx-request")).to_have_count(0)
    now = "[document.activeElement, document.querySelectorAll('#outline li').length, rail.scrollTop]"
    page.evaluate(f"window.before = {now}")
    expect(page.locator("#outline .turn-marks em")).to_have_count(0)
    changes.pop().continue_()
    expect(page.locator("#outline li[data-turn='3'] .turn-marks")).to_contain_text("+1 −1")
    assert page.evaluate(f"{now}.every((one, at) => one === before[at])")
