"""Selection of parts to remove, and the session without them. The writer never gets what was removed.

Core s4.1.8 wants placeholders, so that indices hold. An event that goes whole leaves one: its kind, its actor and its
ids stay, for dialogs and trace entries are joined by them. Of an event that loses its words, the time, the tool and
the tokens stay too (a "shell" of draft-rosenberg-vcon-redaction). What only recorders know of an event, in members of
their own, goes with any part of it: it may say the same again.

A hash stays only of what lies elsewhere (``url``) or is large and binary: who has the hash of a short text can try
texts until one fits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ....drafts import EventDraft, Events, Json, ToolDraft
from ...common import origins
from ...common.values import dict_of
from ..rules import EVENT, shell_of
from ..trace import HOLDING, NATIVE, blocks_of, extension, kept_by_reader
from ..writing import ATTACHMENT_KINDS, HAD_WORDS, REMOVED_PARTS

TEXT, ARGUMENTS, RESULT = "text", "arguments", "result"
PARTS = (EVENT, TEXT, ARGUMENTS, RESULT)
"""What of an event may go; ``event`` is all of it."""
REASONING, ATTACHMENTS = "reasoning", "attachments"
EVERY = (REASONING, ARGUMENTS, RESULT, ATTACHMENTS)
"""What may go of every event."""
TITLE, SUMMARY, PEOPLE, ENVIRONMENT, METADATA = "title", "summary", "people", "environment", "metadata"
WHOLE = (TITLE, SUMMARY, PEOPLE, ENVIRONMENT, METADATA)
"""What may go of the session as a whole."""
MARK = "redacted"
"""In ``EventDraft.data``: the same parts, for every reader of the file."""
NO_NAME = "redacted"
"""Name of a tool whose call went whole; a trace entry has to name one (VAC s3.8)."""
FROM_TRACE = ("id", "source", "level", "parent_id", "was")


@dataclass(frozen=True)
class Selection:
    """Parts that a reviewer removes. Numbers are places in the log, from 1; indices those of the imported file."""

    type: str
    parts: dict[int, frozenset[str]] = field(default_factory=dict)
    every: frozenset[str] = frozenset()
    whole: frozenset[str] = frozenset()
    analyses: frozenset[int] = frozenset()
    attachments: frozenset[int] = frozenset()
    words: tuple[str, ...] = ()
    """Words that were searched for to find ``parts``: they must stand nowhere any more."""

    def parts_of(self, number: int, event: EventDraft) -> frozenset[str]:
        """The parts of this event that go, those only that it has."""
        return frozenset(part for part in self.parts_asked(number, event.kind) if _has(event, part))

    def parts_asked(self, number: int, kind: str) -> set[str]:
        """The parts that go of an event of this kind, if it has them."""
        found = {*self.parts.get(number, ())} | (self.every & {ARGUMENTS, RESULT})
        if (REASONING in self.every and kind == "reasoning") or (
            ATTACHMENTS in self.every and kind in ATTACHMENT_KINDS
        ):
            found.add(TEXT)
        return found


def _has(event: EventDraft, part: str) -> bool:
    tool = event.tool
    if part == ARGUMENTS:
        return tool is not None and tool.arguments is not None
    if part == RESULT:
        return event.kind == "tool_result" or (tool is not None and tool.result is not None)
    return True


class Redacted:
    """The log without the removed parts. It may be walked several times and never holds more than one event."""

    def __init__(self, events: Events, selection: Selection, people: dict[str, str]) -> None:
        """``people``: the name of each person -> what stands for it; empty when names stay."""
        self._events, self._selection, self._people = events, selection, people

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[EventDraft]:
        below = 1
        for number, event in enumerate(self._events, 1):
            notes = kept_by_reader(event)
            is_block = bool(notes.get("derived"))
            # A block inside a message has no level of its own: it stands one below the entry before it.
            level = notes.get("level", below if is_block else 0)
            below = level if is_block else level + 1
            gone = self._selection.parts_of(number, event)
            yield self._renamed(without_removed_parts(event, gone, level) if gone else _without_copies(event, level))

    def one(self, number: int, event: EventDraft) -> EventDraft:
        """A single event of the log without its removed parts, to be looked at: its place in a trace is not known."""
        gone = self._selection.parts_of(number, event)
        return self._renamed(without_removed_parts(event, gone) if gone else event)

    def _renamed(self, event: EventDraft) -> EventDraft:
        names = origins.names_of(event)
        if names and (PEOPLE in self._selection.whole or any(self._was_searched_for(name) for name in names)):
            event = origins.without_name(event)
        if not self._people or event.actor_kind not in ("person", "trigger"):
            return event
        return replace(event, actor_name=self._people.get(event.actor_name, ""))

    def _was_searched_for(self, name: str) -> bool:
        return any(word.casefold() in name.casefold() for word in self._selection.words)


def without_removed_parts(event: EventDraft, gone: frozenset[str], level: int = 0) -> EventDraft:
    """The event without some of its parts. ``level`` is its depth in the trace of its file."""
    whole = EVENT in gone
    kept = {name: event.data[name] for name in ("time_source", "time_inherited") if name in event.data and not whole}
    data: dict[str, Json] = {**kept, MARK: sorted(gone)}
    return replace(
        event,
        text="" if gone & {EVENT, TEXT, RESULT} else event.text,
        tool=_tool(event.tool, gone) if event.tool else None,
        at=None if whole else event.at,
        actor_name=NO_NAME if whole and event.actor_kind == "tool" and event.actor_name else event.actor_name,
        model=None if whole else event.model,
        usage=None if whole else event.usage,
        request=None if whole else event.request,
        cost=None if whole else event.cost,
        origin=None if whole else event.origin,
        data=data | {NATIVE: _kept_for_writer(event, gone, level)},
    )


def _tool(tool: ToolDraft, gone: frozenset[str]) -> ToolDraft:
    if EVENT in gone:
        return ToolDraft(call_id=tool.call_id, name=NO_NAME if tool.name else None, status=tool.status)
    return replace(
        tool,
        arguments=None if ARGUMENTS in gone else tool.arguments,
        result=None if gone & {RESULT, TEXT} else tool.result,
    )


def _kept_for_writer(event: EventDraft, gone: frozenset[str], level: int) -> dict[str, Any]:
    """The writer's notes without content: where the event stood, and nothing of what it said."""
    old = kept_by_reader(event)
    kept = {name: old[name] for name in FROM_TRACE if name in old}
    kept |= {REMOVED_PARTS: sorted(gone), HAD_WORDS: bool(event.text)}
    if old.get("type") and "id" in old:
        kept["type"] = old["type"]
    if old.get("derived"):
        kept["level"] = level
    if "wrapper" in old:
        kept["wrapper"] = _frame(old["wrapper"])
    if "id" in kept:
        kept |= _outcome(event)
        kept["own"] = [name for name in (extension.ACTOR, extension.DEPTH) if name in old.get("own", ())] + [
            extension.KIND,
            extension.DATA,
        ]
    for name in ("dialog", "attachment"):
        if name in old:
            kept[name] = {"i": old[name]["i"], "item": shell_of(old[name]["item"], EVENT in gone)}
    return kept


