"""The entries of a trace, depth first, as steps (VAC s3.8)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from ....drafts import Json
from ...common.times import plain_time
from ...common.values import text_of
from ..file import EMPTY, Elided, Notes, point, shown
from . import extension
from .clock import Clock
from .entries import HOLDING, Block, has_media, inner_blocks, visible_text
from .entry_steps import make
from .names import COMMON, fold
from .pairs import Pairs
from .parties import Parties
from .steps import Step
from .tally import Tally
from .traces import Trace
from .turns import Doubles


class Place(NamedTuple):
    """Where an entry stands: the event above it, how deep in ``children``, the time above it."""

    parent: Step | None = None
    level: int = 0
    inherited: datetime | None = None
    wrapper: list[dict[str, Any]] | None = None
    """The user entry around tool results; the first of them takes it along."""


TOP = Place()
IDS = ("id", "parent-id", "call-id")
SPOKEN = ("user_message", "agent_message", "reasoning")
TOLD = COMMON | {"content", "encrypted"}
"""Members of a message without words that need no naming."""
TIMES = tuple(spelling for name in ("session-start", "session-end", "started-at", "ended-at")
              for spelling in (name, name.replace("-", "_")))  # fmt: skip
Task = tuple[dict[str, Any], str, Place]


class TraceWalk:
    """Turns the traces of one session into steps, in log order."""

    def __init__(self, trace: Trace, parties: Parties, notes: Notes) -> None:
        self.steps: list[Step] = []
        self.people, self.notes = parties, notes
        self.ids: dict[str, Step] = {}
        self.tally = Tally(trace, notes)
        self.pairs = Pairs(notes)
        self.clock = Clock(notes)
        self._doubles = Doubles()
        self._raws: dict[str, dict[str, Any]] = {}
        self._parents: list[tuple[str, str]] = []

    def run(self, traces: list[Trace]) -> list[Step]:
        """All entries of these traces in array order; iterative, so that nesting is no danger."""
        for trace in traces:
            self._check_times(trace)
            for raw, pointer in trace.entries:
                stack = self._entry(raw, pointer, TOP)
                while stack:
                    stack += self._entry(*stack.pop()) or ()
        self._finish()
        return self.steps

    def _check_times(self, trace: Trace) -> None:
        """Those of the session; ``sessions`` reads them again."""
        for name in TIMES:
            if trace.session.get(name) is not None:
                self.clock.read(trace.session[name], point(trace.pointer, name))

    def _entry(self, raw: dict[str, Any], pointer: str, place: Place) -> list[Task] | None:
        """Add the steps of one entry; its children, the last one first."""
        entry = fold(raw)
        name = entry.get("id")
        if type(name) is int or type(entry.get("call-id")) is int or type(entry.get("parent-id")) is int:
            entry = self._with_text_ids(entry, pointer)
            name = entry.get("id")
        name = name if type(name) is str else ""
        if name:
            first = self._raws.setdefault(name, raw)
            if first is not raw and self._is_copy(name, first == raw, pointer):
                return None
        # most entries hold no others and are done here: what follows costs as much as the step itself
        if "children" not in entry and type(entry.get("content")) is not list and not _holds_events(entry):
            step = self._step(entry, name, pointer, place)
            if not step.text and step.kind in SPOKEN:
                self._note_empty(entry, pointer)
            return None
        return self._nested(raw, entry, name, pointer, place)

    def _nested(self, raw: dict[str, Any], entry: dict[str, Any], name: str, pointer: str, place: Place) -> list[Task]:
        """The steps of an entry that may hold others, in ``children`` or as blocks of its content."""
        children = _children(entry)
        if children and not isinstance(entry["children"], list):
            self.notes.warn("R66", pointer, "children is no array (VAC s3.8); what stands there is read as one child.")
        derived = _derived(entry, children)
        if entry["type"] == "user" and _only_wraps_results(entry, children, derived):
            at = self.clock.read(entry.get("timestamp"), pointer).at or place.inherited
            frame = {key: value for key, value in raw.items() if key != "children"}
            below = Place(place.parent, place.level + 1, at, [frame])
        else:
            step = self._step(entry, name, pointer, place)
            if not (step.text or children or derived) and step.kind in SPOKEN:
                self._note_empty(entry, pointer)
            below = Place(step, place.level + 1, step.at)
        for block in derived:
            self._derive(block, pointer, below)
        return [(child, f"{pointer}/children/{number}", below) for number, child in enumerate(children)][::-1]

    def _with_text_ids(self, entry: dict[str, Any], pointer: str) -> dict[str, Any]:
        """Ids are texts (VAC s3.8); where a recorder wrote numbers, entries would not find each other."""
        odd = {name: str(entry[name]) for name in IDS if type(entry.get(name)) is int}
        self.notes.warn(
            "R66", pointer, f"The {' and the '.join(odd)} of this entry is a number; read as text.", "number"
        )
        return entry | odd

    def _step(self, entry: dict[str, Any], name: str, pointer: str, place: Place) -> Step:
        above, level, inherited, wrapper = place
        step = Step("unknown", pointer, name, above, level, {}, {})  # by keyword it takes 0.2 µs more
        if found := plain_time(entry.get("timestamp")):
            step.at, plain = found
            if not plain:
                step.for_writer["timestamp"] = entry["timestamp"]
        else:
            self.clock.assign_time(step, entry, inherited)
        make(step, entry, above, self.people, self.ids)
        if step.kind == "unknown" and extension.KIND not in step.own:
            self._note_unknown(entry, pointer)
        if "token-usage" in entry or "model-id" in entry or "native" in step.for_writer:
            self.tally.read_usage(step, entry)
        if step.tool is not None:
            self.pairs.add_step(step)
        self._doubles.mark_double(step)
        step.for_writer["id"] = name
        if level:
            step.for_writer["level"] = level
        if wrapper:
            step.for_writer["wrapper"] = wrapper.pop()
        if name:
            self.ids.setdefault(name, step)
        if "parent-id" in entry and (parent_id := step.for_writer.get("parent_id")):
            self._parents.append((parent_id, pointer))
        self.steps.append(step)
        return step

    def _note_unknown(self, entry: dict[str, Any], pointer: str) -> None:
        kind = shown(entry["type"])
        subject = "A user entry without content" if entry["type"] == "user" else f"An entry of the unknown type {kind}"
        self.notes.warn("R67", pointer, f"{subject}: it is kept and shown as it is.", kind)

    def _note_empty(self, entry: dict[str, Any], pointer: str) -> None:
        """A message whose words nobody found, with what it has instead."""
        if entry.get("encrypted") or isinstance(entry.get("content"), Elided) or has_media(entry.get("content")):
            return
        others = sorted(name for name, value in entry.items() if name not in TOLD and value not in EMPTY)
        said = f"; it has {', '.join(shown(name) for name in others[:8])}" if others else ""
        message = f"A {text_of(entry['type'])} entry has no words in a member that is known{said}. It is shown empty."
        self.notes.info("R67", pointer, message, "empty")

    def _derive(self, block: Block, pointer: str, place: Place) -> None:
        """A content block that no child repeats is an event; the writer finds it in its message again."""
        wrapper = place.wrapper[0] if place.wrapper else None
        step = self._step(block.entry, "", f"{pointer}/{block.place}", place)
        step.for_writer = {"id": "", "derived": True, **({"wrapper": wrapper, "level": place.level} if wrapper else {})}

    def _is_copy(self, name: str, is_same: bool, pointer: str) -> bool:
        """The same entry twice (traces for single calls may overlap): the first is kept."""
        if is_same:
            self.notes.info("R69", pointer, f"Entry {shown(name)} is a copy of an earlier one and is left out.", "copy")
            return True
        self.notes.warn(
            "R69", pointer, f"The entry id {shown(name)} stands for more than one entry; both are kept.", "id"
        )
        return False

    def _finish(self) -> None:
        for parent_id, pointer in self._parents:
            if parent_id not in self._raws:
                self.notes.warn(
                    "R72",
                    pointer,
                    f"parent-id {shown(parent_id)} leads to no entry of this trace: part of it may be missing.",
                    "parent",
                )
        self.pairs.finish()
        self.tally.finish()


def _holds_events(entry: dict[str, Any]) -> bool:
    return entry["type"] in ("assistant", "tool-call") and not HOLDING.isdisjoint(entry)


def _children(entry: dict[str, Any]) -> list[dict[str, Any]]:
    children: Json = entry.get("children")
    if children in EMPTY or isinstance(children, Elided):
        return []
    children = children if isinstance(children, list) else [children]
    return [child if isinstance(child, dict) else {"type": "not-an-object", "value": child} for child in children]


def _derived(entry: dict[str, Any], children: list[dict[str, Any]]) -> list[Block]:
    """Native blocks that ``children`` do not repeat."""
    if entry["type"] not in ("user", "assistant", "tool-call"):
        return []
    blocks = inner_blocks(entry)
    if not blocks or not children:
        return blocks
    folded = [fold(child) for child in children]
    child_calls = {(text_of(child["type"]), text_of(child.get("call-id"))) for child in folded}
    # Thoughts have no call id to be matched by, so one told as a child stands for all.
    thinks = any(child["type"] == "reasoning" for child in folded)
    return [
        block
        for block in blocks
        if (block.entry["type"], text_of(block.entry.get("call-id"))) not in child_calls
        and not (block.entry["type"] == "reasoning" and thinks)
    ]


def _only_wraps_results(entry: dict[str, Any], children: list[dict[str, Any]], derived: list[Block]) -> bool:
    """Does this user entry only wrap tool results (rule R70)?"""
    inner = [text_of(fold(child)["type"]) for child in children] + [block.entry["type"] for block in derived]
    return (
        bool(inner) and all(kind == "tool-result" for kind in inner) and not visible_text(entry.get("content")).strip()
    )
