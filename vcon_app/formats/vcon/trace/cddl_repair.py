"""Repair of a record to the CDDL of VAC-00 (s3): a member that came in another type is set aside.

Maps are open there but for ``file-attribution``, so nothing is lost: ``timestamp: "noon"`` is written as
``x-found-timestamp``. Only what stands in no vCon is mended; in one it leaves as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ....drafts import Json, Losses
from ...common.values import dict_of, text_of, text_or_none
from .entries import MEMBERS

ASIDE = "x-found-"
LARGEST = 2**64 - 1
"""A ``uint`` of CBOR."""
_DATE = re.compile(
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:(60|[0-5]\d)(\.\d+)?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
CONTRIBUTORS = ("human", "ai", "mixed", "unknown")
Check = Callable[[Json], bool]


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_count(value: Json) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_time(value: Json) -> bool:
    return _is_count(value) or (isinstance(value, str) and bool(_DATE.fullmatch(value)))


def _is_map(value: Json) -> bool:
    return isinstance(value, dict)


def _closed(required: dict[str, Check], optional: dict[str, Check]) -> Check:
    """A map without other members, as those of ``file-attribution`` are (VAC s3.7)."""
    members = required | optional

    def check(value: Json) -> bool:
        return (
            isinstance(value, dict)
            and required.keys() <= value.keys() <= members.keys()
            and all(members[name](value[name]) for name in value)
        )

    return check


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(map(check, value))


_CONTRIBUTOR = _closed({"type": lambda value: text_of(value) in CONTRIBUTORS}, {"model-id": _is_text})
_RANGE = _closed(
    {"start-line": _is_count, "end-line": _is_count},
    {"content-hash": _is_text, "content-hash-alg": _is_text, "contributor": _CONTRIBUTOR},
)
_CONVERSATION = _closed(
    {"ranges": _list_of(_RANGE)},
    {
        "url": _is_text,
        "contributor": _CONTRIBUTOR,
        "related": _list_of(_closed({"type": _is_text, "url": _is_text}, {})),
    },
)
_ATTRIBUTION = _closed(
    {"files": _list_of(_closed({"path": _is_text, "conversations": _list_of(_CONVERSATION)}, {}))}, {}
)

RECORD: dict[str, Check] = {
    "version": _is_text,
    "id": _is_text,
    "created": _is_time,
    "recording-agent": lambda value: _is_text(dict_of(value).get("name")),
    "vcs": lambda value: _is_text(dict_of(value).get("type")),
    "file-attribution": _ATTRIBUTION,
}
SESSION: dict[str, Check] = {
    "format": _is_text,
    "session-id": _is_text,
    "session-start": _is_time,
    "session-end": _is_time,
    "environment": lambda value: bool(text_or_none(dict_of(value).get("working-dir"))),
}
ENVIRONMENT: dict[str, Check] = {"vcs": lambda value: _is_text(dict_of(value).get("type")), "sandboxes": _is_texts}
VCS: dict[str, Check] = dict.fromkeys(("revision", "branch", "repository"), _is_text)
RECORDER: dict[str, Check] = {"version": _is_text}
META: dict[str, Check] = {
    **dict.fromkeys(("model-id", "model-provider", "cli-name", "cli-version"), _is_text),
    "models": _is_texts,
}
USAGE: dict[str, Check] = dict.fromkeys(("input", "output", "cached", "reasoning", "total"), _is_count) | {
    "cost": lambda value: type(value) in (int, float)
}
ENTRY: dict[str, Check] = {
    **dict.fromkeys(("id", "parent-id", "call-id", "model-id", "status", "encrypted", "subject"), _is_text),
    "name": _is_text,
    "event-type": _is_text,
    "data": _is_map,
    "timestamp": _is_time,
    "is-error": lambda value: isinstance(value, bool),
    "token-usage": _is_map,
}
REQUIRED_MEMBERS: dict[str, dict[str, Json]] = {
    "user": {},
    "assistant": {},
    "tool-call": {"name": "unknown", "input": None},
    "tool-result": {"output": None},
    "reasoning": {"content": ""},
    "system-event": {"event-type": "unknown"},
}
"""Entry types and what each must have, with what is written where nothing was said."""
_FREE = {"tool-result": frozenset({"name"})}
"""Members that our readers know and the CDDL does not: they may be anything."""


def record(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A record without its session (VAC s3.2)."""
    made = {"version": "unknown", "id": "unknown"} | _set_aside(found, RECORD, losses)
    return _inside(_inside(made, "vcs", VCS, losses), "recording-agent", RECORDER, losses)


def session(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A session without its entries (VAC s3.3)."""
    made = {"session-id": "unknown"} | _set_aside(found, SESSION, losses)
    if "environment" in made:
        environment = _set_aside(dict_of(made["environment"]), ENVIRONMENT, losses)
        made["environment"] = _inside(environment, "vcs", VCS, losses)
    meta = _set_aside(dict_of(made.get("agent-meta")), META, losses)
    return {**made, "agent-meta": {"model-id": "unknown", "model-provider": "unknown"} | meta}


def entry(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """An entry without its children, of one of the six types (VAC s3.8)."""
    kind = text_of(found["type"])
    members = MEMBERS[kind] - _FREE.get(kind, frozenset())
    made = _set_aside(found, {name: check for name, check in ENTRY.items() if name in members}, losses)
    made = _inside(made, "token-usage", USAGE, losses)
    return made | {name: value for name, value in REQUIRED_MEMBERS[kind].items() if name not in made}


def _inside(made: dict[str, Json], name: str, checks: dict[str, Check], losses: Losses) -> dict[str, Json]:
    return {**made, name: _set_aside(dict_of(made[name]), checks, losses)} if name in made else made


def _set_aside(found: dict[str, Any], checks: dict[str, Check], losses: Losses) -> dict[str, Json]:
    wrong = {name for name, check in checks.items() if name in found and not check(found[name])}
    for name in sorted(wrong):
        losses.lose(f"{name} that is not of its type", f"written as {ASIDE}{name}: VAC's CDDL does not allow it")
    return {(ASIDE if name in wrong else "") + name: value for name, value in found.items()} if wrong else dict(found)
