"""One pass over the events of a file, which may be those of several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...drafts import Draft, EventDraft, Finding
from ..common.calls import ID_LIMIT, Calls
from ..common.facts import Facts
from ..common.jsonio import dumps
from ..common.lines import Item, Line, digest
from ..common.reading import BUFFERED_LINES, Findings, Keys, unknown_event, unknown_type
from ..common.records import part_of
from ..common.session_ids import SessionIds
from ..common.times import from_epoch, parse
from ..common.values import list_of, short_text, text_of
from .fold import Fold, Open, What

Handler = Callable[["Reading", Line], Iterable[EventDraft]]
Closer = Callable[["Reading", Line, Open], Iterable[EventDraft]]
SHOWN = 200


class Reading:
    """The state of one file; what concerns a thread is made anew with each."""

    def __init__(self, name: str, handlers: dict[str, Handler], start: Handler, closers: dict[What, Closer]) -> None:
        """``start`` reads the input of a run, which has no type."""
        self.name = name
        self.findings = Findings(name)
        self.doubts: list[Finding] = []
        """What is odd about the event that is being read."""
        self.fold = Fold()
        self.run_id = ""
        self._handlers, self._start, self._closers = handlers, start, closers
        self._ids = SessionIds(name)
        self._thread: str | None = None
        self._list = ""
        self._growing = False
        self._new_thread("")

    def _new_thread(self, thread: str) -> None:
        self.facts = Facts(self.name, "", thread)
        self.calls = Calls()
        self.told: dict[str, int] = {}
        """Messages told so far (by id, else by content) and how often."""
        self.called: set[str] = set()
        """Ids of tool calls told so far."""
        self.answered: set[str] = set()
        """Those of them whose result was told."""
        self.asked: dict[str, str] = {}
        """Interrupt -> key of the event that told it."""
        self.subagents: dict[str, tuple[str, str]] = {}
        """Run of a sub-agent -> key of the event that started it, and its name."""
        self._keys = Keys()

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The drafts of the file."""
        items = _unpacked(items)
        held = list(_items_of_first_events(items))
        first = next((_thread_of(item) for item in held if isinstance(item, Line) and _thread_of(item)), "")
        for item in held:
            yield from self._item(item, first)
        for item in items:
            yield from self._item(item, "")
        yield from self._close_file()

    def assign_key(self, line: Line, name: str) -> None:
        """Set the key of a line, when the thing it tells of is complete."""
        line.key = self._keys.derived(name, line)

    def remember_message(self, role: str, id: str, content: Any) -> None:
        """Remember a message by its id and by its content, because it may come again without the id."""
        for known in filter(None, (by_id(id), by_content(role, content))):
            self.told[known] = self.told.get(known, 0) + 1

    def closed(self, ended: Open | None) -> Iterator[EventDraft]:
        """The event of something that is complete."""
        if ended:
            whole = dumps([self.run_id, ended.id, ended.text, ended.about])
            line = replace(ended.line, raw=whole, offset=None)
            self.assign_key(line, ended.id or ended.what)
            self.facts.model = ended.about.get("model") or self.facts.model
            yield from self._closers[ended.what](self, line, ended)

    def close_all(self) -> Iterator[EventDraft]:
        """Close a run, and all that is open in it."""
        for ended in self.fold.close_all():
            yield from self.closed(ended)

    def _item(self, item: Item, thread: str) -> Iterator[Draft]:
        if isinstance(item, Finding):
            self._growing = self._growing or "cut-off" in item.rule
            yield from self.findings.limit(item)
            return
        pointer = item.pointer
        self._growing = self._growing or pointer.startswith("L")
        yield from self._enter(item, _thread_of(item) if isinstance(item, Line) else "", thread)
        if isinstance(item, EventDraft):
            yield item
        else:
            yield from self._events(item)

    def _enter(self, item: Line | EventDraft, thread: str, first: str) -> Iterator[Draft]:
        """The session that an item belongs to: that of its thread, else the one before, else a nameless one."""
        place = item.pointer.rpartition("/")[0] if item.pointer.startswith("/") else ""
        if self._thread is not None and place != self._list and not thread:
            thread = f"{self.name}-{place.strip('/')}"
        if self._thread is None:
            thread = thread or first or (f"{self.name}-{item.key[:ID_LIMIT]}" if isinstance(item, EventDraft) else "")
        if self._thread is None or (thread and thread != self._thread):
            yield from self._close_thread()
            self._thread = thread
            self._new_thread(thread)
            if isinstance(item, Line):
                self.facts.note_line(item)
            yield from self._ids.begin(self.facts.external_id, item.pointer)
            yield replace(self.facts.draft(complete=False), external_id=self._ids.current)
        elif place != self._list:
            yield from self.close_all()
        self._list = place

    def _events(self, line: Line) -> Iterator[Draft]:
        kind = line.value.get("type")
        yield from self._timed(line)
        yield from self._nested(line)
        yield from self.closed(self.fold.ended_by(line))
        handler = self._handlers.get(kind) if isinstance(kind, str) else None
        if handler is None and kind is None and "messages" in line.value:
            handler = self._start
        if handler:
            yield from handler(self, line)
        else:
            self.assign_key(line, text_of(kind))
            yield unknown_event(self.findings, line, unknown_type(kind))
        for doubt in self.doubts:
            yield from self.findings.limit(doubt)
        self.doubts.clear()

    def _timed(self, line: Line) -> Iterator[Finding]:
        if (stamp := line.value.get("timestamp")) is not None:
            line.at = from_epoch(stamp, 1000) or parse(stamp)[0]
            if line.at is None:
                message = f"{short_text(stamp)} is no time in milliseconds"
                yield from self.findings.limit(Finding(f"{self.name}.time", "info", line.pointer, message))
        self.facts.at(line.at)

    def _nested(self, line: Line) -> Iterator[Finding]:
        """Events of a sub-agent's run stand one level deeper, below the event that started it."""
        run = text_of(line.value.get("subagentRunId"))
        if run in self.subagents:
            key, name = self.subagents[run]
            line.depth, line.parent, line.agent = 1, key, ("subagent", name)
        elif run and line.value.get("type") != "SUBAGENT_STARTED":  # its start stands in no recording of this run
            line.depth, line.agent = 1, ("subagent", run[:ID_LIMIT])
        yield from ()

    def _close_thread(self) -> Iterator[Draft]:
        if self._thread is not None:
            yield from self.close_all()
            yield replace(self.facts.draft(complete=True), external_id=self._ids.current)

    def _close_file(self) -> Iterator[Draft]:
        if self._growing:
            for ended in self.fold.close_all():
                message = f"{ended.what} {ended.id[:60]!r} was begun and not ended; it begins {ended.text[:SHOWN]!r}"
                finding = Finding(f"{self.name}.unfinished", "warning", ended.line.pointer, message)
                yield from self.findings.limit(finding)
        yield from self._close_thread()
        yield from self.findings.close()


