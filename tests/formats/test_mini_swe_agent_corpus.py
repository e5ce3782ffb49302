"""Trajectories of other people, where they are present. The manifest counted them as plain lists of messages."""

from __future__ import annotations

import re
from typing import Any

import pytest

from vcon_app.formats import mini_swe_agent

from .reads import TRANSCRIPTS, assert_sound, claimed, drafts_in, events, manifest, tokens

FILES = manifest("mini-swe-agent")
pytestmark = pytest.mark.skipif(not FILES, reason="needs the transcripts in ../shared/corpus")


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"])
def test_messages_and_tokens_are_those_of_the_manifest_and_each_command_is_a_call(entry: dict[str, Any]) -> None:
    """The manifest states no calls: it reads these files as chats, in which a command is text.

    The agent runs what stands in the code block of each answer; the next message is what came back.
    """
    drafts = drafts_in(mini_swe_agent, entry)
    assert_sound(drafts)
    data = (TRANSCRIPTS / entry["file"]).read_text()
    commands = len(re.findall(r'"role": "assistant",\s+"content": "[^"]*(?:\\"[^"]*)*```mswea_bash_command', data))
    assert entry["tool_calls"] == 0 < commands
    assert sum(event.kind == "tool_call" for event in events(drafts)) == commands
    assert sum(event.kind == "tool_result" for event in events(drafts)) == commands
    assert len({event.pointer for event in events(drafts)}) == entry["records"]
    assert tokens(drafts) == entry["tokens"]


def test_exactly_these_files_are_claimed() -> None:
    assert claimed(mini_swe_agent) == {f"{TRANSCRIPTS.name}/{entry['file']}" for entry in FILES}
