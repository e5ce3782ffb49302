"""The redaction page in a browser: a click is kept at once, and what was found is removed with one more."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from sessions_app.models import Session
from sessions_app.services import agents
from tests.views.session.build import asked, said, session_with
from vcon_app.models import Redaction

from .conftest import PHONE

SECRET = "My card is 4711 0815 2342"


@pytest.fixture
def address(connected) -> str:
    return connected


@pytest.fixture
def session_with_secret(workspace) -> Session:
    new = [asked("p1", SECRET), said("m1", f"You said: {SECRET}. " + "wide" * 90)]
    made = session_with(agents.get_or_create_agent(workspace.id, "Refund agent"), new)
    Session.objects.filter(pk=made.pk).update(phase="completed")
    return made


def test_a_secret_is_ticked_found_again_and_gone(open_page, session_with_secret):
    page = open_page(f"/sessions/{session_with_secret.pk}/redact/")
    panel = page.locator("#redact-panel")
    expect(panel).to_contain_text("Nothing selected yet")
    page.locator("input[value='1:text']").check()
    expect(panel).to_contain_text("1 event ticked")
    assert Redaction.objects.get().rules == [{"what": "text", "seq": 1}]
    page.fill("input[name=add]", "no such words")
    page.get_by_role("button", name="Add").click()
    expect(panel).to_contain_text("“no such words”")
    expect(page.locator("input[value='1:text']")).to_be_checked()
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("link", name="Preview and create the file").click()
    expect(page.locator("main")).to_contain_text("1 of 2 events loses something")
    expect(page.locator("main")).to_contain_text("Its text is removed")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Create redacted vCon").click()
    expect(page.locator("main")).to_contain_text("Removed words still stand in 2 places of this file")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.get_by_role("button", name="Remove those places, too").click()
    expect(page.locator("main")).to_contain_text("Nothing that was removed stands in this file any more")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download the redacted vCon").click()
    assert download.value.suggested_filename.startswith("redacted-")
