"""The desk without the app that fills its slots: every page is there, and only the parts of that app are not."""

from __future__ import annotations

from collections import defaultdict

import pytest

from sessions_app import extensions

from .build import words
from .session.build import asked, path_of, said, session_with

FETCHED = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture
def unfilled(monkeypatch) -> None:
    monkeypatch.setattr(extensions, "_providers", defaultdict(list))


@pytest.fixture
def session(agent):
    return session_with(agent, [asked("a", "Where is it?"), said("b", "Under way.")], phase="completed")


def test_the_page_of_a_session_needs_no_other_app(unfilled, reviewer, session):
    page = words(reviewer.get(path_of(session)))
    assert "Where is it?" in page and "More actions" not in page and "Export" not in page
    assert "Where it comes from" in words(reviewer.get(f"{path_of(session)}/facts", **FETCHED))


@pytest.mark.parametrize("tab", ["source", "raw", "text"])
def test_the_inspector_needs_no_other_app(unfilled, reviewer, session, tab):
    page = words(reviewer.get(f"{path_of(session)}/events/1?tab={tab}", **FETCHED))
    assert "Event 1" in page and "Redact" not in page


def test_settings_need_no_other_app(unfilled, admin):
    page = words(admin.get("/settings/"))
    assert "API keys" in page and "Trust anchors" not in page


def test_an_empty_workspace_needs_no_other_app(unfilled, reviewer):
    page = words(reviewer.get("/"))
    assert "Nothing is here yet" in page and "Choose files" not in page


def test_the_parts_are_there_when_the_slots_are_filled(admin, session):
    assert "Export" in words(admin.get(path_of(session)))
    assert "Trust anchors" in words(admin.get("/settings/"))
