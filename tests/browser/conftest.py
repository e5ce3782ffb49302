"""Pages in a real headless Chromium, against a server of the test's own. Skipped, and said so, where there is none."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from config.database.postgres import wait_until
from sessions_app.models import Member, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.people import members
from tests.database_roles import as_owner

from . import server

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
playwright.expect.set_options(timeout=30_000)  # 5 s are short where three tests share two cores

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
OF_PLAYWRIGHT = (
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades", "LensOverlay", "MediaRouter",
    "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch", "TcpPortRandomizationWin",
    "ThirdPartyStoragePartitioning", "msEdgeUpdateLaunchServicesPreferredVersion", "msForceBrowserSignIn",
)  # fmt: skip
"""What Playwright 1.65 switches off: Chromium reads one such list, and ours comes last."""
OF_A_WINDOW = ("WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "SpareRendererForSitePerProcess")
"""Pages of the browser's own and a spare process, which each window brings: three fifths of what opening one takes."""
PATIENCE = 60
STREAMS = re.compile(r"/stream(\?|$)")
OF_THE_NETWORK = ("Failed to load resource", "htmx:afterRequest,", "htmx:sendError,", "htmx:timeout,")
"""What the browser and htmx say when a test cuts the network off; the page tells people by itself."""
OF_THIS_BROWSER = "Chrome currently does not support the Push API in incognito mode"
"""What Chromium says beside the error that the page shows."""
WIDE, PHONE = {"width": 1440, "height": 900}, {"width": 375, "height": 780}


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine: install Debian's package chromium")
    with playwright.sync_playwright() as running:
        without = f"--disable-features={','.join(OF_PLAYWRIGHT + OF_A_WINDOW)}"
        started = running.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, without])
        yield started
        started.close()


@pytest.fixture
def workspace(transactional_db, workspace) -> Workspace:
    """The default workspace, committed: other connections read it."""
    return workspace


@pytest.fixture
def reviewer_member(workspace) -> Member:
    return members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]


@pytest.fixture(scope="session")
def web_server(process_environment) -> Iterator[str]:
    with server.running(process_environment) as url:
        yield url


@pytest.fixture
def connected(web_server, transactional_db) -> Iterator[str]:
    """A server of its own process, asynchronous as in production, for pages that stay connected."""
    yield web_server
    wait_until(_nobody_reads, PATIENCE)
    if settings.EMBEDDED_CLUSTER:  # a request that comes late all the same gives way to emptying the tables, not we
        with as_owner() as cursor:
            cursor.execute("SET deadlock_timeout = '10s'")


@pytest.fixture
def address(live_server) -> str:
    """Where the pages are; a test of pages that stay connected puts ``connected`` in its place."""
    return live_server.url


@pytest.fixture
def open_page(request, browser, address, reviewer_member) -> Iterator[Callable[..., Any]]:
    """Open an address, signed in as the reviewer. What the browser complains of fails the test at its end."""
    contexts, complaints = [], []

    def opened(path: str, *, member: Member | None = reviewer_member, **options: Any) -> Any:
        context = browser.new_context(base_url=address, **{"viewport": WIDE, **options})
        contexts.append(context)
        if "connected" not in request.fixturenames:  # in the server of these tests a stream would never end
            context.route(STREAMS, lambda route: route.abort())
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
    assert [text for text in complaints if not text.startswith((*OF_THE_NETWORK, OF_THIS_BROWSER))] == []


def _nobody_reads() -> bool:
    """Whether the server is done with what the pages asked: the tables are emptied next, and that needs them alone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state <> 'idle'"
        )
        return cursor.fetchone()[0] == 0


def _cookie(member: Member) -> str:
    client = Client()
    client.force_login(member.user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value
