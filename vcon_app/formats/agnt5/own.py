"""What we write behind the five keys of a line, under ``countersign``: ``events`` (as entries of an llmfeed trace) and,
on the first line, ``session``. What the line says already is left out of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...drafts import PHASES, EventDraft, Finding, Json, SessionDraft
from ..common.lines import Line
from ..common.times import parse, rfc3339
from ..common.values import dict_of, list_of, text_of
from ..llmfeed.entries import entry_of, event_of

KEY = "countersign"
TEXTS = ("title", "agent_name", "user_id", "summary")


def session_member(session: SessionDraft) -> dict[str, Json]:
    """The session as the first line tells it."""
    members: dict[str, Json] = {
        **{name: getattr(session, name) for name in TEXTS},
        "started_at": rfc3339(session.started_at) if session.started_at else None,
        "ended_at": rfc3339(session.ended_at) if session.ended_at else None,
        "phase": session.phase,
        "model": session.model,
        "tags": list(session.tags),
        "parent_session_id": session.parent_external_id,
        "metadata": session.metadata,
    }
    return {name: value for name, value in members.items() if value}


def session_in(line: dict[str, Any]) -> dict[str, Any]:
    """The session as stated on a line, ``{}`` for a line without it."""
    return dict_of(dict_of(line.get(KEY)).get("session"))


def restored(draft: SessionDraft, members: dict[str, Any]) -> SessionDraft:
    """The session as it was written; without ``told`` as the lines show it."""
    if not members:
        return draft
    return replace(
        draft,
        **{name: text_of(members.get(name)) for name in TEXTS},
        started_at=parse(members.get("started_at"))[0],
        ended_at=parse(members.get("ended_at"))[0],
        phase=members.get("phase") if members.get("phase") in PHASES else None,
        model=text_of(members.get("model")) or None,
        tags=tuple(tag for tag in list_of(members.get("tags")) if isinstance(tag, str)),
        parent_external_id=text_of(members.get("parent_session_id")) or None,
        metadata=dict_of(members.get("metadata")),
    )


def entries_of(events: Sequence[EventDraft]) -> list[dict[str, Json]]:
    """The events of one line without their times, text and arguments where the line has them."""
    return [_shorter(entry_of(event), event, first=number == 0) for number, event in enumerate(events)]


def _shorter(entry: dict[str, Json], event: EventDraft, *, first: bool) -> dict[str, Json]:
    shorter = {name: value for name, value in entry.items() if not (first and name in ("timestamp", "content"))}
    if event.kind == "tool_call" and isinstance(entry.get("tool"), dict):
        shorter["tool"] = {name: value for name, value in entry["tool"].items() if name != "arguments"}
    return shorter


def events_in(line: Line, seen: set[str]) -> list[EventDraft]:
    """The events that we wrote on a line; none when any of them is not as we write it, or was there already.

    ``seen``: keys of those that were read before; a parent has to be one of them.
    """
    entries = list_of(dict_of(line.value.get(KEY)).get("events"))
    calls = [dict_of(call) for call in list_of(line.value.get("tool_calls"))]
    length = None if line.offset is None else len(line.raw)
    findings: list[Finding] = []
    made: list[EventDraft] = []
    for number, entry in enumerate(entries):
        if not text_of(dict_of(entry).get("key")):
            return []
        whole = {**entry, **_first_entry(line)} if number == 0 else entry
        event = event_of(whole, line.pointer, findings)
        if event.kind == "tool_call" and event.tool and calls:
            event = replace(event, tool=replace(event.tool, arguments=calls.pop(0).get("arguments")))
        made.append(replace(event, offset=line.offset, length=length))
    keys = [event.key for event in made]
    if findings or len(set(keys)) < len(keys) or seen & set(keys):
        return []
    seen.update(keys)
    return [event if event.parent in seen else replace(event, parent=None) for event in made]


def _first_entry(line: Line) -> dict[str, Json]:
    """Fields of a line's first event that stand in the line's own keys."""
    stamp = {"timestamp": line.value["timestamp"]} if line.value.get("timestamp") else {}
    return {"content": text_of(line.value.get("message")), **stamp}


def member(events: Sequence[EventDraft], session: SessionDraft | None) -> dict[str, Json]:
    """The value of ``KEY`` on a line."""
    return {"events": entries_of(events), **({"session": session_member(session)} if session else {})}
