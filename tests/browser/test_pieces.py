"""Pieces of the session page that are fetched anew: nothing that happens while one is under way is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, Route, expect

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Role, Session, TurnInFlight
from sessions_app.queries.reviews.comments import path_of as comment_path
from sessions_app.services import agents, audit, sessions
from sessions_app.services.log import links
from sessions_app.services.log.events import append
from sessions_app.services.people import members
from sessions_app.services.reviews import comments, verdicts
from sessions_app.services.turns import in_flight, messages
from tests.views.session.build import asked, call, result, session_with

from .conftest import PHONE, WIDE

STANDING, ROWS = re.compile(r"/standing$"), re.compile(r"/rows\?only=")
TAIL = re.compile(r"/rows\?tail=1")
STREAM, PARTS = re.compile(r"/stream\?"), re.compile(r"/(standing|head|overview|rows\?tail=1)")
ALL_ASKED = 2_600
"""Milliseconds after which the last of the parts has been asked for: live.js waits up to 2 s."""
SLOW = 1_200
"""Milliseconds that an answer is held back: other news come meanwhile."""


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture
def scripted_session(workspace) -> Session:
    parrot = agents.create(workspace.id, "Parrot", by=audit.SYSTEM, runtime="scripted")
    return sessions.create(parrot, by=audit.SYSTEM, title="Pieces")


@contextmanager
def held_back(page: Page, address: re.Pattern[str], first: int = 1) -> Iterator[None]:
    """Hold the first answers from there back for a while, once they are ready; at the end all of them are given."""
    held: list[str] = []

    def answer(route: Route) -> None:
        response = route.fetch()
        if len(held) < first:
            held.append(route.request.url)
            page.wait_for_timeout(SLOW)
        route.fulfill(response=response)

    page.route(address, answer)
    yield
    page.unroute_all(behavior="wait")


def note(session: Session, key: str) -> None:
    append(session.pk, [EventDraft("note", key, actor_kind="system", text=key)], origin=links.RUNTIME)


def path_of(session: Session) -> str:
    return f"/dashboard/sub-agents/{session.agent_id}/chat/{session.pk}"


def test_a_page_that_has_just_come_asks_for_its_parts_when_something_happens(open_page, scripted_session):
    asked: list[str] = []
    page = open_page("/sessions/")
    page.on("request", lambda one: asked.append(one.url) if PARTS.search(one.url) else None)
    with page.expect_response(STREAM):
        page.goto(path_of(scripted_session))
    page.wait_for_timeout(ALL_ASKED)
    assert asked == []
    note(scripted_session, "something")
    expect(page.get_by_text("something").first).to_be_visible()
    page.wait_for_timeout(ALL_ASKED)
    assert {PARTS.search(url)[0] for url in asked} == {"/standing", "/head", "/overview", "/rows?tail=1"}


def test_a_row_whose_request_fails_comes_while_the_stream_stays_open(open_page, scripted_session):
    page = open_page(path_of(scripted_session))
    failed: list[str] = []

    def fail_twice(route: Route) -> None:
        if len(failed) == 2:
            return route.continue_()
        failed.append(route.request.url)
        return route.abort()

    page.route(TAIL, fail_twice)
    note(scripted_session, "news")
    expect(page.locator("#timeline")).to_contain_text("news")
    assert failed  # the second time it may come with another request, on a busy machine


def test_the_numbers_of_the_lenses_go_on_with_the_session(open_page, scripted_session):
    page = open_page(path_of(scripted_session))
    counts = page.locator(".lenses a")
    expect(counts).to_have_text(["Story", "Tools", "Requests", "Raw"])
    said = EventDraft("user_message", "m", actor_kind="person", text="Two at once")
    calls = [_of("tool_call", f"call-{number}") for number in range(2)]
    append(scripted_session.pk, [said, *calls], origin=links.RUNTIME)
    expect(counts).to_have_text(
        [re.compile(r"Story\s+1"), re.compile(r"Tools\s+2"), "Requests", re.compile(r"Raw\s+3")]
    )


def test_a_click_while_the_line_is_fetched_is_not_lost(open_page, scripted_session):
    messages.submit(scripted_session.pk, "Wait", by=audit.Actor("member", "r", "Rosa"))
    page = open_page(path_of(scripted_session))
    expect(page.locator("#standing")).to_contain_text("Running")
    with held_back(page, STANDING):
        with page.expect_request(STANDING):
            note(scripted_session, "news")
        page.get_by_role("button", name="Interrupt", exact=True).click()
        expect(page.locator("#standing")).to_contain_text("Stopping")
    assert TurnInFlight.objects.get().interrupted_at


def test_after_an_interruption_keys_go_on_where_it_was_asked(open_page, scripted_session):
    """The button had gone, and with it the focus: the next key was pressed at the top of the page."""
    messages.submit(scripted_session.pk, "Wait", by=audit.Actor("member", "r", "Rosa"))
    page = open_page(path_of(scripted_session))
    standing = page.locator("#standing")
    page.get_by_role("button", name="Interrupt", exact=True).press("Enter")
    expect(standing).to_contain_text("Stopping")
    expect(standing).to_be_focused()
    in_flight.finish(in_flight.claim(scripted_session.pk), 10)
    expect(standing).not_to_contain_text("Stopping")
    expect(standing).to_be_focused()
    for _ in range(3):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('#composer') !== null"), "keys go on from there"
        if page.evaluate("document.activeElement.id === 'say-text'"):
            return
    raise AssertionError("the field for a message follows")


def test_a_refused_comment_leads_to_the_field_that_is_wrong(open_page, commented):
    page = open_page(path_of(commented))
    form = page.locator("#comment-form")
    with page.expect_response("**/focus*.js"):  # it comes with the first field that somebody goes to
        form.locator("textarea").fill("Where?")
    form.locator("[name=first_seq]").fill("4000")
    form.get_by_role("button", name="Comment").click()
    expect(page.locator("#review .field-error")).to_be_visible()
    expect(form.locator("[name=first_seq]")).to_be_focused()
    page.locator(".verdict-form button.primary").click()
    expect(page.locator(".verdict-form .field-error")).to_be_focused()


def test_who_follows_a_session_is_told_when_it_is_archived(open_page, scripted_session):
    """The button stayed pressed, over a session to which nothing is added any more."""
    messages.submit(scripted_session.pk, "Wait", by=audit.Actor("member", "r", "Rosa"))
    page = open_page("/sessions/")
    with page.expect_response(STREAM):
        page.goto(path_of(scripted_session))
    follow = page.locator("[data-follow-toggle]")
    follow.click()
    expect(follow).to_have_attribute("aria-pressed", "true")
    sessions.archive(scripted_session, by=audit.SYSTEM)
    expect(page.locator("#connection")).to_contain_text("archived")
    expect(follow).to_have_count(0)
    expect(page.locator("#standing")).to_contain_text("Archived")
    expect(page.locator("#do-send")).to_be_hidden()


def test_on_a_phone_a_queued_message_says_who_sent_it(open_page, scripted_session):
    for words in ("Wait", "Then look at the invoices of the last three years, all of them"):
        messages.submit(scripted_session.pk, words, by=audit.Actor("member", "r", "Rosa"))
    page = open_page(path_of(scripted_session), viewport=PHONE)
    expect(page.locator(".queued-by")).to_contain_text("Rosa")
    expect(page.locator(".queued-by")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_what_happens_while_the_line_is_fetched_is_shown(open_page, scripted_session):
    messages.submit(scripted_session.pk, "Wait", by=audit.Actor("member", "r", "Rosa"))
    page = open_page(path_of(scripted_session))
    with held_back(page, STANDING):
        with page.expect_request(STANDING):
            note(scripted_session, "news")
        page.wait_for_timeout(SLOW / 2)
        in_flight.finish(in_flight.claim(scripted_session.pk), 10)
        expect(page.locator("#standing")).to_contain_text("Idle")


def test_results_that_come_together_are_all_shown(open_page, scripted_session):
    calls = [f"call-{number}" for number in range(5)]
    append(
        scripted_session.pk,
        [EventDraft("user_message", "m", actor_kind="person", text="Five at once")],
        origin=links.RUNTIME,
    )
    append(scripted_session.pk, [_of("tool_call", call) for call in calls], origin=links.RUNTIME)
    page = open_page(f"{path_of(scripted_session)}?show=everything")
    expect(page.locator("#timeline .call.is-none")).to_have_count(5)
    with held_back(page, ROWS, 2):
        append(scripted_session.pk, [_of("tool_result", call, "ok") for call in calls], origin=links.RUNTIME)
        expect(page.locator("#timeline .call")).to_have_count(5)
        expect(page.locator("#timeline .call.is-none")).to_have_count(0)


def test_a_session_that_is_archived_while_it_is_open_takes_no_message(open_page, scripted_session):
    page = open_page(path_of(scripted_session))
    page.get_by_label("Message to the agent").fill("Half a sent")
    sessions.archive(scripted_session, by=audit.SYSTEM)
    expect(page.locator("#standing")).to_contain_text("Archived")
    expect(page.locator("#do-send")).to_be_hidden()
    expect(page.get_by_label("Message to the agent")).to_have_value("Half a sent")
    page.get_by_label("Message to the agent").fill("")
    expect(page.get_by_label("Message to the agent")).to_be_hidden()


@pytest.fixture
def commented(agent, reviewer_member) -> Session:
    """A session of four calls that are joined to one run, with comments on the second and the third."""
    calls = [one(f"c{n}", *more) for n in range(4) for one, more in ((call, ("Bash", {"command": "ls"})), (result, ()))]
    session = session_with(agent, [asked("p", "Look around"), *calls])
    for seq in (4, 6):
        about = comments.Range(seq, seq)
        comments.add(session.pk, reviewer_member, "- odd\n- very", about, by=audit.SYSTEM)
    return session


def test_comments_on_calls_of_a_closed_run_are_marked_at_the_run(open_page, commented):
    page = open_page(path_of(commented))
    run = page.locator("#timeline .joined > summary")
    expect(run.locator(".comment-mark")).to_have_text("2")
    run.click()
    expect(page.locator("#timeline .comment-mark")).to_have_text(["1", "1"])
    expect(run.locator(".comment-mark")).to_have_count(0)
    run.click()
    expect(run.locator(".comment-mark")).to_have_text("2")


def test_what_was_said_in_a_thread_leaves_the_focus_there(open_page, commented):
    page = open_page(path_of(commented))
    thread = page.locator(".thread").first
    thread.get_by_text("Reply").first.click()
    thread.locator("textarea[name=text]:visible").fill("Why?")
    thread.get_by_role("button", name="Reply").click()
    expect(thread.locator(".reply")).to_contain_text("Why?")
    expect(thread.locator(".comment-do summary")).to_be_focused()
    page.get_by_role("button", name="Resolve").first.click()
    expect(page.locator("#review summary", has_text="Resolved")).to_be_focused()
    lists = page.locator(".review-words ul:visible").first
    assert lists.evaluate("one => getComputedStyle(one).listStyleType") == "disc"


def test_a_mention_opens_the_box_where_it_is_a_sheet(open_page, commented):
    page = open_page(f"{path_of(commented)}#review", viewport=PHONE)
    expect(page.locator("#review .thread").first).to_be_visible()


def test_what_a_colleague_says_comes_by_itself_and_takes_nothing_away(open_page, commented, workspace):
    """It came with the next reload of the page."""
    ada = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]
    page = open_page("/sessions/")
    with page.expect_response(STREAM):
        page.goto(path_of(commented))
    box = page.locator("#review")
    expect(box.locator(".thread")).to_have_count(2)
    comments.add(commented.pk, ada, "Have you seen this?", by=audit.SYSTEM)
    expect(box.locator(".thread", has_text="Have you seen this?")).to_be_visible()
    page.locator("#comment-form textarea").fill("Half a thou")
    page.locator("#timeline .turn-head").first.focus()
    verdicts.give(commented.pk, ada, verdicts.Said("fail"), by=audit.SYSTEM)
    page.wait_for_timeout(2_500)
    expect(page.locator("#comment-form textarea")).to_have_value("Half a thou")
    page.locator("#comment-form textarea").fill("")
    expect(box).not_to_contain_text("Fail Ada")
    page.locator("#timeline .turn-head").first.focus()
    expect(box.locator(".verdicts")).to_contain_text("Ada")
    expect(page.locator("#timeline .turn-head").first).to_be_focused()


@pytest.mark.parametrize("script", [True, False])
@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_a_mention_leads_to_its_comment(open_page, commented, reviewer_member, viewport, script):
    for number in range(12):
        comments.add(commented.pk, reviewer_member, f"Note {number}\n\n" * 3, by=audit.SYSTEM)
    last = comments.add(commented.pk, reviewer_member, "The very one", by=audit.SYSTEM)
    page = open_page(comment_path(last), viewport=viewport, java_script_enabled=script)
    expect(page.locator(f"#comment-{last.pk}")).to_be_in_viewport()
    marked = page.locator(".comment:target")
    expect(marked).to_have_count(1)
    expect(marked).to_contain_text("The very one")


def _of(kind: str, call: str, status: str | None = None) -> EventDraft:
    return EventDraft(
        kind, f"{kind}-{call}", actor_kind="agent", tool=ToolDraft(call_id=call, name="look", status=status)
    )
