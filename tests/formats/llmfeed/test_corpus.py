"""Every llmfeed file that other people published, where the collection lies beside the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.places import CORPUS
from vcon_app.drafts import EventDraft, FormatError, SessionDraft
from vcon_app.formats import llmfeed
from vcon_app.formats.common.head import Head

from .test_read import events, session
from .test_write import again, without_place, written

FEEDS = CORPUS / "llmfeed"
FILES = sorted(FEEDS.glob("*/*.json"))
SESSIONS = ("session", "session-feed", "session-replay")
pytestmark = pytest.mark.skipif(
    not FILES, reason="the corpus does not lie beside the project (../shared/corpus/llmfeed)"
)


def read(path: Path) -> list[Any] | FormatError:
    with path.open("rb") as source:
        try:
            return list(llmfeed.read(source))
        except FormatError as error:
            return error


def stated_type(path: Path) -> str | None:
    try:
        return json.loads(path.read_bytes()).get("feed_type")
    except ValueError:
        return "malformed"


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_is_a_session_or_refused_with_a_reason(path: Path) -> None:
    drafts, feed_type = read(path), stated_type(path)
    if feed_type in SESSIONS:
        assert isinstance(drafts, list)
        assert [draft for draft in drafts if isinstance(draft, SessionDraft)]
        assert [draft for draft in drafts if isinstance(draft, EventDraft)]
    elif feed_type == "malformed":
        assert isinstance(drafts, FormatError)
        assert "line " in str(drafts)
    elif feed_type is not None:
        assert isinstance(drafts, FormatError)
        assert f'feed_type "{feed_type}"' in str(drafts)


@pytest.mark.parametrize(
    "path", FILES and [path for path in FILES if stated_type(path) in SESSIONS], ids=lambda path: path.name
)
def test_a_session_comes_back_the_same_after_export(path: Path) -> None:
    before = read(path)
    assert isinstance(before, list)
    after = again(written(session(before), events(before)))
    assert without_place(events(after)) == without_place(events(before))


def test_every_feed_that_says_so_is_recognised() -> None:
    for path in FILES:
        if stated_type(path) not in (None, "malformed"):
            assert llmfeed.detect(Head(path.read_bytes())), path.name
