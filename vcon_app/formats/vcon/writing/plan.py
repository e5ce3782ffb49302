"""What a first walk over the events decides: who the parties are, which events are dialogs, which numbers they get."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ....drafts import EventDraft, Events, Json, Losses, SessionDraft
from ...common.values import dict_of
from ..file import DEEPEST, ELIDED
from ..trace import NATIVE, Parties, identify_parties, kept_by_reader
from .parties import Actors, parties_of

PASSES = 16
"""Walks over the events to bring them into the order of the file; mostly one is enough."""
TRACED = ("D1", "D2", "D3", "D4", "D5")
MESSAGE_KINDS = ("user_message", "agent_message")
ATTACHMENT_KINDS = ("file_change", "artifact")
REMOVED_PARTS = "gone"
"""In what is kept for the writer: the parts of an event that a redaction removed (see ``redacting``)."""
HAD_WORDS = "said"
"""There, too: the event had words. It stays a dialog when they are removed, so that indices hold (core s4.1.8)."""
_GENERATED = re.compile(r"e[1-9]\d*")


class TrustedLog:
    """The log with checked notes of our reader: those that cannot be its own are left out of the events.

    Events may come from anywhere (API, agents), and whoever writes ``data["vcon"]`` would steer the writer with it.
    """

    def __init__(self, events: Events) -> None:
        self._events = events

    def __len__(self) -> int:
        return len(self._events)

    def __iter__(self) -> Iterator[EventDraft]:
        for event in self._events:
            if NATIVE in event.data and not _is_sound(event.data[NATIVE]):
                yield replace(event, data={key: value for key, value in event.data.items() if key != NATIVE})
            else:
                yield event


KEPT_TYPES: dict[str, type] = {
    "id": str, "level": int, "source": str, "type": str, "wrapper": dict, "native": dict, "odd": dict, "own": list,
    "dialog": dict, "attachment": dict, "was": int, "parent_id": str, "model": str, "change": list,
}  # fmt: skip


def _is_sound(kept: Json) -> bool:
    if not isinstance(kept, dict) or not all(isinstance(kept[name], KEPT_TYPES.get(name, object)) for name in kept):
        return False
    if kept.get("type", "user") not in ("user", "system-event") or not 0 <= kept.get("level", 0) <= DEEPEST:
        return False
    held = [kept[name] for name in ("dialog", "attachment") if name in kept]
    return all(type(one.get("i")) is int and isinstance(one.get("item"), dict) for one in held)


@dataclass(slots=True)
class Plan:
    """Decisions that every later walk follows."""

    session: SessionDraft
    record: dict[str, Any]
    options: dict[str, Any]
    parties: list[dict[str, Json]] = field(default_factory=list)
    people: Parties = field(default_factory=lambda: Parties([]))
    actors: dict[tuple[str, str], int] = field(default_factory=dict)
    """Of each actor the first party."""
    dialogs: int = 0
    attachments: int = 0
    """Those that are events."""
    traced: bool = False
    generated: bool = False
    interactive: bool = False
    models: list[str] = field(default_factory=list)
    alone: bool = False
    """The trace is written as a record of its own: there are no parties, dialogs and attachments beside it."""
    taken: set[str] = field(default_factory=set)
    """Given ids of entries and messages that look like ours."""
    old_dialogs: list[int] = field(default_factory=list)
    """Indices that dialogs had in the file, sorted."""
    old_attachments: list[int] = field(default_factory=list)

    put_back: int = 0
    """Long strings that were taken from the original file again."""

    def whole(self, item: dict[str, Json]) -> dict[str, Json]:
        """An object of the file with what of it the reader left in the original file, where that is at hand."""
        return self._whole(item) if "long_values" in self.options else item

    def _whole(self, value: Json) -> Json:
        if isinstance(value, list):
            return [self._whole(one) for one in value]
        if not isinstance(value, dict):
            return value
        place = value.get(ELIDED)
        if not isinstance(place, str) or not place:
            return {name: self._whole(one) for name, one in value.items()}
        try:
            found = self.options["long_values"](place)
        except LookupError:
            return value
        self.put_back += isinstance(found, str)
        return found

    @property
    def had_trace(self) -> bool:
        return self.record.get("dialect") in TRACED

    @property
    def was_alone(self) -> bool:
        """The session came from such a record: its messages stand in no dialog yet."""
        return "vac" in (self.record.get("forms") or ())

    def is_new(self, kept: dict[str, Any]) -> bool:
        """Is there nothing in the file beside its trace that the event came from?"""
        return not (kept.keys() & ({"source"} if self.was_alone else {"id", "source"}))

    def is_dialog(self, event: EventDraft) -> bool:
        """Dialogs of the file stay; of other events the visible messages of the main conversation become dialogs."""
        left = kept_by_reader(event)
        if "dialog" in left or self.alone:
            return not self.alone
        said = bool(event.text) or left.get(HAD_WORDS) is True
        return event.kind in MESSAGE_KINDS and event.depth == 0 and said and self.is_new(left)

    def is_entry(self, event: EventDraft) -> bool:
        """Does the event belong in the trace?"""
        source = kept_by_reader(event).get("source")
        if self.alone:
            return True
        if source == "dialog":
            return self.traced and not self.had_trace and event.kind in (*MESSAGE_KINDS, "tool_call", "tool_result")
        if source is not None:
            return source == "thought"
        return event.kind not in ATTACHMENT_KINDS or "id" in kept_by_reader(event)

    def is_attachment(self, event: EventDraft) -> bool:
        left = kept_by_reader(event)
        if self.alone:
            return False
        return "attachment" in left or (event.kind in ATTACHMENT_KINDS and not ({"id", "source"} & left.keys()))

    def entry_id(self, event: EventDraft, number: int) -> str:
        """The id as given, else ``e<number>`` (1-based place in the log), else one that is still free."""
        if given := kept_by_reader(event).get("id"):
            return given
        message_id = dict_of(dict_of(kept_by_reader(event).get("dialog")).get("item")).get("message_id")
        if isinstance(message_id, str) and message_id and not self.had_trace:
            return message_id
        # Ids of our own must not meet an id of the file that looks like ours.
        return f"e{number}" if f"e{number}" not in self.taken else f"e{number}-{number}"

    def is_kept(self, old: int) -> bool:
        """Is this dialog of the file a dialog of the new one?"""
        place = bisect_left(self.old_dialogs, old)
        return place < len(self.old_dialogs) and self.old_dialogs[place] == old

    def new_index(self, old: int) -> int:
        """The new index of a dialog of the file, or of the last one kept before it."""
        return max(bisect_left(self.old_dialogs, old) - (not self.is_kept(old)), 0)

    def party(self, event: EventDraft) -> int | None:
        """The party who acts in an event, if there is one. A trigger's is known by its name alone."""
        kind = "person" if event.actor_kind == "trigger" else event.actor_kind
        return self.actors.get((kind, event.actor_name))

    def dialog_events(self, events: Events, losses: Losses) -> Iterator[tuple[int, EventDraft]]:
        """The dialogs, those of the file in its order first, with their number in the log."""
        order = Order("dialog", self.is_dialog, self.old_dialogs, self.dialogs)
        yield from order.in_file_order(events, losses)

    def attachment_events(self, events: Events, losses: Losses) -> Iterator[tuple[int, EventDraft]]:
        """The attachments, in the same way."""
        order = Order("attachment", self.is_attachment, self.old_attachments, self.attachments)
        yield from order.in_file_order(events, losses)


