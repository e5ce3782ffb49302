"""One event as an entry of ``conversation_trace``, and back, without loss.

``{role, timestamp, content, attachments}`` is what the published layout knows (S3). The rest of an event
stands beside it in plain keys, each left out where the role already says it:
``key``, ``kind``, ``actor {kind, name}``, ``tool {call_id, name, server, arguments, result, status}``,
``model``, ``request``, ``usage {input_tokens, ...}``, ``cost {amount, currency}``, ``parent`` (the ``key``
of another entry), ``depth``, ``data``, ``origin {origin, reported_by, received_at}`` (see ``common.origins``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args

from ...drafts import ActorKind, EventDraft, Finding, Json, Kind, ToolDraft, Usage
from ..common import origins
from ..common.jsonio import dumps
from ..common.times import parse, rfc3339
from ..common.values import count_of, money_of, text_of
from .block_text import key_of
from .portable import restored

ROLES: dict[str, tuple[Kind, ActorKind]] = {
    "user": ("user_message", "person"),
    "assistant": ("agent_message", "agent"),
    "tool": ("tool_result", "tool"),
    "system": ("system", "system"),
}
_ALIASES = {
    "human": "user", "ai": "assistant", "agent": "assistant", "model": "assistant", "bot": "assistant",
    "developer": "system", "function": "tool",
}  # fmt: skip
_ROLE_OF_KIND = {
    "user_message": "user", "agent_message": "assistant", "reasoning": "assistant", "tool_call": "assistant",
    "model_request": "assistant", "tool_result": "tool",
}  # fmt: skip
_LIFTED = ("attachments", "analysis")
"""Keys of an event's data that the published layout knows at the entry itself."""
_KINDS, _ACTORS = get_args(Kind), get_args(ActorKind)
HOME = "feed_block"
"""Key in an event's data: the JSON pointer of the block it was read from, which the writer writes back whole."""


def entry_of(event: EventDraft) -> dict[str, Json]:
    """The entry that :func:`event_of` reads as this event again (all but its place in its source document)."""
    role = _ROLE_OF_KIND.get(event.kind, "system")
    kind, actor_kind = ROLES[role]
    data = {name: value for name, value in origins.data_without(event).items() if name != HOME}
    lifted = {name: data.pop(name) for name in _LIFTED if data.get(name) is not None}
    entry: dict[str, Json] = {
        "role": role,
        "timestamp": rfc3339(event.at) if event.at else None,
        "content": event.text,
        **lifted,
        "key": event.key,
        "kind": event.kind if event.kind != kind else None,
        "actor": _actor(event, actor_kind),
        "tool": _stated(_values(event.tool)) if event.tool else None,
        "model": event.model,
        "request": event.request,
        "usage": _counts(event.usage) if event.usage else None,
        "cost": {"amount": format(event.cost, "f"), "currency": "USD"} if event.cost is not None else None,
        "parent": event.parent,
        "depth": event.depth or None,
        "data": data or None,
        "origin": origins.to_write(event),
    }
    return _stated(entry)


def event_of(entry: Json, pointer: str, findings: list[Finding]) -> EventDraft:
    """An entry as an event. What it holds beyond the known keys stays in ``data``; never raises."""
    entry = restored(entry) if isinstance(entry, dict) else entry
    role = _role(entry)
    if role is None:
        findings.append(
            Finding(
                "S3", "warning", pointer, f"The entry has no role that is known ({', '.join(ROLES)}); kept as it is."
            )
        )
        return unknown(entry, pointer)
    reading = _Reading(dict(entry), pointer, findings)
    kind, actor_kind = ROLES[role]
    known: dict[str, Any] = {
        "kind": reading.take_member("kind", _one_of(_KINDS)) or kind,
        "key": reading.take_member("key", lambda value: text_of(value) or None) or key_of(pointer, entry),
        "at": reading.time("timestamp"),
        "text": reading.content(),
        "tool": reading.take_member("tool", _tool),
        "model": reading.take_member("model", lambda value: text_of(value) or None),
        "request": reading.take_member("request", lambda value: text_of(value) or None),
        "usage": reading.take_member("usage", _usage),
        "cost": reading.take_member("cost", _cost),
        "parent": reading.take_member("parent", lambda value: text_of(value) or None),
        "depth": reading.take_member("depth", _depth) or 0,
    }
    told = reading.take_member("origin", origins.in_file)
    known["actor_kind"], known["actor_name"] = reading.take_member("actor", _actor_of) or (actor_kind, "")
    data = reading.unread_members() | ({origins.REPORTED: told} if told else {})
    return EventDraft(**known, data=data, pointer=pointer)


def unknown(raw: Json, pointer: str) -> EventDraft:
    """Event of a value that is not of the expected type, kept whole."""
    return EventDraft("unknown", key_of(pointer, raw), text=text_of(raw), data={"raw": raw}, pointer=pointer)


