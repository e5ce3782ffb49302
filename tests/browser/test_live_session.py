"""A session that runs, in a browser: text as it is written, a card, messages that wait, an interruption."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connections
from playwright.sync_api import Page, expect

from sessions_app.drafts import EventDraft
from sessions_app.models import Event, Session, TurnInFlight
from sessions_app.runtimes import worker
from sessions_app.runtimes.run import TurnRun
from sessions_app.runtimes.scripted import SECONDS_BETWEEN
from sessions_app.services import notify
from sessions_app.services.log import links
from sessions_app.services.log.events import append

from .conftest import PHONE

STORY = "a story of " + "many words " * 80


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture(autouse=True)
def at_work(scripted_agent) -> Iterator[None]:
    """A worker that needs no task: it takes every turn that waits for one."""
    over = threading.Event()

    def work() -> None:
        while not over.wait(0.05):
            for flight in TurnInFlight.objects.filter(worker=None, rung_at__isnull=False):
                worker.run(flight.session_id)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    over.set()
    thread.join()


@pytest.fixture
def go_on(monkeypatch) -> Iterator[threading.Event]:
    """Turns stay between two pieces of text, and where they ``/wait``, until this is set: no browser is too slow."""
    event, pause = threading.Event(), TurnRun.pause

    def held(turn: TurnRun, seconds: float) -> bool:
        while (seconds == SECONDS_BETWEEN or seconds >= 1) and not (event.is_set() or turn.interrupted):
            pause(turn, 0.05)
        return pause(turn, seconds)

    monkeypatch.setattr(TurnRun, "pause", held)
    yield event
    event.set()


def begin(page: Page, text: str) -> Session:
    """Type on the page of the agent's chat; the browser is on the session's page then."""
    page.get_by_label("First message").fill(text)
    page.get_by_label("First message").press("Control+Enter")
    page.wait_for_url("**/dashboard/**")
    return Session.objects.get()


def send(page: Page, text: str) -> None:
    page.get_by_label("Message to the agent").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def shown(page: Page) -> list[int]:
    return page.evaluate("[...document.querySelectorAll('#timeline [data-seq]')].map((row) => Number(row.dataset.seq))")


def test_text_appears_as_it_is_written_and_its_row_takes_its_place(open_page, scripted_agent, go_on):
    page = open_page("/agents/parrot/chat/")
    begin(page, STORY)
    expect(page.locator(".writing-row")).to_contain_text("You said: a story")
    before = len(page.locator(".writing-row .plain").inner_text())
    expect(page.locator("#standing")).to_contain_text("Your message will be sent after this turn")
    go_on.set()
    expect(page.locator(".writing-row .plain, #e-2")).to_contain_text(re.compile(f"You said: .{{{before},}}"))
    expect(page.locator("#e-2")).to_contain_text("You said: a story")
    expect(page.locator(".writing-row")).to_have_count(0)
    expect(page.locator("#standing")).to_contain_text("Your message is sent at once")
    expect(page.locator("#t-1 .turn-facts")).to_contain_text("$0.0")


def test_a_reader_who_comes_back_sees_each_event_once(open_page, scripted_agent, go_on):
    page = open_page("/agents/parrot/chat/")
    session = begin(page, STORY)
    expect(page.locator(".writing-row")).to_contain_text("a story")
    page.reload()
    expect(page.locator(".writing-row")).to_contain_text("You said: a story of many words")
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("reconnecting")
    go_on.set()
    page.wait_for_timeout(1_000)
    page.context.set_offline(False)
    expect(page.locator("#connection")).to_contain_text("Back")
    expect(page.locator("#e-2")).to_contain_text("You said: a story")
    expect(page.locator(".writing-row")).to_have_count(0)
    send(page, "And now?")
    expect(page.locator("#e-4")).to_contain_text("You said: And now?")
    kept = Event.objects.filter(session=session).order_by("seq").values_list("seq", flat=True)
    assert shown(page) == [1, 2, 3, 4] == list(kept)


def test_a_card_comes_in_and_its_approval_leads_to_the_result(open_page, scripted_agent):
    page = open_page("/agents/parrot/chat/")
    session = begin(page, '/tool shop/refund {"order": 4711}\nPaid')
    expect(page.locator(".card.is-open")).to_contain_text("refund")
    expect(page.locator("#standing")).to_contain_text("Needs approval")
    expect(page.locator("#outline .is-waits")).to_have_count(1)
    expect(page.get_by_role("button", name="Interrupt and send")).to_be_visible()
    page.get_by_role("button", name="Approve a").click()
    expect(page.locator(".card")).to_contain_text("Approved")
    expect(page.locator("#timeline")).to_contain_text("You said: Paid")
    expect(page.locator("#standing")).to_contain_text("Idle")
    expect(page.locator("#s-head")).not_to_contain_text("Needs approval")
    expect(page.locator("#outline .is-waits, #timeline [data-waits]")).to_have_count(0)
    expect(page.locator("#outline li")).to_have_count(1)
    assert page.url.endswith(str(session.pk))  # the card was decided in place


def test_a_person_interrupts_what_waits_and_is_heard_next(open_page, scripted_agent):
    page = open_page("/agents/parrot/chat/")
    begin(page, "/tool shop/refund\nPaid")
    expect(page.locator(".card.is-open")).to_be_visible()
    page.get_by_label("Message to the agent").fill("Do not pay")
    page.get_by_role("button", name="Interrupt and send").click()
    expect(page.locator("#t-2")).to_contain_text("You said: Do not pay")
    expect(page.locator(".card")).to_contain_text("Withdrawn")
    expect(page.get_by_label("Message to the agent")).to_have_value("")
    expect(page.locator("#timeline")).not_to_contain_text("You said: Paid")


def test_messages_wait_behind_the_turn_and_one_is_taken_back(open_page, scripted_agent, go_on):
    page = open_page("/agents/parrot/chat/", viewport=PHONE)
    begin(page, "/wait 1\nDone")
    send(page, "First in line")
    page.get_by_label("Message to the agent").press("End")
    page.get_by_label("Message to the agent").press_sequentially("Second in line")  # while the first is on its way
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".queue li")).to_have_count(2)
    page.get_by_role("button", name="Cancel: Second in line").click()
    expect(page.locator(".queue li")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    go_on.set()
    expect(page.locator("#t-2")).to_contain_text("First in line")
    expect(page.locator(".queue")).to_have_count(0)
    expect(page.locator("#timeline")).not_to_contain_text("Second in line")
    expect(page.locator("#outline")).to_contain_text("First in line")


def test_a_turn_is_interrupted_and_tried_again(open_page, scripted_agent):
    page = open_page("/agents/parrot/chat/")
    begin(page, "/wait 30\nDone")
    page.get_by_label("Message to the agent").fill("half a thou")
    page.get_by_role("button", name="Interrupt", exact=True).click()
    expect(page.locator("#standing")).to_contain_text("The last turn was interrupted")
    expect(page.get_by_label("Message to the agent")).to_have_value("half a thou")
    page.get_by_role("button", name="Retry this turn").click()
    expect(page.locator("#standing")).to_contain_text("Running")
    page.get_by_role("button", name="Interrupt", exact=True).click()
    expect(page.get_by_role("button", name="Retry this turn")).to_be_visible()


def test_without_javascript_a_session_is_begun_led_and_stopped(open_page, scripted_agent):
    page = open_page("/agents/parrot/chat/", java_script_enabled=False)
    page.get_by_label("First message").fill("/wait 30")
    page.get_by_role("button", name="Start session").click()
    page.get_by_label("Message to the agent").fill("Behind it")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".queue")).to_contain_text("Behind it")
    page.get_by_role("button", name="Cancel: Behind it").click()
    expect(page.locator(".queue")).to_have_count(0)
    page.get_by_role("button", name="Interrupt", exact=True).click()
    until = time.monotonic() + 60
    while "interrupted" not in page.locator("#standing").inner_text() and time.monotonic() < until:
        page.wait_for_timeout(300)
        page.reload()
    expect(page.locator("#standing")).to_contain_text("The last turn was interrupted")


def test_pieces_join_by_where_they_begin_and_a_gap_waits_for_the_whole(open_page, scripted_agent):
    page = open_page("/agents/parrot/chat/")
    session = begin(page, "Hello")
    expect(page.locator("#e-2")).to_be_visible()
    written = page.locator(".writing-row .plain")

    def said(offset: int, text: str) -> None:
        piece = {"request": "r", "offset": offset, "text": text}
        page.evaluate("async piece => (await import('/static/js/session/writing.js')).addText(piece)", piece)

    notify.text_written(session.pk, "r", 0, "A 🦜 says")  # from the desk: with it comes the script that joins pieces
    expect(written).to_have_text("A 🦜 says")
    said(8, " <b>hi")  # characters of Unicode: the parrot is one, and two units of the browser
    said(0, "A 🦜")  # come twice
    expect(written).to_have_text("A 🦜 says <b>hi")
    said(40, "lost")
    expect(page.locator(".writing-row.has-gap .plain")).to_have_text("A 🦜 says <b>hi")
    said(0, "A 🦜 says <b>hi there, and all of it is there again")
    expect(page.locator(".writing-row.has-gap")).to_have_count(0)
    expect(written).to_contain_text("all of it is there again")
    message = EventDraft("agent_message", "whole", actor_kind="agent", text="A parrot says hi")
    append(session.pk, [message], origin=links.RUNTIME)
    expect(page.locator("#e-3")).to_contain_text("A parrot says hi")
    expect(page.locator(".writing-row")).to_have_count(0)
    said(0, "A 🦜")  # late
    expect(page.locator(".writing-row")).to_have_count(0)
