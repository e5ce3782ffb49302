"""Exports of other people, where they are present: messages and calls are those counted independently."""

from __future__ import annotations

from typing import Any

import pytest

from vcon_app.formats import chatgpt_export

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, sessions

FILES = manifest("chatgpt-export")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])


@by_file
def test_chats_messages_and_calls_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(chatgpt_export, entry)
    assert_sound(drafts)
    messages = {event.pointer.partition("/content/")[0] for event in events(drafts)}
    assert len(sessions(drafts)) == entry["conversations"]
    assert len(messages) == entry["records"]
    assert sum(event.kind == "tool_call" for event in events(drafts)) == entry["tool_calls"]
    assert not any(event.usage or event.kind == "unknown" for event in events(drafts))


def test_exactly_these_files_are_claimed() -> None:
    base = TRANSCRIPTS.name
    assert claimed(chatgpt_export) == {f"{base}/{entry['file']}" for entry in FILES}
