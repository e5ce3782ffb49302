"""One pass over the lines of a transcript, whatever tool wrote it: the session first, then the events.

A format subclasses ``Reading`` and says what a line means; memory stays flat however long the file is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from ...drafts import Draft, EventDraft, Finding, FormatError, SessionDraft
from .calls import Calls
from .facts import Facts
from .lines import Item, Line, digest
from .times import parse, plain_time
from .values import bounded, forget_oldest, text_of

BUFFERED_LINES = 200
BUFFERED_BYTES = 8 * 1024 * 1024
"""Lines held back until one of them says which session it is."""
FINDINGS_PER_RULE = 49
"""Listed one by one; the fiftieth says how many more there are."""
RAW_LIMIT = 64 * 1024
"""Bytes of an unknown line that are copied into its event; more can be read from the source document."""
TYPES = 50
REMEMBERED = 4096
"""Lines in which a repeat is looked for; equal bytes with equal times stand close together."""


class Findings:
    """Filter for findings: passes at most ``FINDINGS_PER_RULE`` of a rule on and counts the others."""

    def __init__(self, name: str) -> None:
        """``name`` is the format's, with which its rules begin."""
        self._name = name
        self._counts: dict[str, int] = {}
        self._types: dict[str, tuple[str, int]] = {}

    def limit(self, finding: Finding | None) -> Iterator[Finding]:
        """The finding, unless there were too many like it."""
        if finding is None:
            return
        count = self._counts[finding.rule] = self._counts.get(finding.rule, 0) + 1
        if count <= FINDINGS_PER_RULE:
            yield finding

    def unknown(self, what: str, pointer: str) -> None:
        """Count something of a type that is not known."""
        # A hostile file may invent a type per line; TYPES bounds the table.
        what = what if what in self._types or len(self._types) < TYPES else "others"
        first, count = self._types.get(what, (pointer, 0))
        self._types[what] = first, count + 1

    def close(self) -> Iterator[Finding]:
        """One finding for each unknown type, and one for each rule that was cut short."""
        for what, (first, count) in self._types.items():
            yield Finding(
                f"{self._name}.unknown-type",
                "warning",
                first,
                f"{what}: not known to this reader, kept as it is ({'once' if count == 1 else f'{count} times'})",
            )
        for rule, count in self._counts.items():
            if count > FINDINGS_PER_RULE:
                yield Finding(rule, "info", "", f"{count - FINDINGS_PER_RULE} more of these are not listed")


