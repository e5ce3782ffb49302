"""Check after a redaction: whether anything that was removed still stands somewhere in the file."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import orjson

from ....drafts import Events, Json, SessionDraft
from ...common import origins
from ...common.values import dict_of, text_or_none
from ..file import ANALYSIS_MEMBERS, ARRAYS, ATTACHMENT_MEMBERS, DIALOG_MEMBERS, PARTY_MEMBERS
from ..trace import ALL_MEMBERS, extension, kept_by_reader
from ..writing import RECORD_MEMBERS, SESSION_MEMBERS, TOP_MEMBERS, Plan, make_plan

SHORTEST = 8
"""Characters of a text, or of a line of one, from which its return is no accident."""
NAME = 4
"""The same of names, addresses and numbers of persons."""
WORD = 2
"""The same of words that somebody wanted removed wherever they stand."""
MOST = 200_000
"""Texts and lines that are looked for: a removed log of 50 MB has more, and the rest of it is said to be unchecked."""


FIXED = frozenset({"type", "role", "purpose", "mediatype", "encoding", "format", "status", extension.KIND})
"""Members whose values are words of the drafts."""
VOCABULARY = frozenset(
    (*PARTY_MEMBERS, *DIALOG_MEMBERS, *ANALYSIS_MEMBERS, *ATTACHMENT_MEMBERS, *RECORD_MEMBERS, *SESSION_MEMBERS,
     *ALL_MEMBERS, *TOP_MEMBERS, *ARRAYS,
     extension.KIND, extension.ACTOR, extension.DATA, extension.DEPTH, extension.TOOL, extension.GENERATED,
     extension.ORIGIN,
     extension.SESSION, "session", "entries", "body")
)  # fmt: skip
_ITEM = r"/(?:dialog|attachments|parties|analysis)/\d+"
_TRACE = r"/analysis/\d+/body(?:/session(?:/entries/\d+(?:/children/\d+)*)?)?"
_STRUCTURE = re.compile(f"(?:{_ITEM}|{_TRACE})?/[^/]+")
"""Members that the drafts name, and not those inside of what somebody said: removed words are not looked for there."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:[Zz]|[+-]\d\d:?\d\d)?")
"""A moment alone: an attachment begins when its session does, so that the same one stands where nothing was removed."""


@dataclass(frozen=True, slots=True)
class Leak:
    """Removed words that still stand in the file."""

    pointer: str
    """Where in the file, as a JSON pointer."""
    words: str
    """The words that were found, cut at 80 characters."""
    source: str
    """Where they were removed: the number of an event, or a name of the whole."""


class _Found(NamedTuple):
    words: str
    source: str


class Removed:
    """The texts that must not stand in a file any more, found in one pass over every string of it."""

    def __init__(self) -> None:
        self._starts: dict[int, dict[str, dict[int, dict[str, str]]]] = {SHORTEST: {}, NAME: {}, WORD: {}}
        """Length of a beginning -> beginning -> length -> text -> where it was removed.

        Lines of a log begin alike by the thousand; their lengths are few.
        """
        self._texts = 0
        self.unchecked = 0
        """Texts and lines that there were too many of."""

    def add(self, source: int | str, value: Json, shortest: int = SHORTEST) -> None:
        """A text, or every text and long number in a JSON value; each as a whole and line by line."""
        for words in _strings(value):
            for line in {words.strip(), *map(str.strip, words.splitlines())}:
                if len(line) >= shortest and sum(map(str.isalnum, line)) >= NAME and not _TIME.fullmatch(line):
                    self._add(line, str(source), shortest)

    def add_words(self, words: str) -> None:
        """Words that were looked for, however short."""
        if len(words) >= WORD:
            self._add(words, words, WORD)

    def _add(self, line: str, source: str, shortest: int) -> None:
        if self._texts >= MOST:
            self.unchecked += 1
            return
        folded = line.casefold()
        rows = self._starts[shortest].setdefault(folded[:shortest], {}).setdefault(len(folded), {})
        self._texts += folded not in rows
        rows.setdefault(folded, source)

    def leaks(self, document: Json) -> Iterator[Leak]:
        """Every place in a document that still says it; in content under base64url, too."""
        for pointer, words in _places(document, ""):
            for found in self._find_in(words):
                yield Leak(pointer, found.words[:80], found.source)

    def _find_in(self, words: str) -> Iterator[_Found]:
        folded = words.casefold()
        told: set[str] = set()
        for length, starts in self._starts.items():
            for at in range(len(folded) - length + 1) if starts else ():
                rows = starts.get(folded[at : at + length])
                for size, sources in rows.items() if rows else ():
                    row = folded[at : at + size]
                    if row in sources and row not in told:
                        told.add(row)
                        yield _Found(row, sources[row])


