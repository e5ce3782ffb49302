"""The page where members choose how they are told; the browsers on it, and the script that runs in them."""

from __future__ import annotations

import pytest
from django.test import Client

from sessions_app.models import NoticeChoice, PushKey, PushSubscription
from sessions_app.services.notices import push_keys, subscriptions
from tests.fakes.push_service import Browser

from ..build import words

PAGE, ADD = "/settings/notices/", "/settings/notices/browsers/"
SAFARI = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/26.1 Safari/605.1.15"


@pytest.fixture
def form(db) -> dict[str, str]:
    """What the script of the page sends."""
    return Browser("https://push.example.com/abc", push_keys.current().public).form


def test_a_browser_is_added_listed_and_removed(reviewer, form):
    assert "None of your browsers shows notices" in words(reviewer.get(PAGE))
    assert reviewer.post(ADD, form, headers={"User-Agent": SAFARI}).status_code == 201
    page = reviewer.get(PAGE)
    assert "Safari on macOS by push.example.com" in words(page) and "Last notified" in words(page)
    assert "/abc" not in page.content.decode(), "whoever knows the address could have something sent there"
    mine = PushSubscription.objects.get()
    reviewer.post(f"{ADD}{mine.pk}/remove/")
    assert not PushSubscription.objects.exists() and "None of your browsers" in words(reviewer.get(PAGE))


def test_a_browser_that_is_gone_is_told_to_its_member_until_it_is_there_again(reviewer, admin, form):
    for client in (reviewer, admin):
        client.post(ADD, form | {"endpoint": f"https://push.example.com/{id(client)}"}, headers={"User-Agent": SAFARI})
    gone = PushSubscription.objects.get(member__role="reviewer")
    subscriptions.lose(gone)
    told = words(reviewer.get(PAGE))
    assert "Safari on macOS was removed just now : push.example.com said that it is gone." in told
    assert "None of your browsers shows notices" in told
    assert "was removed" not in words(admin.get(PAGE))
    reviewer.post(ADD, form, headers={"User-Agent": SAFARI})
    assert "was removed" not in words(reviewer.get(PAGE))


def test_the_page_has_the_key_that_browsers_are_bound_to(reviewer):
    page = reviewer.get(PAGE).content.decode()
    assert f'data-key="{PushKey.objects.get().public}"' in page and f'data-address="{ADD}"' in page


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"endpoint": "http://push.example.com/abc"}, "https://HOST"),
        ({"auth": "AAAA"}, "auth has to be 16 bytes"),
        ({"p256dh": ""}, "p256dh has to be 65 bytes"),
        ({"public_key": "B" * 87}, "load the page again"),
    ],
)
def test_what_no_browser_sends_is_refused_in_one_sentence(reviewer, form, change, says):
    answer = reviewer.post(ADD, form | change)
    assert answer.status_code == 422 and says in answer.content.decode()
    assert not PushSubscription.objects.exists()


def test_only_who_decides_is_told_and_nobody_without_a_token_of_the_page(viewer, reviewer, form):
    assert viewer.post(ADD, form).status_code == 403 and Client().post(ADD, form).status_code == 302
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = reviewer.cookies
    assert strict.post(ADD, form).status_code == 403
    assert not PushSubscription.objects.exists()


def test_nobody_removes_the_browser_of_somebody_else(reviewer, admin, form):
    reviewer.post(ADD, form)
    theirs = PushSubscription.objects.get()
    assert admin.post(f"{ADD}{theirs.pk}/remove/").status_code == 404
    assert PushSubscription.objects.get() == theirs


def test_who_signs_out_of_a_browser_is_told_nothing_more_there(reviewer, form):
    reviewer.post(ADD, form)
    reviewer.post(ADD, form | {"endpoint": "https://push.example.com/another-browser"})
    # The last one added is the one of this browser.
    reviewer.post("/sign-out/")
    assert [one.endpoint for one in PushSubscription.objects.all()] == ["https://push.example.com/abc"]


def test_everything_is_chosen_in_one_form(reviewer):
    chosen = {"mail": "on", "push": "on", "least_risk": "medium", "digest_minutes": "60"}
    assert reviewer.post(PAGE, chosen).status_code == 302
    kept = NoticeChoice.objects.get()
    assert (kept.mail, kept.push, kept.least_risk, kept.digest_minutes) == (True, True, "medium", 60)
    reviewer.post(PAGE, {"least_risk": ""})
    kept.refresh_from_db()
    assert (kept.mail, kept.push, kept.digest_minutes) == (False, False, 0)
    for wrong in ("7", "-15", "60.0", "６０", "9" * 20):
        assert reviewer.post(PAGE, chosen | {"digest_minutes": wrong}).status_code == 422


def test_the_service_worker_is_at_the_root_and_keeps_to_itself():
    answer = Client().get("/service-worker.js")
    assert answer.status_code == 200 and answer["Content-Type"].startswith("text/javascript")
    assert answer["Cache-Control"] == "no-cache" and answer["Content-Security-Policy"].startswith("default-src 'none'")
    script = answer.content.decode()
    assert 'addEventListener("fetch"' not in script and "importScripts" not in script and "eval" not in script


def test_a_phone_can_keep_the_desk_among_its_apps(client):
    """Safari on iOS sends pushes to installed pages alone."""
    answer = client.get("/manifest.webmanifest")
    assert answer["Content-Type"] == "application/manifest+json"
    about = answer.json()
    assert about["start_url"] == about["scope"] == "/" and about["display"] == "standalone"
    assert {icon["type"] for icon in about["icons"]} == {"image/svg+xml", "image/png"}
    assert '<link rel="manifest" href="/manifest.webmanifest">' in client.get("/sign-in/").content.decode()


def test_nobody_has_the_browser_of_somebody_else_tried(reviewer, admin, form):
    reviewer.post(ADD, form)
    theirs = PushSubscription.objects.get()
    assert admin.post(f"{ADD}{theirs.pk}/test/").status_code == 404
    assert reviewer.get(f"{ADD}{theirs.pk}/test/").status_code == 405


def test_a_browser_that_cannot_be_reached_is_told_apart(reviewer, form):
    """The push service is on a host that is none of the public ones: nothing is sent there."""
    reviewer.post(ADD, form | {"endpoint": "https://localhost/abc"})
    theirs = PushSubscription.objects.get()
    page = reviewer.post(f"{ADD}{theirs.pk}/test/", follow=True).content.decode()
    assert "was not reached: " in page and "should be shown" not in page
    again = reviewer.post(f"{ADD}{theirs.pk}/test/", follow=True).content.decode()
    assert "a moment ago" in again
