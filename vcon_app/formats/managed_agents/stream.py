"""Records to events: pages are unpacked and put in order, repeats are dropped, pieces wait for the whole.

An event that a client sent is streamed twice, with ``processed_at`` null while it is queued and again with the
time; it is told where it was taken up. Pieces of an answer (``event_delta``) are no events: the whole follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ...drafts import Finding
from ..common.lines import Item, Line
from ..common.records import part_of
from ..common.values import dict_of, forget_oldest, text_of

PAGES = ("data", "events")
REMEMBERED = 100_000
"""Ids in which a repeat is looked for; a stream and a list of the same session overlap."""
SHOWN = 200


def events_of(items: Iterable[Item], name: str) -> Iterator[Item]:
    """The events in the order they were processed; what was still queued at the end comes last."""
    queued: dict[str, Line] = {}
    seen: dict[str, None] = {}
    pieces: dict[str, str] = {}
    repeated = 0
    for item in _unpacked_pages(items, name):
        id = text_of(item.value.get("id")) if isinstance(item, Line) else ""
        if isinstance(item, Line) and _is_piece(item.value):
            _collect(pieces, item.value)
        elif not id or not isinstance(item, Line):
            yield item
        elif id in seen:
            repeated += 1
        elif _is_queued(item.value):
            queued.setdefault(id, item)
        else:
            queued.pop(id, None)
            seen[id] = None
            forget_oldest(seen, REMEMBERED)
            yield item
    yield from (line for id, line in queued.items() if id not in seen)
    if repeated:
        yield Finding(f"{name}.repeated-events", "info", "", f"{repeated} events stand in the file again; told once")
    yield from _unfinished({id: text for id, text in pieces.items() if id not in seen}, name)


def _unpacked_pages(items: Iterable[Item], name: str) -> Iterator[Item]:
    """Events out of their pages. A page may be sorted the newest first."""
    for item in items:
        pages = [key for key in PAGES if isinstance(item, Line) and isinstance(item.value.get(key), list)]
        if not isinstance(item, Line) or not pages or "type" in item.value:
            yield item
            continue
        if isinstance(session := item.value.get("session"), dict):
            yield part_of(item, {"type": "session"} | session, "/session")
        for key in pages:
            events = [
                part_of(item, value, f"/{key}/{index}")
                if isinstance(value, dict)
                else _entry_finding(item, key, index, name)
                for index, value in enumerate(item.value[key])
            ]
            yield from reversed(events) if _newest_first(item.value[key]) else events


def _entry_finding(line: Line, key: str, index: int, name: str) -> Finding:
    return Finding(f"{name}.malformed-line", "warning", f"{line.pointer}/{key}/{index}", "no JSON object; left out")


def _newest_first(events: list[Any]) -> bool:
    times = [at for event in events if (at := text_of(dict_of(event).get("processed_at")))]
    return bool(times) and times[0] > times[-1]


def _is_queued(value: dict[str, Any]) -> bool:
    return "processed_at" in value and value["processed_at"] is None


def _is_piece(value: dict[str, Any]) -> bool:
    return value.get("type") in ("event_start", "event_delta", "ping")


def _collect(pieces: dict[str, str], value: dict[str, Any]) -> None:
    id = text_of(value.get("event_id")) or text_of(dict_of(value.get("event")).get("id"))
    text = text_of(dict_of(dict_of(value.get("delta")).get("content")).get("text"))
    if id and len(pieces) < SHOWN:
        pieces[id] = (pieces.get(id, "") + text)[:SHOWN]


def _unfinished(pieces: dict[str, str], name: str) -> Iterator[Finding]:
    for id, text in pieces.items():
        message = f"only pieces of event {id[:60]} are in the file; it begins {text!r}" if text else (
            f"event {id[:60]} was begun and is not in the file"
        )  # fmt: skip
        yield Finding(f"{name}.unfinished-event", "warning", "", message)
