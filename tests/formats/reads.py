"""What a reader makes of bytes, sorted; and who claims the files of the corpus."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from bench.formats.corpus import CORPUS, TRANSCRIPTS, heads, responses, tokens_in
from vcon_app.drafts import Draft, EventDraft, Finding, SessionDraft, Usage

__all__ = [
    "CORPUS", "ODD", "TRANSCRIPTS", "assert_sound", "claimed", "counted", "events", "findings", "kinds",
    "mutants", "read", "sessions", "tokens",
]  # fmt: skip


def read(format: Any, data: Any) -> list[Draft]:
    """Drafts of bytes, or of a value that is written as JSON first."""
    return list(format.read(io.BytesIO(data if isinstance(data, bytes) else json.dumps(data).encode())))


def events(drafts: Iterable[Draft]) -> list[EventDraft]:
    return [draft for draft in drafts if isinstance(draft, EventDraft)]


def sessions(drafts: Iterable[Draft]) -> list[SessionDraft]:
    return [draft for draft in drafts if isinstance(draft, SessionDraft)]


def findings(drafts: Iterable[Draft]) -> dict[str, Finding]:
    """The last finding of each rule."""
    return {draft.rule: draft for draft in drafts if isinstance(draft, Finding)}


def kinds(drafts: Iterable[Draft]) -> list[str]:
    return [event.kind for event in events(drafts)]


def counted(drafts: Iterable[Draft]) -> list[Usage]:
    """One usage a response, as the log counts."""
    return responses(list(drafts))


def tokens(drafts: Iterable[Draft]) -> dict[str, int]:
    """Sums under the names of the manifest."""
    return tokens_in(list(drafts))


ODD = (None, 7, "x", [], {}, [None], {"": 1}, -1.5, True, "\0", ["x"])


def mutants(value: Any) -> Iterator[Any]:
    """The value with one part after the other replaced by something that should not be there."""
    for number, path in enumerate(_paths(value)):
        yield _replaced(value, path, ODD[number % len(ODD)])
        yield _replaced(value, path, ODD[(number + 4) % len(ODD)])


def assert_sound(drafts: Iterable[Draft]) -> None:
    """What holds of every file: a session before its events, keys told apart, parents that came before."""
    keys: set[str] | None = None
    for draft in drafts:
        if isinstance(draft, SessionDraft):
            keys = set()
            assert draft.external_id
        if isinstance(draft, EventDraft):
            assert keys is not None and (draft.key not in keys or draft.key.startswith("line:")), draft
            assert draft.parent is None or draft.parent in keys, draft
            keys.add(draft.key)
            orjson.dumps([draft.data, draft.tool, draft.text])


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    yield ()
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from ((name, *path) for path in _paths(item))


def _replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = _replaced(value[path[0]], path[1:], new)
    return changed


def claimed(format: Any) -> set[str]:
    """Files of the whole corpus that the format claims, by their path in it."""
    return {name for name, head in heads().items() if format.detect(head)}
