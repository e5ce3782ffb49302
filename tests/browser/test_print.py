"""On paper: what is read, with a head that says where it comes from; nothing that is pressed or typed into."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sessions_app.models import EventLink
from sessions_app.services import agents
from sessions_app.services.approvals import requests
from tests.views.session.build import BOT, asked, path_of, said, session_with

PRESSED = ".bar, .bars, .rail, button, input, select, textarea, .crumbs, .composer"


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
    expect(page.locator("#timeline")).to_contain_text("Where is my parcel?")


def test_an_approval_is_printed_with_the_digest_of_its_arguments(open_page, run):
    asking = requests.request(run, requests.Question("issue_refund", {"note": "long " * 200}), by=BOT)
    page = open_page(f"/approvals/{asking.pk}/")
    expect(printed(page)).to_contain_text(asking.digest)


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
