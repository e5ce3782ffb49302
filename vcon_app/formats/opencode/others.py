"""Messages, sessions and other records that stand in documents of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import EventDraft
from ..common.facts import ID_LIMIT
from ..common.lines import Line, fingerprint
from ..common.values import bounded, dict_of, list_of, scalars_of, text_of
from .documents import NOBODY
from .parts import IDS, ended, failure_in, part
from .reading import Handler, OpenCodeReading
from .tokens import billed


def message(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A message itself: agent and model, and how it ended. Its tokens and cost are the sum of its steps (equal to
    1e-9 for all 330 messages of two real files), so they count only where no step states them.
    """
    known = reading.messages.get(text_of(value.get("id"))[:ID_LIMIT], NOBODY)
    line = ended(line, known.completed, known.created)
    data = {"type": "message"} | scalars_of(value, IDS | {"cost"})
    failure, place = dict_of(value.get("error")), f":{fingerprint([data, value.get('error')])}"
    if failure.get("name") == "MessageAbortedError":
        yield line.event("status", part=place, at_path=path, actor=("person", ""), data=data | {"type": "interrupted"})
    elif failure:
        yield line.event("error", failure_in(failure), part=place, at_path=path, data=data)
    else:
        yield line.event("system", part=place, at_path=path, data=data)
    if not known.stepped and isinstance(value.get("tokens"), dict):
        yield billed(reading, line, value, path, known.model, {})


def session(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """The session itself, with the rules that decide which tools may run."""
    line = ended(line, dict_of(value.get("time")).get("updated"))
    data = {"type": "session"} | scalars_of(value)
    if rules := list_of(value.get("permission")):
        data["permission"] = bounded(rules[:100], len(line.raw))
    yield line.event("system", part=f":{fingerprint(value)}", at_path=path, data=data)


def project(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield line.event(
        "system", part=f":{fingerprint(value)}", at_path=path, data={"type": "project"} | scalars_of(value)
    )


def share(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A public link; the secret that can take it back is not shown."""
    data = {"type": "share"} | scalars_of(value, frozenset({"secret"}))
    yield line.event("system", part=f":{fingerprint(data)}", at_path=path, data=data)


def items(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """A list in a document of its own: a plan, or the files that the session changed (without their contents)."""
    entries = [scalars_of(dict_of(item), frozenset({"before", "after"})) for item in list_of(value.get("items"))[:500]]
    kind = "session_diff" if any("file" in entry for entry in entries) else "todo"
    yield line.event("system", part=f":{fingerprint(entries)}", at_path=path, data={"type": kind, "items": entries})


def error(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    """``{"type": "error"}`` of ``opencode run``."""
    line = ended(line, value.get("timestamp"))
    yield line.event(
        "error", failure_in(value.get("error")), part=f":{fingerprint(value)}", at_path=path, data={"type": "error"}
    )


def other_record(reading: OpenCodeReading, line: Line, value: dict[str, Any], path: str) -> Iterator[EventDraft]:
    yield reading.unknown(
        line, "document that is no session, message or part", value, part=f":{fingerprint(value)}", at_path=path
    )


HANDLERS: dict[str, Handler] = {
    "part": part, "message": message, "session": session, "project": project, "share": share, "items": items,
    "error": error, "other": other_record,
}  # fmt: skip
