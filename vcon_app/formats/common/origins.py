"""Who said it, in files of ours: written beside an event, and read back as what the file reports.

``{"origin": "file" | "runtime" | "api" | "desk", "reported_by": name, "received_at": RFC 3339}``. An event without it
was read from a file. What another desk wrote is no word of this one: it stays in ``data["reported"]`` as it was first
said, and is written again under ``reported``, so that a file that goes round says the same each time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeGuard

from ...drafts import EventDraft, Json
from .times import rfc3339

REPORTED = "reported"
"""Key in an event's data: what a file says of its origin."""
ORIGINS = frozenset({"file", "runtime", "api", "desk"})
DESKS_OWN = frozenset({"approval", "escalation", "status"})
PEOPLE = frozenset({"member", "slack", "trigger"})


def shape_of(event: EventDraft) -> dict[str, Json]:
    """Origin, reporter and time of receipt of an event; empty where nobody has said so."""
    origin = event.origin
    if origin is None:
        return {}
    told = {
        "origin": origin.kind,
        "reported_by": origin.reported_by or None,
        "received_at": rfc3339(origin.received_at) if origin.received_at else None,
    }
    return {name: value for name, value in told.items() if value is not None}


def to_write(event: EventDraft) -> dict[str, Json] | None:
    """What stands beside an event in a file that is read back; None for an event that was simply read from a file."""
    before = event.data.get(REPORTED)
    own = shape_of(event)
    if own.get("origin", "file") != "file":
        return own
    return {**(own or {"origin": "file"}), REPORTED: before} if _is_report(before) else None


def in_file(value: Json) -> dict[str, Json] | None:
    """What is kept of it in the data of the event that is read: what was said first. None for what is no report."""
    if not _is_report(value):
        return None
    first = value.get(REPORTED)
    return first if _is_report(first) else {name: text for name, text in value.items() if name != REPORTED}


def data_without(event: EventDraft) -> dict[str, Any]:
    """The data of an event without the report, which stands beside it."""
    if not _is_report(event.data.get(REPORTED)):
        return event.data
    return {name: value for name, value in event.data.items() if name != REPORTED}


def words(event: EventDraft) -> str:
    """Who said it, for people: ``sent by`` and a name, ``written by the desk``; empty where it goes without saying."""
    origin = event.origin
    if origin is None or origin.kind == "runtime":
        return ""
    if origin.kind == "desk":
        return "written by the desk"
    if origin.kind == "file":
        return "reported by the file" if event.kind in DESKS_OWN else ""
    is_own = event.kind == "user_message" and origin.reporter_kind in PEOPLE
    if is_own and origin.reported_by == event.actor_name:
        return ""
    sent = f"sent by {origin.reported_by}" if origin.reported_by else "sent from outside"
    return f"reported, {sent}" if event.kind in DESKS_OWN else sent


def without_name(event: EventDraft) -> EventDraft:
    """The event without the name of who reported it, here and where its file was made."""
    origin = replace(event.origin, reported_by="") if event.origin else None
    before = event.data.get(REPORTED)
    if not _is_report(before):
        return replace(event, origin=origin)
    nameless = {name: value for name, value in before.items() if name != "reported_by"}
    return replace(event, origin=origin, data={**event.data, REPORTED: nameless})


def names_of(event: EventDraft) -> list[str]:
    """Names of who reported an event, here and where its file was made."""
    return [*names_in(shape_of(event)), *names_in(event.data.get(REPORTED))]


def names_in(value: Json) -> list[str]:
    """Names of reporters in what stands beside an event; all else in it are words of ours and times."""
    names: list[str] = []
    while isinstance(value, dict):
        names += [name] if isinstance(name := value.get("reported_by"), str) and name else []
        value = value.get(REPORTED)
    return names


def _is_report(value: Json) -> TypeGuard[dict[str, Json]]:
    return isinstance(value, dict) and isinstance(value.get("origin"), str) and value["origin"] in ORIGINS
