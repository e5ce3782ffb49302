"""On paper: what is read, with a head that says where it comes from; nothing that is pressed or typed into."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sessions_app.models import EventLink, Role
from sessions_app.services import agents, audit
from sessions_app.services.approvals import requests
from sessions_app.services.log import events, links
from sessions_app.services.people import members
from tests.formats.llmfeed.test_write import Log
from tests.views.session.build import BOT, asked, other, path_of, said, session_with
from vcon_app.drafts import Losses, SessionDraft
from vcon_app.formats import html

PRESSED = ".bar, .bars, .rail, button, input, select, textarea, .composer"


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture
def run(workspace):
    new = [asked("p1", "Where is my parcel?"), said("m1", "It is under way. " + "wide" * 90)]
    return session_with(agents.get_or_create_agent(workspace.id, "Refund agent"), new)


def printed(page):
    """The page as it goes to paper, made into a PDF."""
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 690, "height": 1000})  # A4 between its margins
    assert page.pdf(format="A4")[:5] == b"%PDF-"
    seen = page.eval_on_selector_all(
        PRESSED, "all => all.filter(one => one.checkVisibility()).map(one => one.outerHTML)"
    )
    assert seen == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return page.locator(".print-head")


def test_a_session_is_printed_with_the_hash_of_its_log(open_page, run):
    page = open_page(path_of(run))
    expect(page.locator(".print-head")).to_be_hidden()
    head = printed(page)
    expect(head).to_be_visible()
    expect(head).to_contain_text(bytes(EventLink.objects.filter(session=run).latest("last_seq").hash).hex())
    expect(head).to_contain_text("as Rosa saw it")
    expect(page.locator(".crumbs")).to_contain_text("Refund agent")
    expect(page.locator("#timeline")).to_contain_text("Where is my parcel?")


def test_the_head_of_a_session_counts_what_came_since_the_page_was_opened(open_page, run):
    page = open_page(path_of(run))
    events.append(run.pk, [said("m2", "It came.")], origin=links.RUNTIME)
    page.evaluate("url => htmx.ajax('GET', url, {target: '#s-head', swap: 'outerHTML'})", path_of(run) + "/head")
    expect(page.locator("#print-head")).to_contain_text("events: 3")
    expect(page.locator("#print-head")).to_contain_text(
        bytes(EventLink.objects.filter(session=run).latest("last_seq").hash).hex()
    )


def test_a_message_that_was_not_loaded_whole_ends_with_dots_on_paper(open_page, workspace):
    agent = agents.get_or_create_agent(workspace.id, "Refund agent")
    run = session_with(agent, [asked("p1", "\n\n".join(f"Paragraph {n} of many words." for n in range(900)))])
    page = open_page(path_of(run))
    printed(page)
    assert page.eval_on_selector(".more-text", "one => getComputedStyle(one, '::after').content") == '"…"'


@pytest.mark.parametrize("part", ["files", "cost", "waterfall", "strip", "graph"])
def test_each_page_of_a_session_says_on_paper_which_session_it_is_of(open_page, run, part):
    page = open_page(f"{path_of(run)}/{part}")
    expect(printed(page)).to_contain_text(run.external_id or str(run.pk))
    expect(page.locator(".crumbs")).to_be_visible()


def test_an_approval_is_printed_with_the_digest_of_its_arguments(open_page, run):
    asking = requests.request(run, requests.Question("issue_refund", {"note": "long " * 200}), by=BOT)
    page = open_page(f"/approvals/{asking.pk}/")
    expect(printed(page)).to_contain_text(asking.digest)


def test_what_is_scrolled_on_a_card_is_whole_on_paper(open_page, run):
    mail = {"to": "ines@example.org", "subject": "Invoice", "body": "\n".join(f"Line {n}" for n in range(120))}
    asking = requests.request(run, requests.Question("send_mail", mail), by=BOT)
    page = open_page(f"/approvals/{asking.pk}/")
    printed(page)
    assert page.eval_on_selector(".mail .plain", "one => one.scrollHeight <= one.clientHeight + 3")


def test_the_period_of_figures_stands_on_paper(open_page, run):
    page = open_page("/oversight/?days=7")
    printed(page)
    chosen = page.locator(".chip").filter(visible=True)
    expect(chosen).to_have_count(1)
    expect(chosen).to_have_attribute("href", "?days=7")


def test_how_the_audit_log_was_filtered_stands_on_paper(open_page, run, workspace):
    admin = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]
    page = open_page("/audit/?action=member&from=2026-01-31", member=admin)
    expect(page.locator(".print-head")).to_contain_text("action: member")
    expect(page.locator(".print-head")).to_contain_text("from: 2026-01-31")


def test_an_export_that_is_printed_from_a_dark_screen_is_light_and_unfolded(open_page, run, tmp_path):
    file = tmp_path / "session.html"
    thought = other("r1", "reasoning", "First of all:\n\nlook up the order.")
    file.write_bytes(b"".join(html.write(SessionDraft("s1"), Log([thought]), Losses(), options={})))
    page = open_page("/", color_scheme="dark")
    page.goto(file.as_uri())
    folded = page.get_by_text("look up the order.", exact=True)
    expect(folded).to_be_hidden()
    page.emulate_media(media="print", color_scheme="dark")
    ink = page.evaluate("getComputedStyle(document.body).color")
    assert ink == "rgb(29, 29, 27)"
    expect(folded).to_be_visible()


@pytest.mark.parametrize("path", ["/audit/", "/oversight/"])
def test_what_is_handed_to_an_auditor_is_printed_without_its_forms(open_page, run, path):
    expect(printed(open_page(path))).to_contain_text("Countersign")


def test_of_the_inbox_the_card_is_printed_and_not_the_list(open_page, run):
    requests.request(run, requests.Question("issue_refund", {"order": "4711"}), by=BOT)
    page = open_page("/approvals/")
    expect(page.locator(".inbox-side")).to_be_visible()
    printed(page)
    expect(page.locator(".inbox-side")).to_be_hidden()
    expect(page.locator(".inbox-chosen")).to_contain_text("4711")
    expect(page.locator(".inbox-chosen .card-more")).to_be_hidden()
