"""Outputs of an llmfeed on the page: each once, and the bytes of an image not as text."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Session
from tests.views.build import words
from tests.views.session.build import path_of

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
FEED = {
    "feed_type": "session",
    "metadata": {"origin": "https://example.org", "title": "T", "generated_at": "2026-05-20T12:00:00Z",
                 "tags": ["harbour"]},
    "context": {"user_input": "a boat"},
    "outputs": [{"type": "text/markdown", "value": "it floats"}, {"type": "image/png", "value": PIXEL}],
}  # fmt: skip


@pytest.fixture
def page(reviewer, import_document) -> str:
    import_document(json.dumps(FEED).encode(), "feed.json")
    return words(reviewer.get(path_of(Session.objects.get()))).partition("Inspector")[0]


def test_an_output_that_is_the_message_behind_it_is_shown_once(page):
    assert page.count("it floats") == 1
    assert "Artifact: the message below" in page


def test_the_bytes_of_an_image_are_no_text(page):
    assert PIXEL[:30] not in page


def test_tags_lead_to_the_sessions_that_have_them(reviewer, import_document):
    import_document(json.dumps(FEED).encode(), "feed.json")
    assert "/sessions/?tag=harbour" in reviewer.get(path_of(Session.objects.get())).content.decode()