@dataclass(slots=True)
class Order:
    """First the objects of the file, sorted by walking again where the log has another order; then the new ones."""

    name: str
    wanted: Callable[[EventDraft], bool]
    old: list[int]
    """Indices in the file, sorted."""
    count: int
    """Old and new."""

    def in_file_order(self, events: Events, losses: Losses) -> Iterator[tuple[int, EventDraft]]:
        """The events with their number in the log; walks over them as often as it must, mostly once."""
        place = 0
        # Walking again instead of holding: the log may be larger than memory.
        for _ in range(PASSES if self.old else 0):
            for number, event in self._walk(events):
                if place < len(self.old) and self._index(event) == self.old[place]:
                    yield number, event
                    place += 1
            if place == len(self.old):
                break
        if place < len(self.old):
            why = "too far from the order of the events; written in that order"
            losses.lose(f"order of {self.name}s", why, len(self.old) - place)
        done = set(self.old[:place])
        for number, event in self._walk(events) if place < self.count else ():
            if self._index(event) not in done:
                yield number, event

    def _walk(self, events: Iterable[EventDraft]) -> Iterator[tuple[int, EventDraft]]:
        return ((number, event) for number, event in enumerate(events, 1) if self.wanted(event))

    def _index(self, event: EventDraft) -> int | None:
        held = kept_by_reader(event).get(self.name)
        return held["i"] if held else None


