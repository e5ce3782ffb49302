"""Every page keeps to the policy: no script and no style inline, no address elsewhere, no traceback."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import path

from config import urls as site
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs

from .build import ASKER, TRANSCRIPT, asks, session_of, words

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e\0"
PAGES = [
    "/", "/sessions/", "/sessions/?status=x", "/sessions/?q=zzz", "/agents/", "/agents/refund-agent/", "/approvals/",
    "/imports/", "IMPORT", "/usage/", "/usage/?by=session", "/usage/wallets/", "/usage/calls/", "/settings/", "/audit/",
    "/audit/?check=1", "/sign-in/password/", "/nowhere",
]  # fmt: skip


def complaints(html: str) -> list[str]:
    """What the Content-Security-Policy of the site would refuse, or what would ask another host."""
    found = re.findall(r"<script(?![^>]*\bsrc=)[^>]*>", html)
    found += re.findall(r"<style\b", html)
    found += re.findall(r"<[^>]+\sstyle\s*=", html)
    found += re.findall(r"<[^>]+\son[a-z]+\s*=", html)
    found += re.findall(r"<[^>]+\shx-on[^>]*>", html)
    found += re.findall(r"""<[^>]+\s(?:src|href|action)\s*=\s*["'](?:https?:|//|javascript:|data:)[^"']*["']""", html)
    return found


@pytest.fixture
def full_desk(workspace, agent, settings, tmp_path) -> Import:
    settings.DOCUMENTS_DIR = tmp_path
    session = session_of(agent, HOSTILE.replace("\0", ""), errors=1)
    asks(session, tool=HOSTILE.replace("\0", ""), context=HOSTILE.replace("\0", ""))
    imported = import_jobs.start_import(workspace, HOSTILE, [TRANSCRIPT], by=ASKER)
    import_jobs.run(imported.id)
    return imported


@pytest.mark.parametrize("path", PAGES)
def test_pages_have_nothing_inline(admin, full_desk, path):
    page = admin.get(path.replace("IMPORT", f"/imports/{full_desk.id}/"))
    html = page.content.decode()
    assert complaints(html) == []
    assert "<script>alert" not in html and "<img" not in html and "\u202e" not in html
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "unsafe" not in page.headers["Content-Security-Policy"]


def test_a_complaint_would_be_found():
    bad = '<script>1</script><style>a{}</style><p style="a"><p onclick="a"><a href="https://x.example">'
    assert len(complaints(bad)) == 5


@pytest.mark.parametrize("path", ["/sign-in/", "/sign-in/old-token/"])
def test_pages_before_the_sign_in_have_nothing_inline(workspace, path):
    assert complaints(Client().get(path).content.decode()) == []


def test_a_page_that_is_not_there_says_so_calmly(admin):
    answer = admin.get("/nowhere/at/all")
    assert answer.status_code == 404
    assert "Page not found" in words(answer)
    assert "Resolver404" not in words(answer)
    assert "Sessions Agents Approvals" in words(answer), "the way back is there"


def test_a_fault_of_ours_shows_no_traceback(admin, settings):
    def broken(request):
        raise RuntimeError("secret detail")

    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [path("broken/", broken), *site.urlpatterns]})
    admin.raise_request_exception = False
    answer = admin.get("/broken/")
    assert answer.status_code == 500
    assert "Something went wrong" in words(answer)
    assert "secret detail" not in answer.content.decode() and "Traceback" not in answer.content.decode()
    assert complaints(answer.content.decode()) == []


def test_a_page_is_not_kept_by_a_cache_in_between(viewer):
    assert "private" in viewer.get("/sessions/").headers["Cache-Control"]
