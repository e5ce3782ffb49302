"""The inbox under the hand: nothing that is decided is out of sight, keys at any speed, other people, no surprises."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, Route, expect

from config.database.postgres import wait_until
from sessions_app.models import Approval, CardView, Role
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import decisions
from tests.views.build import asks, session_of

from .conftest import PATIENCE, PHONE, STREAMS

LONG = {"note": "lost in transit\n" * 60, "order": "4711"}


@pytest.fixture
def address(connected) -> str:
    return connected


def in_sight(page: Page, selector: str) -> bool:
    """Whether the whole of an element is inside of the window and of each box that scrolls around it."""
    return page.locator(selector).evaluate(
        """(one) => {
          const box = one.getBoundingClientRect();
          let frame = { top: document.querySelector('.bar').getBoundingClientRect().bottom, bottom: innerHeight };
          for (let around = one.parentElement; around; around = around.parentElement) {
            if (!/auto|scroll/.test(getComputedStyle(around).overflowY)) continue;
            const its = around.getBoundingClientRect();
            frame = { top: Math.max(frame.top, its.top), bottom: Math.min(frame.bottom, its.bottom) };
          }
          return box.height > 0 && box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
        }"""
    )


def waiting() -> int:
    return Approval.objects.filter(status="pending").count()


def by_ada(approval: Approval, verdict: str = "approve") -> None:
    ada = decisions.Decider(audit.Actor("member", "ada", "Ada"), Role.ADMIN, "api")
    decisions.decide(approval, ada, decisions.Decision(verdict, version=approval.version, digest=approval.digest))


@pytest.mark.parametrize("size", [(1440, 900), (1024, 640), (768, 1024)])
def test_row_and_head_of_the_card_are_in_sight_after_each_move(open_page, agent, size):
    session = session_of(agent)
    found = [asks(session, tool=f"tool_{number}", arguments=LONG, client_id=f"c{number}") for number in range(30)]
    page = open_page("/approvals/", viewport={"width": size[0], "height": size[1]})
    for number, approval in enumerate(found):
        if number:
            page.keyboard.press("j")
        expect(page.locator("#card-place .card")).to_have_id(f"approval-{approval.pk}")
        assert page.locator("#inbox-rows a[aria-current]").get_attribute("id") == f"line-{approval.pk}"
        parts = ("#card-place .card-head", "#card-place .card-what", "#card-place .card-actions")
        for selector in (f"#row-{approval.pk}", *parts):
            assert in_sight(page, selector), (number, selector)
        assert page.evaluate("scrollY") == 0
    expect(page.locator("#led-place")).not_to_be_empty()
    page.locator("#card-place .card-arguments details").first.evaluate("(fold) => { fold.open = true; }")
    page.locator("#chosen").evaluate("(pane) => { pane.scrollTop = 300; }")
    assert wait_until(lambda: in_sight(page, "#card-place .card-head"), 60), "it stays while the arguments are read"


SHOWN_ID = "document.querySelector('#card-place .card.is-open')?.dataset.approval"


def test_twelve_mixed_approvals_are_decided_in_nineteen_keys_at_sixty_milliseconds(open_page, agent):
    for number in range(12):
        asks(session_of(agent, f"Order {number}"), tool=f"tool_{number}", risk="high" if number % 2 else "")
    page = open_page("/approvals/")
    expect(page.locator("#card-place .card.is-open")).to_be_visible()
    page.wait_for_timeout(400)
    keys, decided = 0, []
    for number in range(12):
        # A person who is that fast waits for the next card all the same: a key without a card decides nothing.
        page.wait_for_function(f"(decided) => {SHOWN_ID} && !decided.includes({SHOWN_ID})", arg=decided)
        decided.append(page.evaluate(SHOWN_ID))
        for key in ("a", "Enter") if number < 6 else ("a",):  # the six of high risk come first
            page.keyboard.press(key)
            page.wait_for_timeout(60)
            keys += 1
    expect(page.get_by_text("All caught up")).to_be_visible()
    expect(page.locator(".inbox-row.is-settled")).to_have_count(12)
    assert keys <= 19
    assert {one.status for one in Approval.objects.all()} == {"approved"}
    assert all(one.votes.count() == 1 for one in Approval.objects.all())


def test_a_key_that_is_held_down_decides_one_thing(open_page, agent):
    for number in range(5):
        asks(session_of(agent), tool=f"tool_{number}")
    page = open_page("/approvals/")
    page.wait_for_timeout(300)
    for _ in range(6):
        page.keyboard.down("a")
    page.keyboard.up("a")
    expect(page.locator(".inbox-row.is-settled")).to_have_count(1)
    assert waiting() == 4


def test_keys_work_wherever_the_focus_is_but_not_in_fields(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/approvals/")
    page.wait_for_timeout(300)
    page.evaluate("document.activeElement.blur()")
    for _ in range(5):
        page.keyboard.press("j")
        page.keyboard.press("k")
    expect(page.locator("#card-place .card")).to_have_id(f"approval-{first.pk}")
    page.keyboard.press("d")
    page.keyboard.type("jade")
    assert page.locator("#card-place textarea[name=reason]").input_value() == "jade" and waiting() == 2
    page.keyboard.press("Escape")
    expect(page.locator("#card-place .choice[open]")).to_have_count(0)
    page.keyboard.press("d")
    page.keyboard.press("Control+Enter")
    expect(page.locator(f"#approval-{second.pk}.is-open")).to_be_visible()
    first.refresh_from_db()
    assert (first.status, first.decision["reason"]) == ("denied", "jade")


def test_a_new_one_comes_in_and_a_settled_one_changes_in_place(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/approvals/")
    expect(page).to_have_title("Approvals · Countersign (2)")
    page.wait_for_timeout(500)
    third = asks(session_of(agent), tool="third_tool")
    expect(page.locator(f"#row-{third.pk}")).to_be_visible()
    expect(page).to_have_title("Approvals · Countersign (3)")
    expect(page.locator(".nav .badge")).to_contain_text("3")
    by_ada(second)
    expect(page.locator(f"#row-{second.pk}.is-settled")).to_contain_text("Ada")
    by_ada(first)
    expect(page.locator(f"#approval-{first.pk}:not(.is-open)")).to_be_visible()
    expect(page).to_have_title("Approvals · Countersign (1)")
    page.keyboard.press("a")
    page.wait_for_timeout(200)
    assert waiting() == 1, "the card in front is settled: its keys decide nothing, and no other card's"


def test_one_that_belongs_to_rows_that_are_still_coming_is_there_once(open_page, agent):
    session = session_of(agent)
    for number in range(20):
        asks(session, tool=f"tool_{number}", client_id=f"c{number}")
    page = open_page("/")
    coming: list[Route] = []
    page.route(re.compile("/approvals/more"), lambda route: coming.append(route))
    page.goto("/approvals/")
    # Playwright hands requests over only while it is asked for something.
    assert wait_until(lambda: bool(page.evaluate("1") and coming), 60)
    with page.expect_response(re.compile("/approvals/lines")):
        last = asks(session, tool="tool_last", client_id="last")
    assert page.locator(f"#row-{last.pk}").count() == 0
    coming[0].continue_()
    expect(page.locator(f"#row-{last.pk}")).to_have_count(1)
    expect(page.locator(".inbox-row")).to_have_count(21)
    assert page.evaluate("new Set([...document.querySelectorAll('.inbox-row')].map((row) => row.id)).size") == 21


def test_a_more_urgent_one_moves_nothing_that_is_in_sight(open_page, agent):
    first = asks(session_of(agent), tool="first_tool")
    page = open_page("/approvals/")
    page.wait_for_timeout(500)
    before = page.locator(f"#row-{first.pk}").bounding_box()
    urgent = asks(session_of(agent), tool="urgent_tool", risk="high")
    expect(page.get_by_role("button", name="1 new")).to_be_visible()
    assert page.locator(f"#row-{first.pk}").bounding_box() == before
    page.get_by_role("button", name="1 new").click()
    assert page.locator(".inbox-row").first.get_attribute("id") == f"row-{urgent.pk}"
    expect(page.locator("#card-place .card")).to_have_id(f"approval-{first.pk}")


def test_who_is_slower_sees_who_was_faster_and_keeps_the_words(open_page, agent):
    approval = asks(session_of(agent))
    page = open_page("/approvals/")
    page.wait_for_timeout(300)
    page.keyboard.press("d")
    page.keyboard.type("Already refunded")
    by_ada(approval)
    page.wait_for_timeout(800)
    assert page.locator("#card-place textarea[name=reason]").input_value() == "Already refunded"
    page.keyboard.press("Control+Enter")
    expect(page.locator("#card-place [role=alert]")).to_contain_text("Ada decided this already")
    expect(page.locator("#card-place [role=alert]")).to_contain_text("Already refunded")


def test_on_a_phone_the_buttons_are_at_the_thumb(open_page, agent):
    approval = asks(session_of(agent), arguments={f"key_{number}": "lost in transit " * 20 for number in range(12)})
    page = open_page(f"/approvals/?card={approval.pk}", viewport=PHONE)
    assert in_sight(page, "#card-place .card-actions") and page.evaluate("document.documentElement.scrollHeight > 900")


@pytest.mark.parametrize("size", [(1440, 900), (375, 812)])
def test_buttons_stay_where_they_are_when_a_choice_opens(open_page, agent, size):
    approval = asks(session_of(agent))
    page = open_page(f"/approvals/?card={approval.pk}", viewport={"width": size[0], "height": size[1]})
    buttons = page.locator(".card-actions > * > summary, .card-actions > button")
    across = (
        "all => all.map((one) => [one.innerText, one.getBoundingClientRect().x, one.getBoundingClientRect().width])"
    )
    before = buttons.evaluate_all(across)
    page.locator("[data-choice=deny] > summary").click()
    field = page.locator("[data-choice=deny] textarea")
    expect(field).to_be_visible()
    assert len(before) > 2 and buttons.evaluate_all(across) == before
    assert field.bounding_box()["y"] > max(one.bounding_box()["y"] for one in buttons.all())


def test_a_ring_shows_how_much_time_is_left(open_page, agent):
    now = timezone.now()
    half, over = asks(session_of(agent)), asks(session_of(agent))
    Approval.objects.filter(pk=half.pk).update(
        requested_at=now - timedelta(hours=1), expires_at=now + timedelta(hours=1)
    )
    Approval.objects.filter(pk=over.pk).update(
        requested_at=now - timedelta(days=9), expires_at=now + timedelta(minutes=9)
    )
    page = open_page("/approvals/")
    rings = {one.pk: page.locator(f"#row-{one.pk} .ring-left") for one in (half, over)}
    expect(rings[half.pk]).to_have_attribute("stroke-dasharray", re.compile("^(50|49) 100$"))
    expect(rings[over.pk]).to_have_attribute("stroke-dasharray", "0 100")
    colour = {one: ring.evaluate("(one) => getComputedStyle(one).stroke") for one, ring in rings.items()}
    assert colour[half.pk] != colour[over.pk], "the last ten minutes are red"


def test_home_changes_in_place_too(open_page, agent):
    approval = asks(session_of(agent))
    page = open_page("/")
    page.wait_for_timeout(500)
    by_ada(approval)
    expect(page.locator(f"#approval-{approval.pk}:not(.is-open)")).to_contain_text("by Ada")
    asks(session_of(agent), tool="later_tool")
    expect(page.get_by_role("link", name="1 new")).to_be_visible()


def test_on_the_page_of_a_session_a_key_that_leads_never_decides(open_page, agent):
    session = session_of(agent)
    approval = asks(session)
    page = open_page(f"/dashboard/sub-agents/{agent.pk}/chat/{session.pk}")
    page.wait_for_timeout(1_000)  # a stream that has just begun brings the rows again
    for key in ("w", "a", "a", "w", "a", "j", "a", "r", "d"):
        page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert waiting() == 1 and page.locator(".choice[open]").count() == 0
    page.keyboard.press("w")
    expect(page.locator("[id^=e-]:has(.card)")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".card.is-armed")).to_be_visible()
    page.keyboard.press("a")
    expect(page.locator(".card")).to_contain_text("Approved")
    approval.refresh_from_db()
    assert approval.status == "approved"


def test_the_page_of_one_card_changes_in_place_but_not_under_the_hand(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page, other = open_page(f"/approvals/{first.pk}/"), open_page(f"/approvals/{second.pk}/")
    expect(page).to_have_title("first_tool · Approval (2)")
    other.keyboard.press("d")
    other.keyboard.type("Half of")
    for one in (first, second):
        by_ada(one)
    expect(page.locator(f"#approval-{first.pk}:not(.is-open)")).to_contain_text("by Ada")
    expect(page).to_have_title("first_tool · Approval")
    assert other.locator("textarea[name=reason]").input_value() == "Half of"
    other.keyboard.press("Control+Enter")
    expect(other.locator("[role=alert]").first).to_contain_text("Ada decided this already")


@pytest.mark.parametrize("place", ["/", "/approvals/", "/approvals/CARD/", "/dashboard/sub-agents/AGENT/chat/SESSION"])
def test_a_denial_without_a_reason_says_so_at_the_field_and_what_is_typed_on_goes_into_it(open_page, agent, place):
    approval = asks(session_of(agent))
    places = {"CARD": approval.pk, "AGENT": agent.pk, "SESSION": approval.session_id}
    for name, value in places.items():
        place = place.replace(name, str(value))
    page = open_page(place)
    if place == "/":
        page.locator(f"#approval-{approval.pk} .card-top").click()
    page.locator("[data-choice=deny] summary").click()
    page.locator("[data-choice=deny] textarea").press("Control+Enter")
    expect(page.locator(".card .field-error")).to_contain_text("Say why")
    expect(page.locator("[data-choice=deny] textarea")).to_be_focused()
    page.keyboard.type("a bad idea")
    assert waiting() == 1 and page.locator("[data-choice=deny] textarea").input_value() == "a bad idea"


@pytest.mark.parametrize("place", ["/", "/approvals/", "/approvals/CARD/", "/dashboard/sub-agents/AGENT/chat/SESSION"])
def test_who_is_still_writing_reads_that_it_is_settled_and_keeps_the_words(open_page, agent, place):
    approval = asks(session_of(agent))
    places = {"CARD": approval.pk, "AGENT": agent.pk, "SESSION": approval.session_id}
    for name, value in places.items():
        place = place.replace(name, str(value))
    page = open_page(place)
    if place == "/":
        page.locator(f"#approval-{approval.pk} .card-top").click()
    page.locator("[data-choice=deny] summary").click()
    page.locator("[data-choice=deny] textarea").fill("because it is")
    by_ada(approval)
    expect(page.locator(".card [role=status]")).to_contain_text("Settled meanwhile")
    expect(page.locator("[data-choice=deny] textarea")).to_have_value("because it is")
    page.locator("[data-choice=deny] textarea").press("Control+Enter")
    expect(page.locator(".card [role=alert]").first).to_contain_text("because it is")
    expect(page.locator(".card-settled")).to_have_count(0)


def test_what_they_send_themselves_is_not_called_too_late(open_page, agent):
    """The stream tells of a decision before its sender has the answer."""
    approval = asks(session_of(agent))
    page, sent = open_page("/"), []
    page.route("**/decision", lambda route: sent.append((route, route.fetch())))
    page.locator(f"#approval-{approval.pk} .card-top").click()
    page.locator("[data-choice=deny] summary").click()
    page.locator("[data-choice=deny] textarea").fill("because it is")
    with page.expect_response(f"**/approvals/{approval.pk}/?place=alone"):
        page.locator("[data-choice=deny] textarea").press("Control+Enter")
    page.wait_for_timeout(300)
    expect(page.locator(".card-settled")).to_have_count(0)
    route, answer = sent[0]
    route.fulfill(response=answer)
    expect(page.locator(f"#approval-{approval.pk}")).to_contain_text("Denied")


def test_a_card_that_is_put_off_while_home_was_away_is_not_called_settled(open_page, agent):
    """Home does not show it any more, but it waits."""
    approval = asks(session_of(agent))
    page = open_page("/")
    page.locator(f"#approval-{approval.pk} .card-top").click()
    page.locator("[data-choice=deny] summary").click()
    page.locator("[data-choice=deny] textarea").fill("because it is")
    page.context.set_offline(True)
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    Approval.objects.update(snoozed_until=timezone.now() + timedelta(hours=1))
    with page.expect_response(f"**/approvals/{approval.pk}/?place=alone"):
        page.context.set_offline(False)
    page.wait_for_timeout(300)
    expect(page.locator(".card-settled")).to_have_count(0)
    expect(page.locator("[data-choice=deny] textarea")).to_have_value("because it is")


def test_time_counts_for_the_card_that_is_in_front_wherever_it_stands(open_page, agent, reviewer_member):
    looked_at, beside = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/")
    page.locator(f"#approval-{looked_at.pk}").hover()
    page.wait_for_timeout(2_200)
    page.goto("/settings/")
    page.wait_for_timeout(300)
    seen = CardView.objects.get()
    assert (seen.approval_id, seen.member_id) == (looked_at.pk, reviewer_member.pk) and 1 <= seen.seconds < 60
    assert beside.pk != seen.approval_id


def test_a_card_that_is_read_keeps_its_place_when_something_of_it_changes(open_page, agent):
    approval = asks(session_of(agent), arguments={f"key_{number}": "lost in transit " * 40 for number in range(20)})
    Approval.objects.filter(pk=approval.pk).update(votes_needed=3)
    page = open_page("/approvals/")
    page.wait_for_timeout(500)
    page.locator("#chosen").evaluate("(pane) => { pane.scrollTop = 300; }")
    by_ada(approval)
    expect(page.locator("#card-place")).to_contain_text("1 of 3 approvals: API key Ada")
    assert page.locator("#chosen").evaluate("(pane) => pane.scrollTop") == 300


def test_a_keyboard_of_another_script_decides_by_the_place_of_its_keys(open_page, agent):
    first, second = asks(session_of(agent), tool="first_tool"), asks(session_of(agent), tool="second_tool")
    page = open_page("/approvals/")
    expect(page.locator(f"#approval-{first.pk}.is-open")).to_be_visible()
    keys = page.context.new_cdp_session(page)
    for key, code in (("о", "KeyJ"), ("л", "KeyK"), ("ф", "KeyA")):
        for kind in ("keyDown", "keyUp"):
            keys.send("Input.dispatchKeyEvent", {"type": kind, "key": key, "code": code})
    expect(page.locator(f"#approval-{second.pk}.is-open")).to_be_visible()
    assert wait_until(lambda: waiting() == 1, PATIENCE)
    first.refresh_from_db()
    assert first.status == "approved"


def test_on_a_wide_screen_a_card_without_a_conversation_has_its_place_too(open_page, agent):
    asks(sessions.create(agent, by=audit.COMMAND, title="first_tool"), tool="first_tool")
    page = open_page("/approvals/", viewport={"width": 2560, "height": 1440})
    card = page.locator("#card-place .card")
    expect(card).to_be_visible()
    assert card.bounding_box()["width"] > 1_400


@pytest.mark.parametrize("place", ["/approvals/", "/dashboard/sub-agents/AGENT/chat/SESSION"])
def test_a_network_that_swallows_what_is_sent_is_told_and_the_stream_begins_anew(open_page, agent, place):
    approval = asks(session_of(agent))
    page = open_page(place.replace("AGENT", str(agent.pk)).replace("SESSION", str(approval.session_id)))
    expect(page.locator("#stops")).to_have_attribute("hx-request", '{"timeout": 15000}')
    page.route("**/stops/strip*", lambda route: None)  # never answered, as where packets are dropped
    with page.expect_request(STREAMS):
        page.evaluate("""() => {
          const line = document.getElementById("stops");
          line.setAttribute("hx-request", '{"timeout": 200}');
          htmx.ajax("GET", line.getAttribute("hx-get"), { source: line, target: line }).catch(() => null);
        }""")
    expect(page.locator("#connection")).to_contain_text("Back")


OPENED = """
window.EventSource = class extends EventSource {
  constructor(address) {
    super(address);
    this.addEventListener("open", () => { document.documentElement.dataset.stream = "open"; });
  }
};
"""


@pytest.fixture
def refused(connected):
    """A page's streams are answered as by a proxy whose server is being started again, until somebody calls it."""

    def refuse(page: Page):
        page.add_init_script(OPENED)
        page.reload()
        expect(page.locator("html[data-stream=open]")).to_have_count(1)  # one that opens later would be "Back"
        page.route(STREAMS, lambda route: route.fulfill(status=502, body="Bad gateway"))
        page.context.set_offline(True)
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        return lambda: page.unroute(STREAMS)

    return refuse


