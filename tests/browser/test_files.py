"""The page of files in a browser: its keys, the versions of a file, and the way to an event and back."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.views.session.build import asked, call, path_of, result, session_with

from .conftest import PHONE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def edited(agent):
    def edit(key: str, path: str, old: str, new: str) -> list:
        return [call(key, "Edit", {"file_path": path, "old_string": old, "new_string": new}), result(key, "")]

    return session_with(
        agent,
        [
            asked("p", "Go"),
            call("r", "Read", {"file_path": "/w/a.py"}), result("r", "     1→one\n     2→two\n     3→three"),
            *edit("1", "/w/a.py", "two", "2"), *edit("2", "/w/a.py", "2", "second"), *edit("3", "/w/b.py", "x", "y"),
        ],
        metadata={"environment": {"cwd": "/w"}},
    )  # fmt: skip


def test_keys_lead_from_the_session_through_files_and_versions_to_the_event(open_page, edited):
    page = open_page(path_of(edited))
    expect(page.locator("#files-link")).to_contain_text("2 files")
    page.keyboard.press("F")
    page.locator("#side-files a[data-file]").first.click()
    page.wait_for_url("**/files?*")
    expect(page.locator("#file h2")).to_have_text("a.py")
    expect(page.locator("#file .diff-rows")).to_contain_text("second")
    page.keyboard.press("[")
    expect(page.locator("#file output")).to_contain_text("v1 of 2")
    expect(page.locator("#file .diff-rows")).not_to_contain_text("second")
    assert "version=1" in page.url
    page.keyboard.press("j")
    expect(page.locator("#file h2")).to_have_text("b.py")
    page.go_back()
    expect(page.locator("#file output")).to_contain_text("v1 of 2")
    page.locator("#file input[type=range]").fill("2")
    expect(page.locator("#file .diff-rows")).to_contain_text("second")
    page.locator("#file .hunk-head a").last.click()
    page.wait_for_url(re.compile(r"#e-6$"))
    expect(page.locator("#e-6")).to_be_in_viewport()


def test_a_phone_shows_the_chosen_file_and_nothing_is_wider_than_it(open_page, edited):
    page = open_page(f"{path_of(edited)}/files", viewport=PHONE)
    page.get_by_role("link", name=re.compile("a.py")).click()
    expect(page.locator("#file h2")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
