"""``decisions`` and ``outputs`` (S1): items that are events too, and keep their place among the messages.

An item that we wrote holds the rest of its event under ``_event``: an entry as ``entries`` writes it, and
``position``, its number among all events of the file. One with ``repeats`` instead says again, for readers
that know S1 alone, what the trace has under that key.

What was decided on an approval is an event of the trace; it stands here too, with ``repeats``, for those who ask the
feed which intents were resolved or rejected.

``resolved`` is a flag of the recorder and not an approval; nothing here decides anything.
"""

from __future__ import annotations

from dataclasses import replace

from ...drafts import EventDraft, Finding, Json
from ..common.times import rfc3339
from ..common.values import first_text, text_of
from .block_text import key_of
from .entries import HOME, entry_of, event_of, unknown
from .portable import restored

EXTRA = "_event"
_TO_US = {"intent": "title", "used_prompt": "prompt", "decision": "title", "reasoning": "rationale"}
_FROM_US = {"title": "intent", "prompt": "used_prompt"}
RESOLVED = ("approved", "approved_edited", "auto_allowed", "answered", "approve", "answer")
REJECTED = ("denied", "auto_denied", "expired", "cancelled", "deny")
"""Words for what became of an approval; with others it still waits, or nobody knows."""
TEXT_TYPE = "text/plain"
MESSAGES = ("message", "text", "markdown", "answer", "code")
"""Types of outputs that are no media types, and words of the agent (seed 002: "markdown, code, message")."""
BINARY_TYPE = "application/octet-stream"


def position_of(item: Json) -> int | None:
    """The item's number among the events, where one of our own files states it."""
    extra = item.get(EXTRA) if isinstance(item, dict) else None
    position = extra.get("position") if isinstance(extra, dict) else None
    return position if isinstance(position, int) and not isinstance(position, bool) and position >= 0 else None


def repeats(item: Json) -> str | None:
    """Key of the trace entry that this output repeats."""
    extra = item.get(EXTRA) if isinstance(item, dict) else None
    return text_of(extra.get("repeats")) or None if isinstance(extra, dict) else None


def is_decision(event: EventDraft) -> bool:
    return event.kind == "note" and isinstance(event.data.get("decision"), dict)


class AnsweredApprovals:
    """Items for approvals and questions that somebody answered, with the prompt that the agent worked at."""

    def __init__(self) -> None:
        self._prompt = ""

    def item(self, event: EventDraft) -> dict[str, Json] | None:
        """The item of an event; None for all that is no answer."""
        if event.kind == "user_message" and event.depth == 0:
            self._prompt = event.text
        if event.kind not in ("approval", "escalation"):
            return None
        told = event.data.get("decision")
        decision: dict[str, Json] = told if isinstance(told, dict) else {}
        word = text_of(event.data.get("status")) or text_of(told) or text_of(decision.get("verdict"))
        if word in RESOLVED or word in REJECTED:
            return self._answered(event, word, decision)
        return None

    def _answered(self, event: EventDraft, word: str, decision: dict[str, Json]) -> dict[str, Json]:
        tool = event.tool
        by = text_of(decision.get("by")) or text_of(event.data.get("by")) or event.actor_name
        reason = text_of(decision.get("reason")) or event.text
        told: dict[str, Json] = {
            "intent": (tool.name if tool else None) or event.text or event.kind,
            "used_prompt": self._prompt,
            "decision": word,
            "reason": reason,
            "answer": decision.get("answer"),
            "arguments": decision.get("arguments"),
            "by": by,
            "by_kind": decision.get("by_kind"),
            "timestamp": rfc3339(event.at) if event.at else None,
            "planted": event.data.get("planted"),
        }
        item = {name: value for name, value in told.items() if value not in (None, "")}
        return {**item, "resolved": word in RESOLVED, EXTRA: {"repeats": event.key}}


def decision_item(event: EventDraft, position: int) -> dict[str, Json]:
    """A decision event as an item of ``decisions``."""
    decision = dict(event.data["decision"])
    extra = decision.pop("extra", None)
    item = {_FROM_US.get(name, name): value for name, value in decision.items()}
    if isinstance(extra, dict):
        item = {**extra, **item}
    rest = _entry_without_item_members(event, {"decision"}, text=text_of(decision.get("title")))
    return {**item, EXTRA: {"position": position, **rest}}