def _strings(value: Json) -> Iterator[str]:
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            stack += one.values()
        elif isinstance(one, list):
            stack += one
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield str(one)


def _places(document: Json, pointer: str) -> Iterator[tuple[str, str]]:
    """Every string, long number and member name with its place. Without recursion: nesting is no danger."""
    stack: list[tuple[str, Any]] = [(pointer, document)]
    while stack:
        at, value = stack.pop()
        if isinstance(value, dict):
            for name, inner in value.items():
                place = f"{at}/{name.replace('~', '~0').replace('/', '~1')}"
                is_ours = name in VOCABULARY and _STRUCTURE.fullmatch(place) is not None
                if not is_ours:
                    yield place, name
                if is_ours and name == extension.ORIGIN:
                    stack.append((place, origins.names_in(inner)))
                elif is_ours and name == extension.SESSION:
                    stack.append((place, extension.without_phase(inner)))
                elif not (is_ours and name in FIXED):
                    stack.append((place, inner))
            yield from _decoded(value, at)
        elif isinstance(value, list):
            stack += ((f"{at}/{number}", inner) for number, inner in enumerate(value))
        elif value is not None and not isinstance(value, bool):
            yield at, str(value)


def _decoded(item: dict[str, Any], at: str) -> Iterator[tuple[str, str]]:
    body = item.get("body")
    if item.get("encoding") == "base64url" and isinstance(body, str):
        try:
            yield f"{at}/body", base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)).decode("utf-8", "replace")
        except binascii.Error:
            return


def find_leaks(data: bytes, removed: Removed) -> list[Leak]:
    """Leaks in a written vCon, in the order of the file."""
    found = list(removed.leaks(orjson.loads(data)))
    return sorted(found, key=lambda leak: _sortable(leak.pointer))


def _sortable(pointer: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in pointer.split("/")]


class Where:
    """Map of places in a written vCon to the numbers of the events that stand there."""

    def __init__(self, session: SessionDraft, events: Events, options: dict[str, Any], document: Json) -> None:
        """``session`` and ``events`` as the writer was given them, ``document`` what it wrote."""
        plan = make_plan(session, events, options)
        self._document = document
        self._ids: dict[str, int] = {}
        self._items: dict[tuple[str, int], int] = {}
        old = {"dialog": plan.old_dialogs, "attachments": sorted([*_kept(plan, "attachments"), *plan.old_attachments])}
        self._old = {"attachments": old["attachments"], "analysis": self._analyses(plan)}
        self._kept = {name: {*_kept(plan, name)} for name in self._old}
        new = {name: count(len(indices)) for name, indices in old.items()}
        places = {name: {index: place for place, index in enumerate(indices)} for name, indices in old.items()}
        for number, event in enumerate(events, 1):
            if plan.is_entry(event):
                self._ids.setdefault(plan.entry_id(event, number), number)
            for name, member, is_one in (
                ("dialog", "dialog", plan.is_dialog), ("attachments", "attachment", plan.is_attachment)
            ):  # fmt: skip
                if is_one(event):
                    held = dict_of(kept_by_reader(event).get(member))
                    self._items[name, places[name][held["i"]] if held else next(new[name])] = number

    def _analyses(self, plan: Plan) -> list[int]:
        """Of each analysis its index in the imported file; the trace of another has -1."""
        place = dict_of(plan.record.get("trace")).get("i", -1)
        return sorted([*_kept(plan, "analysis"), *([place] if plan.traced else [])])

    def index_in_file(self, name: str, place: int) -> int | None:
        """Of an attachment or analysis that is no event: its index in the imported file."""
        found = self._old[name][place] if place < len(self._old[name]) else None
        return found if found in self._kept[name] else None

    def event(self, pointer: str) -> int | None:
        """The number of the event that a pointer leads into."""
        parts = pointer.split("/")[1:]
        if len(parts) > 1 and (parts[0], int(parts[1]) if parts[1].isdecimal() else -1) in self._items:
            return self._items[parts[0], int(parts[1])]
        value, found = self._document, None
        for part in parts:
            if isinstance(value, list):
                value = value[int(part)]
            elif isinstance(value, dict):
                value = value.get(part.replace("~1", "/").replace("~0", "~"))
            if isinstance(value, dict) and "type" in value and (name := text_or_none(value.get("id"))):
                found = self._ids.get(name, found)
        return found


def _kept(plan: Plan, name: str) -> list[int]:
    return [one["i"] for one in plan.record.get(name) or []]
