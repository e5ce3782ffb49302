"""The samples of every format say the same in other spellings of the same content: packed, with other line ends, turned
round, with members of a later version, laid out anew, with a first line that is longer than what is looked at first."""

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

STRICT = {"upg", "llmfeed", "otel-genai", "agnt5-jsonl"}
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


def repaired(value: Any) -> Any:
    """With what JSON libraries refuse, and a NUL, which PostgreSQL stores nowhere."""
    return {**value, "zq_member": [float("nan"), "\ud800", "\0"]} if isinstance(value, dict) else value


def long_at_its_beginning(data: bytes) -> bytes:
    """An object, or the first of its lines, of which the first 64 KB say nothing."""
    first, line_break, rest = data.lstrip().partition(b"\n")
    if not first.startswith(b"{"):
        raise ValueError("begins with no object")
    return b'{"zq_member": "' + b"zq" * 50_000 + b'", ' + first.removeprefix(b"{") + line_break + rest


def on_many_lines(data: bytes) -> bytes:
    """Each object indented."""
    try:
        return json.dumps(json.loads(data), indent=1).encode()
    except ValueError:
        return b"\n".join(json.dumps(json.loads(line), indent=1).encode() for line in data.split(b"\n") if line.strip())


def joined(data: bytes) -> bytes:
    """Lines as a list, as programs join them."""
    lines = [json.loads(line) for line in data.split(b"\n") if line.strip()]
    if len(lines) < 2:
        raise ValueError("no lines")
    return json.dumps(lines).encode()


def behind(mark: bytes) -> Callable[[bytes], bytes]:
    def put_before(data: bytes) -> bytes:
        if data.startswith(b"\xef\xbb\xbf"):
            raise ValueError("begins with a byte order mark")
        return mark + data

    return put_before


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
    "with values to repair": each(repaired),
    "with a byte order mark": behind(b"\xef\xbb\xbf"),
    "behind blank lines": behind(b"\n\n"),
    "long at its beginning": long_at_its_beginning,
    "on many lines": on_many_lines,
    "as a list": joined,
}
ALONE = {"opencode"}
"""Formats whose lines nobody joins to a list: one is the document that it holds."""
FURTHER = {"of a later version", "with values to repair", "long at its beginning"}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_file_in_another_spelling_says_the_same(path: Path, variant: str) -> None:
    data = path.read_bytes()
    try:
        before = said(data)
        other = VARIANTS[variant](data)
    except (FormatError, ValueError):
        pytest.skip("holds no session, or is no JSON that could be written in another way")
    if variant in FURTHER and before[0] in STRICT:
        pytest.skip("a further member is something else here")
    if variant == "as a list" and before[0] in ALONE:
        pytest.skip("a list is something else here")
    assert said(other) == before
