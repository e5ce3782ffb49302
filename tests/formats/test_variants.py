"""The samples of every format say the same in other spellings of the same content: packed, with other line ends, turned
round, with members of a later version."""

from __future__ import annotations

import gzip
import io
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.places import SAMPLES
from vcon_app import registry
from vcon_app.drafts import EventDraft, FormatError

STRICT = {"gptme", "upg", "llmfeed", "otel-genai", "agnt5-jsonl"}
"""Formats in which a further member is a further event or node, or means that the file is another one's."""
FILES = sorted(
    path for path in SAMPLES.glob("*/*") if path.suffix in (".json", ".jsonl", ".txt") and path.stat().st_size < 30_000
)


def said(data: bytes) -> tuple[str, int, Counter[tuple[int | None, ...]]]:
    """Format, number of events, and the tokens of each response."""
    name = registry.detect(io.BytesIO(data))[0]
    events = [one for one in registry.reader(name).read(io.BytesIO(data)) if isinstance(one, EventDraft)]
    used = {one.request or one.key: one.usage for one in events if one.usage}
    counts = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    tokens = (tuple(getattr(one, count) for count in counts) for one in used.values())
    return name, len(events), Counter(tokens)


def turned_round(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: turned_round(value[name]) for name in reversed(value)}
    return [turned_round(one) for one in value] if isinstance(value, list) else value


def of_later(value: Any) -> Any:
    return {**value, "zq_member": "zq"} if isinstance(value, dict) else value


def each(change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    """A change of the document, or of each of its lines."""

    def changed(data: bytes) -> bytes:
        try:
            return json.dumps(change(json.loads(data))).encode()
        except ValueError:
            lines = [json.loads(line) for line in data.split(b"\n") if line.strip()]
            return b"".join(json.dumps(change(line)).encode() + b"\n" for line in lines)

    return changed


VARIANTS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "crlf": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "turned round": each(turned_round),
    "of a later version": each(of_later),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_in_another_spelling_says_the_same(path: Path, variant: str) -> None:
    data = path.read_bytes()
    try:
        before = said(data)
        other = VARIANTS[variant](data)
    except (FormatError, ValueError):
        pytest.skip("holds no session, or is no JSON that could be written in another way")
    if variant == "of a later version" and before[0] in STRICT:
        pytest.skip("a further member is something else here")
    assert said(other) == before