def _outcome(event: EventDraft) -> dict[str, Json]:
    """The outcome of a call in our words; the recorder's own may be a sentence."""
    if event.kind != "tool_result" or event.tool is None:
        return {"event_type": NO_NAME}
    status = event.tool.status
    told: dict[str, Json] = {"named": True} if event.tool.name else {}
    told |= {"status": {"ok": "success"}.get(status, status)} if status else {}
    return told | ({"is_error": True} if status == "error" else {})


def _without_copies(event: EventDraft, level: int) -> EventDraft:
    """An event that stays. Messages hold copies of the calls and results beside them, as blocks: those go."""
    notes = kept_by_reader(event)
    native = dict_of(notes.get("native"))
    if not notes.keys() & {"content", "wrapper", "derived"} and HOLDING.isdisjoint(native):
        return event
    kept = {name: value for name, value in notes.items() if name != "derived"}
    if notes.get("derived"):
        kept["level"] = level
    if "wrapper" in notes:
        kept["wrapper"] = _frame(notes["wrapper"])
    if isinstance(notes.get("content"), list):
        kept["content"] = _plain(notes["content"])
    if native:
        kept["native"] = {name: value for name, value in native.items() if name not in HOLDING}
    return replace(event, data=event.data | {NATIVE: kept})


def _plain(content: list[Json]) -> list[Json]:
    """Content blocks but those that are events."""
    events = {block.place for block in blocks_of(content)}
    return [block for place, block in enumerate(content) if f"content/{place}" not in events]


def _frame(wrapper: dict[str, Json]) -> dict[str, Json]:
    """The user entry around tool results, without the copies of them in it."""
    return {name: wrapper[name] for name in ("type", "id", "timestamp") if name in wrapper} | {"content": []}