def decision_event(item: Json, pointer: str, findings: list[Finding]) -> EventDraft:
    """An item of ``decisions`` (or of the lists of decisions in S2, S3 and S5) as a ``note`` event."""
    if isinstance(item, str):
        item = {"intent": item}
    if not isinstance(item, dict):
        findings.append(Finding("S1", "warning", pointer, "The decision is neither text nor an object; kept as it is."))
        return unknown(item, pointer)
    item = restored(item)
    decision = _decision(item)
    title = text_of(decision.get("title"))
    entry = {"role": "system", "kind": "note", "content": title, "key": key_of(pointer, item), **_extra(item)}
    if "timestamp" in item and EXTRA not in item:
        entry["timestamp"] = item["timestamp"]
    event = event_of(entry, pointer, findings)
    return replace(event, data={"decision": decision, **event.data})


def output_item(event: EventDraft, position: int) -> dict[str, Json]:
    """An artifact event as an item of ``outputs``."""
    body = event.data.get("body")
    value = event.text if body is None else body
    mediatype = text_of(event.data.get("mediatype")) or (TEXT_TYPE if body is None else BINARY_TYPE)
    rest = _entry_without_item_members(event, set() if body == event.text else {"body"}, text=value)
    return {"type": mediatype, "value": value, EXTRA: {"position": position, **rest}}


def output_event(item: Json, pointer: str, findings: list[Finding]) -> EventDraft:
    """An item of ``outputs`` as an ``artifact`` event: text as its text, anything else as ``data.body``."""
    if not isinstance(item, dict):
        findings.append(Finding("S1", "warning", pointer, "The output is no object; kept as it is."))
        return unknown(item, pointer)
    item = restored(item)
    value = item.get("value")
    is_media = text_of(item.get("type")).startswith(("image/", "audio/", "video/"))
    text = value if isinstance(value, str) and not is_media else ""
    entry = {"role": "system", "kind": "artifact", "content": text, "key": key_of(pointer, item), **_extra(item)}
    event = event_of(entry, pointer, findings)
    said = {} if EXTRA in item else _stated_members(item)
    body = {"body": value} if value is not None and (not isinstance(value, str) or value != event.text) else {}
    return replace(event, data={**said, **event.data, **body})


def answer_of(item: Json, pointer: str, agent: str) -> EventDraft | None:
    """A text output of a foreign file as the agent's last message: S1 has no other place for it."""
    value = item.get("value") if isinstance(item, dict) and EXTRA not in item else None
    kind = first_text(item.get("type"), TEXT_TYPE).lower() if isinstance(item, dict) else ""
    if isinstance(value, dict) and kind in MESSAGES:  # of a model's API
        value = next((value[name] for name in ("content", "text", "message") if isinstance(value.get(name), str)), None)
    if not isinstance(value, str) or not value or not (kind.startswith("text/") or kind in MESSAGES):
        return None
    place = f"{pointer}/value"
    return EventDraft(
        "agent_message", key_of(place, value), actor_kind="agent", actor_name=agent, text=value, pointer=place
    )


def _decision(item: dict[str, Json]) -> dict[str, Json]:
    """The decision under our names. A key of theirs with one of our names but another meaning goes under ``extra``."""
    dated = EXTRA not in item
    named = {name: value for name, value in item.items() if name != EXTRA and not (dated and name == "timestamp")}
    decision: dict[str, Json] = {}
    extra: dict[str, Json] = {}
    for name in sorted(named, key=lambda name: name not in _TO_US):  # theirs first: they name what ours mean
        ours = _TO_US.get(name, name)
        (extra if ours in decision or ours == "extra" else decision).setdefault(
            ours if ours not in decision else name, named[name]
        )
    return {**decision, "extra": extra} if extra else decision


def _stated_members(item: dict[str, Json]) -> dict[str, Json]:
    rest = {name: value for name, value in item.items() if name not in ("type", "value", HOME)}
    return {"mediatype": item["type"], **rest} if "type" in item else rest


def _entry_without_item_members(event: EventDraft, told: set[str], text: Json) -> dict[str, Json]:
    """The entry of an event without what its item tells already."""
    data = {name: value for name, value in event.data.items() if name not in told}
    entry = entry_of(replace(event, data=data))
    del entry["role"]
    del entry["kind"]
    if entry["content"] == text:
        del entry["content"]
    return entry


def _extra(item: dict[str, Json]) -> dict[str, Json]:
    extra = item.get(EXTRA)
    return {name: value for name, value in extra.items() if name != "position"} if isinstance(extra, dict) else {}
