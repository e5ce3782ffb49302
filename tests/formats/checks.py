"""What every reader of transcripts must stand: growth, odd values, damaged bytes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Any

from vcon_app.drafts import Draft, EventDraft, Finding, FormatError, SessionDraft
from vcon_app.formats.common.jsonio import dumps

ODD: list[Any] = [None, 0, -1, 1e308, 10**30, True, "", "x", [], [None, [], {}, "x", 7], {}, {"": {}}, {"type": []}]
"""Values that a field may hold in a file that somebody made to hurt."""


def jsonl(*values: Any) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def drafts_of(reader: Any, data: bytes) -> list[Draft]:
    return list(reader.read(io.BytesIO(data)))


def events(found: Iterable[Draft]) -> list[EventDraft]:
    return [draft for draft in found if isinstance(draft, EventDraft)]


def findings(found: Iterable[Draft]) -> dict[str, Finding]:
    """The last finding of each rule."""
    return {draft.rule: draft for draft in found if isinstance(draft, Finding)}


def session(found: Iterable[Draft]) -> SessionDraft:
    return [draft for draft in found if isinstance(draft, SessionDraft)][-1]


def check_growth(reader: Any, data: bytes) -> None:
    """The first half of a file that grows by lines gives the first events of the whole, to the last field."""
    lines = data.splitlines(keepends=True)
    for count in {1, len(lines) // 3, len(lines) // 2, len(lines) - 1} - {0}:
        before = events(drafts_of(reader, b"".join(lines[:count])))
        assert before == events(drafts_of(reader, data))[: len(before)]


def check_odd_values(reader: Any, first: bytes, values: list[dict[str, Any]]) -> None:
    """Each field of each value, one after the other, with everything it should not be."""
    for value in values:
        for path in paths_of(value):
            data = first + b"".join(jsonl(replaced(value, path, odd)) for odd in ODD)
            for event in events(drafts_of(reader, data)):
                dumps([event.data, event.tool.arguments if event.tool else None])
                check_counts(event)


def check_odd_documents(reader: Any, value: dict[str, Any]) -> None:
    """The same with a document of one object: it is read, or refused with a reason."""
    for path in paths_of(value):
        for odd in ODD:
            try:
                found = events(drafts_of(reader, json.dumps(replaced(value, path, odd), indent=1).encode()))
            except FormatError:
                continue
            for event in found:
                dumps([event.data, event.tool.arguments if event.tool else None])
                check_counts(event)


def check_counts(event: EventDraft) -> None:
    """Tokens are whole numbers that can be, or not stated."""
    if event.usage:
        counts = (event.usage.input_tokens, event.usage.output_tokens, event.usage.cache_read_tokens)
        assert all(count is None or (type(count) is int and 0 <= count < 10**12) for count in counts)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterable[tuple[Any, ...]]:
    """Where the values of a document stand, from the outside in."""
    if path:
        yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from paths_of(item, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with another value in that place."""
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy
