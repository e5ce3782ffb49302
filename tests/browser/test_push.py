"""Notices in a real browser: the settings page, the service worker, and what people see of a push.

No push service can be reached from here. So a browser cannot subscribe, and that failing is what the first tests look
at; what comes by a push is handed to the service worker by the browser's own DevTools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from config.database.postgres import wait_until
from sessions_app.models import PushSubscription

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/settings/notices/"
ALLOWED = {"permissions": ["notifications"]}
SHOWN = """async () => {
  const registration = await navigator.serviceWorker.ready;
  const shown = await registration.getNotifications();
  return shown.map(({ tag, title, body, data }) => ({ tag, title, body, url: data.url }));
}"""
STATUS = "#this-browser [role=status]"


def told(tag: str, body: str) -> dict[str, str]:
    return {"tag": tag, "title": "Parrot asks to run refund", "body": body, "url": f"/approvals/{tag}/"}


def test_who_allows_no_notices_is_told_why_nothing_happens(open_page):
    page = open_page(PAGE)
    button = page.get_by_role("button", name="Show notices in this browser")
    if button.is_visible():  # a browser that asks, and is not answered "yes"; others refuse from the start
        button.click()
    expect(page.locator(STATUS)).to_contain_text(re.compile("was told to show no notices|you did not allow notices"))
    assert not PushSubscription.objects.exists()


def test_a_push_service_that_cannot_be_reached_leaves_a_sentence_and_the_button(open_page):
    page = open_page(PAGE, **ALLOWED)
    button = page.get_by_role("button", name="Show notices in this browser")
    button.click()
    expect(page.locator(STATUS)).to_contain_text("shows no")
    assert page.locator(STATUS).inner_text().startswith("This browser shows no notices: ") and button.is_enabled()
    assert not PushSubscription.objects.exists()
    scope = page.evaluate("async () => (await navigator.serviceWorker.ready).scope")
    assert scope.endswith("/") and scope.count("/") == 3, "it may open every page of the desk"


def test_a_push_is_shown_and_how_it_ended_takes_its_place(open_page):
    page = open_page(PAGE, **ALLOWED)
    page.evaluate("navigator.serviceWorker.register('/service-worker.js')")
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    push = _pushes(page)
    push({"asked": told("one", "Risk: high"), "ended": []}, {"one": "Risk: high"})
    push({"asked": told("two", "Risk: low"), "ended": []}, {"one": "Risk: high", "two": "Risk: low"})
    push({"asked": None, "ended": [told("one", "Denied by Olaf")]}, {"two": "Risk: low"})  # seen, so it is only closed
    push("no JSON", {"two": "Risk: low", "unreadable": "Something waits for you."})
    assert {one["tag"]: one["url"] for one in page.evaluate(SHOWN)}["unreadable"] == "/approvals/"


def _pushes(page: Any) -> Callable[[Any, dict[str, str]], None]:
    """A function that hands the service worker a push until the browser shows these notices and no others.

    It is handed again, as a push service does: DevTools drops what comes before the worker is active.
    """
    devtools = page.context.new_cdp_session(page)
    registrations: list[str] = []
    devtools.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(one["registrationId"] for one in event["registrations"]),
    )
    devtools.send("ServiceWorker.enable")
    assert wait_until(lambda: page.evaluate("1") and bool(registrations), 60)
    origin = page.evaluate("location.origin")

    def shown() -> dict[str, str]:
        return {one["tag"]: one["body"] for one in page.evaluate(SHOWN)}

    def push(data: Any, bodies: dict[str, str]) -> None:
        text = data if isinstance(data, str) else json.dumps(data)

        def is_shown() -> bool:
            about = {"origin": origin, "registrationId": registrations[-1], "data": text}
            devtools.send("ServiceWorker.deliverPushMessage", about)
            return wait_until(lambda: shown() == bodies, 5)

        assert wait_until(is_shown, 60), shown()

    return push
