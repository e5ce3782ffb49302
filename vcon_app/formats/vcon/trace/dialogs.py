"""Dialogs: who speaks in them, what they say, and the steps of those that are in no trace."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from ....drafts import ActorKind, Json, Kind
from ...common.times import plain_time
from ...common.values import text_or_none
from ..file import LONG_STRING, Container, Content, Elided, Notes, check_hash, mediatype, point, resolve
from . import refs
from .clock import Clock
from .entries import visible_text
from .parties import Parties, Party
from .steps import Step

_ENDS = ("transferor", "transfer_target")
MCP = "application/vnd.mcp-session+json"


@dataclass(slots=True, eq=False)
class Dialog:
    """One dialog as understood. ``item`` has today's names."""

    index: int
    item: dict[str, Any]
    pointer: str
    content: Content
    speaker: Party | None
    heard: list[Party]
    at: datetime | None
    text: str
    ends: list[Party]
    """Who hands over to whom, in a transfer."""
    media: str = ""
    """The media type, see ``mediatype``."""

    @property
    def type(self) -> str:
        return text_or_none(self.item.get("type")) or ""

    @property
    def is_mcp(self) -> bool:
        """Dialect D7: the whole session of the mcp_session draft stands in one dialog."""
        return self.media == MCP or self.item.get("type") == "mcp_session"

    def kept(self, shown_text: str) -> dict[str, Any]:
        """Note for the writer: index, object, and whether its body is the text of the event (then it is left out)."""
        return kept_item(self.index, self.item, shown_text, self.pointer)


def kept_item(index: int, item: dict[str, Any], shown_text: str, pointer: str) -> dict[str, Any]:
    """``{i, item, text?}``: the object an event came from, without a body that is the text of the event."""
    body = item.get("body")
    if isinstance(body, str) and body == shown_text:
        rest = item.copy()
        del rest["body"]
        return {"i": index, "item": rest, "text": True}
    if isinstance(body, str) and len(body) > LONG_STRING:
        return {"i": index, "item": {**item, "body": Elided(f"{pointer}/body", len(body))}}
    return {"i": index, "item": item}


def dialogs_of(vcon: Container, parties: Parties, notes: Notes) -> list[Dialog]:
    """Every dialog, in array order."""
    clock = Clock(notes)
    found = []
    for index, item in enumerate(vcon.dialog):
        pointer = f"{vcon.pointer}/dialog/{index}"
        content = resolve(item, pointer, notes, text_or_none(item.get("type")) or "")
        if "content_hash" in item:
            check_hash(item, content, pointer, notes)
        people = [parties.all[n] for n in indices(item.get("parties"), len(parties.all))]
        first = indices(item.get("originator"), len(parties.all))
        speaker = parties.all[first[0]] if first else people[0] if people else None
        start = item.get("start")
        at = known[0] if (known := plain_time(start)) else clock.date(start, point(pointer, "start")).at
        heard = [party for party in people if party is not speaker]
        ends = [parties.all[n] for name in _ENDS if name in item for n in indices(item[name], len(parties.all))[:1]]
        found.append(Dialog(index, item, pointer, content, speaker, heard, at, _text(content), ends, mediatype(item)))
    return found


def _text(content: Content) -> str:
    if content.kind == "text":
        return content.value
    if content.kind == "json" and isinstance(content.value, dict):
        return visible_text(content.value.get("text") or content.value.get("content"))
    return content.value if isinstance(content.value, str) and content.kind == "json" else ""


def indices(value: Json, length: int) -> list[int]:
    """The valid indices in a reference: an int, a list, a list of lists with nulls (core s4.3.4).

    Integral floats count; booleans, negative numbers and what is out of range do not (rule R25).
    """
    if value is None:
        return []
    if type(value) is int:
        return [value] if 0 <= value < length else []
    flat = value if isinstance(value, list) else [value]
    if len(plain := refs.valid_indices(flat, length)) == len(flat):
        return plain
    found: list[int] = []
    for item in flat:
        for number in item if isinstance(item, list) else [item]:
            if type(number) is float and number.is_integer():
                number = int(number)
            if type(number) is int and 0 <= number < length:
                found.append(number)
    return found


def step_of(dialog: Dialog) -> Step:
    """The step of a dialog that no trace holds."""
    kind, words, actor = _plain(dialog)
    step = Step(
        kind, dialog.pointer, text_or_none(dialog.item.get("message_id")) or "", at=dialog.at, actor=actor, text=words
    )
    step.for_writer = {"source": "dialog", "dialog": dialog.kept(words)}
    step.data = _facts(dialog) if kind in ("artifact", "handoff", "status", "note") else {}
    if isinstance(dialog.content.value, Elided):
        step.data["elided"] = dict(dialog.content.value)
    return step


def _plain(dialog: Dialog) -> tuple[Kind, str, tuple[ActorKind, str]]:
    """Kind, text and actor of the event that a dialog comes to."""
    actor: tuple[ActorKind, str] = dialog.speaker.actor if dialog.speaker else ("unknown", "")
    if dialog.type == "transfer":
        return (
            "handoff",
            " → ".join(party.name for party in dialog.ends),
            dialog.ends[0].actor if dialog.ends else actor,
        )
    if dialog.type == "incomplete":
        return "status", f"incomplete: {text_or_none(dialog.item.get('disposition')) or 'no reason given'}", actor
    if dialog.content.kind == "absent" and dialog.type != "recording-set":
        return "note", "(content removed or absent)", actor
    if _is_artifact(dialog):
        return "artifact", "", actor
    if dialog.speaker and dialog.speaker.is_ai:
        return "agent_message", dialog.text, actor
    if dialog.speaker and dialog.speaker.kind == "tool":
        return "tool_result", dialog.text, actor
    return "user_message", dialog.text, actor


def _is_artifact(dialog: Dialog) -> bool:
    """Is there something to open or to play, rather than words to read?"""
    if dialog.content.kind in ("url", "bytes", "opaque", "absent"):
        return True
    if dialog.content.kind == "elided" and dialog.type != "text":
        return True
    return dialog.media.startswith(("audio/", "video/", "image/")) or (
        dialog.type not in ("text", "") and not dialog.text
    )


def _facts(dialog: Dialog) -> dict[str, Any]:
    """Facts of a recording or of an event of the call."""
    names = ("type", "filename", "mediatype", "duration", "url", "content_hash", "disposition")
    facts = {
        ("name" if name == "filename" else name): dialog.item[name]
        for name in names
        if dialog.item.get(name) is not None
    }
    if dialog.content.kind == "bytes":
        facts["size"] = len(dialog.content.value)
    return facts


def differs(first: datetime | None, second: datetime | None) -> bool:
    """Are two times more than 2 s apart?"""
    return first is not None and second is not None and first != second and abs((first - second).total_seconds()) > 2


def spaced_by_one_second(dialogs: list[Dialog]) -> bool:
    """Times exactly 1 s apart were made up by a converter."""
    times = [dialog.at for dialog in dialogs if dialog.at is not None]
    return len(times) > 2 and all((after - before).total_seconds() == 1 for before, after in pairwise(times))
