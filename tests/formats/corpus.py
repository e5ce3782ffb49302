"""The transcripts of other people's tools, where they are present, and what is checked of each reader with them."""

from __future__ import annotations

from typing import Any

import pytest

from bench.formats.corpus import TRANSCRIPTS, entries, events_of, responses
from vcon_app.drafts import Draft, Finding, SessionDraft

__all__ = [
    "TRANSCRIPTS", "by_file", "check_framed", "check_lines", "drafts_in", "entries", "events_of", "needs_corpus",
    "responses", "rules_of",
]  # fmt: skip
needs_corpus = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs the files in ../shared/corpus")


def by_file(*folders: str) -> pytest.MarkDecorator:
    """Runs a test with what the manifest says of each file of some folders as ``entry``."""
    found = [entry for folder in folders for entry in entries(folder)]
    return pytest.mark.parametrize("entry", found, ids=lambda entry: entry["file"])


def drafts_in(reader: Any, entry: dict[str, Any]) -> list[Draft]:
    with (TRANSCRIPTS / entry["file"]).open("rb") as source:
        return list(reader.read(source))


def rules_of(drafts: list[Draft]) -> set[str]:
    return {draft.rule for draft in drafts if isinstance(draft, Finding)}


def check_framed(drafts: list[Draft]) -> None:
    """One session, told before its events and again at the end."""
    assert isinstance(drafts[0], SessionDraft) and isinstance(drafts[-1], SessionDraft)
    assert len({draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}) == 1


def check_lines(data: bytes, drafts: list[Draft]) -> None:
    """Every line of the file gives an event, and every event tells the bytes of its line."""
    lines = data.split(b"\n")
    found = events_of(drafts)
    numbers = {number for number, line in enumerate(lines, 1) if line.strip()}
    assert {int(event.pointer.split("/")[0][1:]) for event in found} == numbers
    for event in found:
        line = lines[int(event.pointer.split("/")[0][1:]) - 1]
        assert data[event.offset : event.offset + event.length] in line
