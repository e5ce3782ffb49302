"""Pages in a real headless Chromium, against a server of the test's own. Skipped, and said so, where there is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from sessions_app.models import Member, Role, Workspace
from sessions_app.services import audit, people

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 375, "height": 780}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: install Debian's package chromium")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield started
        started.close()


@pytest.fixture
def workspace(transactional_db) -> Workspace:
    return people.default_workspace()


@pytest.fixture
def reviewer(workspace) -> Member:
    return people.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]


@pytest.fixture
def address(live_server) -> str:
    """Where the pages are; a test of pages that stay connected puts a server of its own in its place."""
    return live_server.url


@pytest.fixture
def open_page(browser, address, reviewer) -> Iterator[Callable[..., Any]]:
    """Open an address, signed in as the reviewer. What the browser complains of fails the test at its end."""
    contexts, complaints = [], []

    def opened(path: str, *, member: Member | None = reviewer, **options: Any) -> Any:
        context = browser.new_context(base_url=address, **{"viewport": WIDE, **options})
        contexts.append(context)
        if member:
            context.add_cookies([{"name": "sessionid", "value": _cookie(member), "url": address}])
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.goto(path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in complaints if "Failed to load resource" not in text] == []


def _cookie(member: Member) -> str:
    client = Client()
    client.force_login(member.user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