class Reading:
    """The state of one file while it is read. Nothing in it grows with the file."""

    name: str
    title: str

    def __init__(self) -> None:
        self.findings = Findings(self.name)

    def note_session(self, line: Line) -> bool:
        """Take session facts from a line. Returns whether the session and its place are known now."""
        raise NotImplementedError

    def fix_session_id(self) -> None:
        """Fix the session's id, because the first events are about to go out."""

    def assign_key(self, line: Line) -> Iterable[Finding]:
        """Give a line its key, and its depth where it has one."""
        raise NotImplementedError

    def events(self, line: Line) -> Iterable[Draft]:
        """Events that a line tells of."""
        raise NotImplementedError

    def told(self, line: Line) -> Iterable[Draft]:
        """The events of a line as they go out."""
        return self.events(line)

    def closing(self) -> Iterable[Finding]:
        """Findings that can only be made at the end of the file."""
        return ()

    def session(self, *, complete: bool) -> SessionDraft:
        """The session as known before its first event, and once more at the end of the file."""
        raise NotImplementedError

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The drafts of a file. Raises ``FormatError`` when it holds no JSON object among its first lines."""
        items = iter(items)
        first_items = list(self._first_items(items))
        self.fix_session_id()
        # Refused only now: a transcript may begin with broken lines, and is still one.
        if not any(isinstance(item, Line) for item in first_items):
            raise FormatError(
                f"it is no {self.title} transcript: none of its first {BUFFERED_LINES} lines is a JSON object"
            )
        yield self.session(complete=False)
        for item in chain(first_items, items):
            if isinstance(item, Line):
                if doubts := self.timed(item):
                    yield from doubts
                if odd := self.assign_key(item):
                    yield from odd
                yield from self.told(item)
            elif isinstance(item, Finding):
                yield from self.findings.limit(item)
            else:
                yield item
        for finding in self.closing():
            yield from self.findings.limit(finding)
        yield from self.findings.close()
        yield self.session(complete=True)

    def unknown(
        self, line: Line, what: str, value: Any = None, *, more: dict[str, Any] | None = None, **place: Any
    ) -> EventDraft:
        """The event of a line, or of one block of it, that nobody can read: raw, and counted."""
        value = line.value if value is None else value
        self.findings.unknown(what, line.pointer)
        data = {"type": text_of(value.get("type"))[:100] or None, **(more or {})}
        # A larger line stays readable in the source document, by its offset and length.
        if len(line.raw) <= RAW_LIMIT:
            data["raw"] = bounded(value, len(line.raw))
        return line.event("unknown", actor=("unknown", ""), data=data, **place)

    def _first_items(self, items: Iterator[Item]) -> Iterator[Item]:
        """First items, up to a line that tells the session and where it runs."""
        size = 0
        for count, item in enumerate(items, 1):
            yield item
            if isinstance(item, Line):
                size += len(item.raw)
                item.at, _ = parse(item.value.get("timestamp"))
                if self.note_session(item):
                    return
            if count >= BUFFERED_LINES or size >= BUFFERED_BYTES:
                return

    def timed(self, line: Line) -> Iterable[Finding]:
        """Set the time of a line; a finding when the time is doubtful."""
        stamp = line.value.get("timestamp")
        if plain := plain_time(stamp):  # as nearly all are
            line.at = plain[0]
        elif stamp:
            line.at, doubt = parse(stamp)
            if doubt:
                return self.findings.limit(Finding(f"{self.name}.time", "info", line.pointer, doubt))
        return ()


class Keys:
    """Keys of lines, the same each time a file is read, also when it has grown."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        self._previous = b""

    def named(self, own: str, line: Line) -> str:
        """The line's own id. Where one id stands on several lines, their bytes tell the later ones apart."""
        found = digest(line.raw)[:12]
        if self._first.setdefault(own, found) != found:
            return f"{own}:{found}"
        # Bounded, so that memory stays flat however long the file is.
        forget_oldest(self._first, REMEMBERED)
        return own

    def derived(self, kind: str, line: Line) -> str:
        """The key of a line without an id: its bytes, and how often the same bytes were there before.

        A line without a time is known by the line before it too: ``{"type": "saved"}`` may come a thousand times.
        """
        # The time makes equal lines differ; without one only the neighbour does.
        name = digest(line.raw if line.at else line.raw + self._previous)
        count = self._seen.pop(name, 0)
        self._seen[name] = count + 1
        forget_oldest(self._seen, REMEMBERED)
        key = f"{kind[:40]}:{name}#{count}" if count else f"{kind[:40]}:{name}"
        self._previous = key.encode(errors="replace")
        return key


class FactsReading(Reading):
    """A reading of a file that holds one session, which ``Facts`` collects; its lines may have no ids."""

    def __init__(self) -> None:
        super().__init__()
        self.facts = Facts(self.name, self.title)
        self.calls = Calls()
        self._keys = Keys()

    def session(self, *, complete: bool) -> SessionDraft:
        return self.facts.draft(complete=complete)


def unknown_type(kind: Any) -> str:
    """Name of a line type in a finding."""
    return f"line type {kind[:100]!r}" if isinstance(kind, str) else "line without a type"


def unknown_event(
    findings: Findings, line: Line, what: str, value: dict[str, Any] | None = None, *, path: str = "", **place: Any
) -> EventDraft:
    """The event of a record, or of one part of it (``value`` at ``path``), that nobody can read."""
    value = line.value if value is None else value
    findings.unknown(what, line.pointer + path)
    data: dict[str, Any] = {"type": text_of(value.get("type"))[:100] or None}
    if len(line.raw) <= RAW_LIMIT:
        data["raw"] = bounded(value, len(line.raw))
    return line.event("unknown", at_path=path, actor=("unknown", ""), data=data, **place)
