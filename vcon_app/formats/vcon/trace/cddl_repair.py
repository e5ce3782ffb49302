"""Repair of a record to the CDDL of VAC-00 (s3): a member that came in another type is set aside.

Maps are open there but for ``file-attribution``, so nothing is lost: ``timestamp: "noon"`` is written as
``x-found-timestamp``. Only what stands in no vCon is mended; in one it leaves as it came.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ....drafts import Json, Losses
from ...common.values import dict_of, text_or_none
from .entries import MEMBERS

ASIDE = "x-found-"
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
Check = Callable[[Json], bool]


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_count(value: Json) -> bool:
    return type(value) is int and value >= 0


def _is_time(value: Json) -> bool:
    return _is_count(value) or (isinstance(value, str) and bool(_DATE.fullmatch(value)))


def _is_environment(value: Json) -> bool:
    return bool(text_or_none(dict_of(value).get("working-dir"))) and isinstance(dict_of(value).get("vcs", {}), dict)


RECORD: dict[str, Check] = {
    "version": _is_text,
    "id": _is_text,
    "created": _is_time,
    "recording-agent": lambda value: bool(text_or_none(dict_of(value).get("name"))),
    "vcs": lambda value: bool(text_or_none(dict_of(value).get("type"))),
    "file-attribution": lambda value: isinstance(dict_of(value).get("files"), list),
}
SESSION: dict[str, Check] = {
    "format": _is_text,
    "session-id": _is_text,
    "session-start": _is_time,
    "session-end": _is_time,
    "environment": _is_environment,
}
META: dict[str, Check] = {
    "model-id": _is_text,
    "model-provider": _is_text,
    "models": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "cli-name": _is_text,
    "cli-version": _is_text,
}
USAGE: dict[str, Check] = dict.fromkeys(("input", "output", "cached", "reasoning", "total"), _is_count) | {
    "cost": lambda value: type(value) in (int, float)
}
ENTRY: dict[str, Check] = {
    **dict.fromkeys(("id", "parent-id", "call-id", "model-id", "status", "encrypted", "subject"), _is_text),
    "name": _is_text,
    "event-type": _is_text,
    "timestamp": _is_time,
    "is-error": lambda value: isinstance(value, bool),
    "token-usage": lambda value: isinstance(value, dict),
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


def record(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A record without its session (VAC s3.2)."""
    return {"version": "unknown", "id": "unknown"} | _set_aside(found, RECORD, losses)


def session(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """A session without its entries (VAC s3.3)."""
    made = {"session-id": "unknown"} | _set_aside(found, SESSION, losses)
    meta = _set_aside(dict_of(made.get("agent-meta")), META, losses)
    return {**made, "agent-meta": {"model-id": "unknown", "model-provider": "unknown"} | meta}


def entry(found: dict[str, Json], losses: Losses) -> dict[str, Json]:
    """An entry without its children, of one of the six types (VAC s3.8)."""
    members = MEMBERS[found["type"]]
    made = _set_aside(found, {name: check for name, check in ENTRY.items() if name in members}, losses)
    if "token-usage" in made:
        made["token-usage"] = _set_aside(made["token-usage"], USAGE, losses)
    return made | {name: value for name, value in REQUIRED_MEMBERS[made["type"]].items() if name not in made}


def _set_aside(found: dict[str, Any], checks: dict[str, Check], losses: Losses) -> dict[str, Json]:
    wrong = {name for name, check in checks.items() if name in found and not check(found[name])}
    for name in sorted(wrong):
        losses.lose(f"{name} that is not of its type", f"written as {ASIDE}{name}: VAC's CDDL does not allow it")
    return {(ASIDE if name in wrong else "") + name: value for name, value in found.items()} if wrong else dict(found)
