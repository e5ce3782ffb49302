"""The transcripts of other people's tools, where they are present, and what is checked of each reader with them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from vcon_app.drafts import Draft, EventDraft, Finding, SessionDraft, Usage
from vcon_app.formats.common.head import SIZES, Head

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
TRANSCRIPTS = CORPUS / "transcripts"
needs_corpus = pytest.mark.skipif(not TRANSCRIPTS.exists(), reason="needs the files in ../shared/corpus")


def entries(name: str) -> list[dict[str, Any]]:
    """Lines of the manifest about the files of one format."""
    path = TRANSCRIPTS / "manifest.jsonl"
    found = map(json.loads, path.read_text().splitlines() if path.exists() else ())
    return sorted((e for e in found if e["file"].startswith(f"{name}/")), key=lambda entry: entry["file"])


def by_file(name: str) -> pytest.MarkDecorator:
    """Runs a test with each of those lines as ``entry``."""
    return pytest.mark.parametrize("entry", entries(name), ids=lambda entry: entry["file"].removeprefix(f"{name}/"))


def drafts_in(reader: Any, entry: dict[str, Any]) -> list[Draft]:
    with (TRANSCRIPTS / entry["file"]).open("rb") as source:
        return list(reader.read(source))


def events_of(drafts: list[Draft]) -> list[EventDraft]:
    return [draft for draft in drafts if isinstance(draft, EventDraft)]


def rules_of(drafts: list[Draft]) -> set[str]:
    return {draft.rule for draft in drafts if isinstance(draft, Finding)}


def calls_in(drafts: list[Draft]) -> int:
    return sum(event.kind == "tool_call" for event in events_of(drafts))


def responses(drafts: list[Draft]) -> list[Usage]:
    """One usage a response, as the log's projection chooses it: the last one with the greatest output."""
    best: dict[str, Usage] = {}
    for number, event in enumerate(events_of(drafts)):
        if event.usage:
            key = event.request or f"#{number}"
            if key not in best or (event.usage.output_tokens or 0) >= (best[key].output_tokens or 0):
                best[key] = event.usage
    return list(best.values())


def tokens_in(drafts: list[Draft]) -> dict[str, int]:
    """Sums under the names of the manifest."""
    found = responses(drafts)
    return {
        "input": sum(usage.input_tokens or 0 for usage in found),
        "output": sum(usage.output_tokens or 0 for usage in found),
        "cache_read": sum(usage.cache_read_tokens or 0 for usage in found),
        "cache_write": sum(usage.cache_write_tokens or 0 for usage in found),
        "reasoning": sum(usage.reasoning_tokens or 0 for usage in found),
    }


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


def head_of(path: Path) -> Head:
    with path.open("rb") as source:
        return Head(source.read(SIZES[0]))


@cache
def _heads() -> list[tuple[Path, Head]]:
    paths = sorted(path for path in CORPUS.rglob("*") if path.is_file() and path.name != "sealed.bin")
    return [(path.relative_to(CORPUS), head_of(path)) for path in paths]


def claimed_of_others(reader: Any) -> list[str]:
    """Files anywhere in the corpus that a reader claims, though they stand in another format's folder."""
    tool = reader.NAME.split("-")[0]
    others = [
        (path, head)
        for path, head in _heads()
        if path.parts[:2] != ("transcripts", reader.NAME)
        and not (path.parent.name == "vac-native-logs" and path.name.startswith(f"{tool}-"))  # the tools' own logs
    ]
    assert len(others) > 300
    return [str(path) for path, head in others if reader.detect(head)]
