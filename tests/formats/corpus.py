"""The transcripts of other people's tools, where they are present, and what is checked of each reader with them."""

from __future__ import annotations

from typing import Any

import pytest

from bench.corpus import CORPUS, TRANSCRIPTS, calls_in, entries, events_of, head_of, heads, responses, tokens_in
from vcon_app.drafts import Draft, Finding, SessionDraft

__all__ = [
    "CORPUS", "TRANSCRIPTS", "by_file", "calls_in", "check_framed", "check_lines", "claimed_of_others", "drafts_in",
    "entries", "events_of", "head_of", "needs_corpus", "responses", "rules_of", "tokens_in",
]  # fmt: skip
needs_corpus = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs the files in ../shared/corpus")


def by_file(name: str) -> pytest.MarkDecorator:
    """Runs a test with each of those lines as ``entry``."""
    return pytest.mark.parametrize("entry", entries(name), ids=lambda entry: entry["file"].removeprefix(f"{name}/"))


def drafts_in(reader: Any, entry: dict[str, Any]) -> list[Draft]:
    with (TRANSCRIPTS / entry["file"]).open("rb") as source:
        return list(reader.read(source))


def rules_of(drafts: list[Draft]) -> set[str]:
    return {draft.rule for draft in drafts if isinstance(draft, Finding)}


def check_framed(drafts: list[Draft]) -> None:
    """One session, told before its events and again at the end; every event with a key of its own."""
    assert isinstance(drafts[0], SessionDraft) and isinstance(drafts[-1], SessionDraft)
    assert len({draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}) == 1
    keys = [event.key for event in events_of(drafts)]
    assert len(keys) == len(set(keys))


def check_lines(data: bytes, drafts: list[Draft]) -> None:
    """Every line of the file gives an event, and every event tells the bytes of its line."""
    lines = data.split(b"\n")
    found = events_of(drafts)
    numbers = {number for number, line in enumerate(lines, 1) if line.strip()}
    assert {int(event.pointer.split("/")[0][1:]) for event in found} == numbers
    for event in found:
        line = lines[int(event.pointer.split("/")[0][1:]) - 1]
        assert data[event.offset : event.offset + event.length] in line


def claimed_of_others(reader: Any) -> list[str]:
    """Files anywhere in the corpus that a reader claims, though they stand in another format's folder."""
    tool = reader.NAME.split("-")[0]
    others = [
        (name, head)
        for name, head in heads().items()
        if not name.startswith((f"transcripts/{reader.NAME}/", f"vcon-spec-examples/vac-native-logs/{tool}-"))
    ]
    assert len(others) > 300
    return [name for name, head in others if reader.detect(head)]
