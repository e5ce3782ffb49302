"""Real transcripts, where they are present: nothing fails, and the counts are those made independently."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from vcon_app.drafts import Draft, Finding, SessionDraft, Usage
from vcon_app.formats import claude_code
from vcon_app.formats.common.head import SIZES, Head

from .claude_code_lines import events

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "transcripts"
pytestmark = pytest.mark.skipif(not CORPUS.exists(), reason="needs the transcripts in ../shared/corpus")

NOT_CLAIMED = {"empty_session.jsonl": "no line has a type, an id or a message: nothing in it is Claude Code's"}
SYNTHETIC_COUNTED = {"98b76fb9-f5d3-40c5-ab82-b970c20e3764.jsonl": 1}
"""The manifest counts a ``<synthetic>`` message of 0 tokens as a request; Claude Code wrote it, nothing was billed."""


def manifest() -> Iterator[dict[str, Any]]:
    path = CORPUS / "manifest.jsonl"
    for line in path.read_text().splitlines() if path.exists() else ():
        entry = json.loads(line)
        if entry["file"].startswith("claude-code/"):
            yield entry


FILES = sorted(manifest(), key=lambda entry: entry["file"])
by_file = pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["file"].removeprefix("claude-code/"))


def drafts_in(entry: dict[str, Any]) -> list[Draft]:
    with (CORPUS / entry["file"]).open("rb") as source:
        return list(claude_code.read(source))


def greatest(drafts: list[Draft]) -> list[Usage]:
    """One usage a response, as the log's projection chooses it: the one with the greatest output."""
    best: dict[str, Usage] = {}
    for event in events(drafts):
        if event.usage and event.request:
            held = best.get(event.request)
            if held is None or (event.usage.output_tokens or 0) > (held.output_tokens or 0):
                best[event.request] = event.usage
    return list(best.values())


@by_file
def test_calls_requests_and_tokens_are_those_of_the_manifest(entry: dict[str, Any]) -> None:
    drafts = drafts_in(entry)
    usages = greatest(drafts)
    assert sum(event.kind == "tool_call" for event in events(drafts)) == entry["tool_calls"]
    assert len(usages) == entry.get("requests", 0) - SYNTHETIC_COUNTED.get(Path(entry["file"]).name, 0)
    assert {
        "input": sum(usage.input_tokens for usage in usages),
        "output": sum(usage.output_tokens for usage in usages),
        "cache_read": sum(usage.cache_read_tokens for usage in usages),
        "cache_write": sum(usage.cache_write_tokens for usage in usages),
        "reasoning": 0,
    } == entry["tokens"]


@by_file
def test_every_line_gives_an_event_and_every_event_its_place(entry: dict[str, Any]) -> None:
    data = (CORPUS / entry["file"]).read_bytes()
    found = events(drafts_in(entry))
    numbers = {number for number, line in enumerate(data.split(b"\n"), 1) if line.strip()}
    assert {int(event.pointer.split("/")[0][1:]) for event in found} == numbers
    for event in found:
        number = int(event.pointer.split("/")[0][1:])
        assert data[event.offset : event.offset + event.length] == data.split(b"\n")[number - 1].strip()


@by_file
def test_one_session_is_told_before_its_events_and_again_at_the_end(entry: dict[str, Any]) -> None:
    drafts = drafts_in(entry)
    assert isinstance(drafts[0], SessionDraft) and isinstance(drafts[-1], SessionDraft)
    assert len({draft.external_id for draft in drafts if isinstance(draft, SessionDraft)}) == 1


@by_file
def test_only_strange_files_have_unknown_events(entry: dict[str, Any]) -> None:
    drafts = drafts_in(entry)
    unknown = sum(event.kind == "unknown" for event in events(drafts))
    told = Counter(draft.rule for draft in drafts if isinstance(draft, Finding))
    assert bool(unknown) == bool(told["claude-code.unknown-type"] + told["claude-code.malformed-line"])


@by_file
def test_a_transcript_is_recognised_by_its_first_64_kilobytes(entry: dict[str, Any]) -> None:
    path = CORPUS / entry["file"]
    assert claude_code.detect(head_of(path)) == (path.name not in NOT_CLAIMED)


def test_no_file_of_another_tool_is_claimed() -> None:
    others = [p for p in CORPUS.rglob("*") if p.is_file() and p.relative_to(CORPUS).parts[0] != "claude-code"]
    assert len(others) > 100
    assert [path.name for path in others if claude_code.detect(head_of(path))] == []


def head_of(path: Path) -> Head:
    with path.open("rb") as source:
        return Head(source.read(SIZES[0]))
