"""Hooks of Django's middleware in the event loop: they do under ASGI what they do under WSGI."""

from __future__ import annotations

import re

import pytest
from asgiref.sync import async_to_sync
from django.http import HttpResponse
from django.test import AsyncClient
from django.utils import translation

from sessions_app.models import Role
from sessions_app.services import audit
from sessions_app.services.people import members

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@pytest.fixture
def browser(workspace) -> AsyncClient:
    client = AsyncClient(enforce_csrf_checks=True)
    member, _ = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)
    client.force_login(member.user)
    return client


def test_a_form_without_its_token_is_refused_and_one_with_it_is_taken(browser):
    @async_to_sync
    async def tried() -> list[int]:
        page = await browser.get("/agents/+/")
        token = TOKEN.search(page.content.decode())[1]
        sent = {"name": "Made", "runtime": "external", "model": "m"}
        refused = await browser.post("/agents/+/", sent)
        forged = await browser.post("/agents/+/", sent | {"csrfmiddlewaretoken": token[:-1] + "?"})
        taken = await browser.post("/agents/+/", sent | {"csrfmiddlewaretoken": token})
        return [refused.status_code, forged.status_code, taken.status_code]

    assert tried() == [403, 403, 422], "the third is read, and lacks fields"


def test_headers_are_set(browser):
    page = async_to_sync(browser.get)("/agents/")
    assert page.headers["X-Frame-Options"] == "DENY" and page.headers["X-Content-Type-Options"] == "nosniff"


def test_an_address_of_a_page_without_its_slash_leads_there_and_one_of_the_api_does_not(client):
    page, api = client.get("/agents"), client.get("/api/v1/nothing")
    assert (page.status_code, page.headers["Location"], api.status_code) == (301, "/agents/", 404)


def test_a_page_is_in_the_language_that_the_browser_asks_for_and_the_api_in_english(browser, settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]

    @async_to_sync
    async def asked(path: str, language: str) -> HttpResponse:
        return await browser.get(path, headers={"Accept-Language": language})

    german, swiss, french = (asked("/agents/", language) for language in ("de", "de-CH,fr;q=0.5", "fr"))
    assert [page.headers["Content-Language"] for page in (german, swiss, french)] == ["de", "de", "en"]
    assert b'<html lang="de"' in german.content and b'<html lang="en"' in french.content
    assert "Accept-Language" in german.headers["Vary"]
    told = asked("/api/v1/nothing", "de")
    assert "Content-Language" not in told.headers and "Accept-Language" not in told.headers.get("Vary", "")


@pytest.mark.parametrize("path", ["/api/v1/seen", "/agents/seen/"])
def test_a_language_does_not_outlive_its_request(client, settings, path):
    """Without an event loop the next request comes in the same thread."""
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    client.get("/sign-in/", headers={"Accept-Language": "de"})
    client.get(path)
    assert translation.get_language() == "en"


FORM_OF_ANOTHER_CHARSET = "application/x-www-form-urlencoded; charset=iso-8859-1"


@pytest.mark.parametrize(
    ("path", "status"),
    [("/sign-in/", 400), ("/imports/", 400), ("/nowhere/", 404), ("/api/v1/approvals", 400), ("/v1/traces", 400)],
)
def test_a_form_in_another_charset_is_refused_and_no_fault_of_ours(browser, path, status):
    """Anybody may send one: Django raised while it wrote the page of the refusal, and that became a 500."""
    browser.raise_request_exception = False
    browser.cookies["csrftoken"] = "a" * 32  # who has one is asked for the other half, in the form
    answer = async_to_sync(browser.post)(path, "a=1", content_type=FORM_OF_ANOTHER_CHARSET)
    assert answer.status_code == status
    assert answer.headers["Content-Security-Policy"]