def by_id(id: str) -> str:
    """The key of a message with an id, by which a repeat is recognized."""
    return f"id {id}" if id else ""


def by_content(role: str, content: Any) -> str:
    """The key of a message without an id, by which a repeat is recognized."""
    return f"content {digest(dumps([role, content]))}"


def _thread_of(line: Line) -> str:
    """The thread that an event begins or goes on with: the start of a run names it, and its input."""
    if line.value.get("type") in ("RUN_STARTED", None):
        return text_of(line.value.get("threadId"))
    return ""


def _items_of_first_events(items: Iterator[Item]) -> Iterator[Item]:
    for count, item in enumerate(items, 1):
        yield item
        if count >= BUFFERED_LINES or (isinstance(item, Line) and _thread_of(item)):
            return


def _unpacked(items: Iterable[Item]) -> Iterator[Item]:
    """Events out of an object that holds lists of them by name."""
    for item in items:
        lists: dict[str, Any] = {}
        if isinstance(item, Line) and "type" not in item.value and "messages" not in item.value:
            lists = {key: value for key, value in item.value.items() if _holds_events(value)}
        if not lists or not isinstance(item, Line):
            yield item
            continue
        for key, values in lists.items():
            pointer = "/" + key.replace("~", "~0").replace("/", "~1")
            yield from (
                part_of(item, value, f"{pointer}/{n}") for n, value in enumerate(values) if isinstance(value, dict)
            )


def _holds_events(value: Any) -> bool:
    return any(isinstance(item, dict) and isinstance(item.get("type"), str) for item in list_of(value))