class _Reading:
    """The keys of an entry, taken one by one; what is left over was not understood and is kept."""

    def __init__(self, left: dict[str, Json], pointer: str, findings: list[Finding]) -> None:
        self.left, self.pointer, self.findings = left, pointer, findings
        for name in ("role", "speaker", "author"):
            if _as_role(left.get(name)):
                self.left.pop(name)
                break

    def take_member(self, name: str, read: Callable[[Json], Any]) -> Any:
        """A value if it has the expected shape; otherwise it stays and ends in ``data``."""
        if self.left.get(name) is None or (value := read(self.left[name])) is None:
            return None
        del self.left[name]
        return value

    def time(self, name: str) -> Any:
        if self.left.get(name) is None:
            return None
        at, odd = parse(self.left[name])
        if odd:
            self.findings.append(Finding("S3", "info", f"{self.pointer}/{name}", f"{odd}."))
        if at:
            del self.left[name]
        return at

    def content(self) -> str:
        """The text of ``content``; one that is not plain text also stays in ``data`` as it came."""
        for name in ("content", "message", "text"):
            value = self.left.get(name)
            if isinstance(value, str):
                return self.left.pop(name)
            if value is not None:
                return _joined(value)
        return ""

    def unread_members(self) -> dict[str, Json]:
        data = self.left.pop("data", None)
        if data is not None and not isinstance(data, dict):
            self.left["data"], data = data, None
        rest = {name: value for name, value in self.left.items() if value is not None}
        return {name: value for name, value in {**(data or {}), **rest}.items() if name != HOME}


def _role(entry: Json) -> str | None:
    if not isinstance(entry, dict):
        return None
    return next((role for name in ("role", "speaker", "author") if (role := _as_role(entry.get(name)))), None)


def _as_role(value: Json) -> str | None:
    name = text_of(value).strip().lower()
    name = _ALIASES.get(name, name)
    return name if name in ROLES else None


def _joined(value: Json) -> str:
    """Text of a content list ``[{type: text, text}]``; of anything else, its JSON."""
    if isinstance(value, list):
        parts = [
            item if isinstance(item, str) else text_of(item.get("text"))
            for item in value
            if isinstance(item, (str, dict))
        ]
        if any(parts):
            return "\n\n".join(part for part in parts if part)
    return dumps(value).decode()


def _actor(event: EventDraft, usual: ActorKind) -> dict[str, str] | None:
    if event.actor_kind == usual and not event.actor_name:
        return None
    return {"kind": event.actor_kind, **({"name": event.actor_name} if event.actor_name else {})}


def _actor_of(value: Json) -> tuple[str, str] | None:
    if isinstance(value, dict) and value.get("kind") in _ACTORS and isinstance(value.get("name", ""), str):
        return (value["kind"], value.get("name", "")) if value.keys() <= {"kind", "name"} else None
    return None


def _one_of(names: tuple[str, ...]) -> Callable[[Json], str | None]:
    return lambda value: value if isinstance(value, str) and value in names else None


def _depth(value: Json) -> int | None:
    count = count_of(value)
    return count if count is not None and count < 1_000 else None


def _tool(value: Json) -> ToolDraft | None:
    if not isinstance(value, dict) or not value.keys() <= {field.name for field in fields(ToolDraft)}:
        return None
    texts = (value.get(name) for name in ("call_id", "name", "server", "status"))
    return ToolDraft(**value) if all(text is None or isinstance(text, str) for text in texts) else None


def _usage(value: Json) -> Usage | None:
    """Counts as we write them, or ``{input, output, total}`` as the automation layout has them (S4)."""
    if not isinstance(value, dict):
        return None
    if value.keys() <= {"input", "output", "total"}:
        value = {f"{name}_tokens": value[name] for name in ("input", "output") if name in value}
    counts = {name: count_of(count) for name, count in value.items() if name != "quality"}
    if not value.keys() <= {field.name for field in fields(Usage)} or None in counts.values():
        return None
    return Usage(**counts, quality=text_of(value.get("quality")) or "final")


def _cost(value: Json) -> Any:
    """US dollars; another currency is not money we can add up, and stays in ``data``."""
    if (
        isinstance(value, dict)
        and str(value.get("currency", "")).upper() == "USD"
        and value.keys() <= {"amount", "currency"}
    ):
        return money_of(value.get("amount"))
    return None


def _counts(usage: Usage) -> dict[str, Json]:
    counts = _stated(_values(usage))
    return counts if usage.quality != "final" else {name: count for name, count in counts.items() if name != "quality"}


def _values(draft: ToolDraft | Usage) -> dict[str, Json]:
    return {field.name: getattr(draft, field.name) for field in fields(draft)}


def _stated(values: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}