def test_on_a_phone_an_empty_inbox_says_so_until_something_comes(open_page, connected, agent):
    page = open_page("/approvals/", viewport=PHONE)
    expect(page.get_by_text("All caught up")).to_be_visible()
    asks(session_of(agent))
    expect(page.locator(".inbox-row")).to_be_visible()
    expect(page.locator("#chosen")).to_be_hidden()


def test_an_inbox_that_was_away_says_so_and_catches_up(open_page, agent, refused):
    first = asks(session_of(agent), tool="first_tool")
    page = open_page("/approvals/")
    expect(page.locator("#card-place .card")).to_have_id(f"approval-{first.pk}")
    end = refused(page)
    by_ada(first)
    second = asks(session_of(agent), tool="second_tool")
    with page.expect_response(STREAMS):
        page.context.set_offline(False)
    expect(page.locator("#connection")).to_contain_text("reconnecting")
    end()
    expect(page.locator("#connection")).to_contain_text("Back")
    expect(page.locator(f"#row-{second.pk}")).to_be_visible()
    expect(page.locator(f"#row-{first.pk}")).to_contain_text("Approved")


def test_home_that_was_lost_before_its_stream_began_catches_up(open_page, agent):
    first = asks(session_of(agent))
    page = open_page("/usage/")
    page.route(STREAMS, lambda route: route.fulfill(status=502, body="Bad gateway"))
    page.goto("/")
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    by_ada(first)
    page.unroute(STREAMS)
    expect(page.locator("#connection")).to_contain_text("Back")
    expect(page.locator(f"#approval-{first.pk}")).to_contain_text("Approved")


def test_home_that_was_away_says_so_and_catches_up(open_page, agent, refused):
    first, second = (asks(session_of(agent), tool=f"tool_{number}") for number in range(2))
    page = open_page("/")
    expect(page.locator(f"#approval-{first.pk}.is-open")).to_be_visible()
    end = refused(page)
    by_ada(first)
    third = asks(session_of(agent), tool="third_tool")
    with page.expect_response(STREAMS):
        page.context.set_offline(False)
    end()
    expect(page.locator("#connection")).to_contain_text("Back")
    expect(page.locator(f"#approval-{first.pk}")).to_contain_text("Approved")
    expect(page.locator("#home-new")).to_have_text("1 new")
    expect(page.locator(f"#approval-{second.pk}.is-open")).to_be_visible()
    expect(page.locator(f"#approval-{third.pk}")).to_have_count(0)