def make_plan(session: SessionDraft, events: Events, options: dict[str, Any], *, alone: bool = False) -> Plan:
    """Walk the events once. ``alone``: no vCon is written around the trace."""
    plan = Plan(session, dict_of(session.record.get(NATIVE)), options, alone=alone)
    actors = Actors()
    for event in events:
        _survey(plan, actors, event)
    plan.old_dialogs.sort()
    plan.old_attachments.sort()
    if alone:
        return plan
    plan.parties = parties_of(session, {} if plan.was_alone else plan.record, actors, plan.traced)
    plan.people = identify_parties(plan.parties, ["agent_session"], True, [])
    plan.actors = {party.actor: party.index for party in reversed(plan.people.all)}
    return plan


def _survey(plan: Plan, actors: Actors, event: EventDraft) -> None:
    """Enter into the plan what one event comes to: an item beside the trace, an entry, an actor, an id, a model."""
    kept = kept_by_reader(event)
    if plan.is_dialog(event):
        plan.dialogs += 1
        plan.old_dialogs += _index_in_file(kept, "dialog")
    if plan.is_attachment(event):
        plan.attachments += 1
        plan.old_attachments += _index_in_file(kept, "attachment")
    if plan.is_new(kept):
        actors.note(event)
    if not plan.traced:
        plan.traced = _needs_trace(plan, event, kept)
    if not plan.generated:
        plan.generated = _needs_new_id(plan, event, kept)
    if event.kind == "user_message" and event.actor_kind == "person":
        plan.interactive = True
    plan.taken |= _ids_like_ours(kept)
    if event.model and event.model not in plan.models:
        plan.models.append(event.model)


def _index_in_file(kept: dict[str, Any], member: str) -> list[int]:
    """The index of the dialog or attachment that the event came from, in the imported file."""
    return [kept[member]["i"]] if member in kept else []


def _needs_trace(plan: Plan, event: EventDraft, kept: dict[str, Any]) -> bool:
    """Does the event ask for a trace? What came as a dialog, an analysis or an attachment can go as one again."""
    if plan.is_new(kept):
        return event.kind not in ATTACHMENT_KINDS
    return "id" in kept or kept.get("source") == "thought" or event.kind in ("tool_call", "tool_result")


def _needs_new_id(plan: Plan, event: EventDraft, kept: dict[str, Any]) -> bool:
    """Will its entry get an id of ours? Blocks inside of a message (``derived``) have none, nor have attachments."""
    if kept.get("id") or kept.get("derived") or event.kind in ATTACHMENT_KINDS:
        return False
    source = kept.get("source")
    return source in (None, "thought") or (source == "dialog" and not plan.had_trace)


def _ids_like_ours(kept: dict[str, Any]) -> set[str]:
    """Ids from the file that look like those that ``Plan.entry_id`` makes up: these must not be given twice."""
    message_id = dict_of(dict_of(kept.get("dialog")).get("item")).get("message_id")
    return {name for name in (kept.get("id"), message_id) if isinstance(name, str) and _GENERATED.fullmatch(name)}
