"""One pass over the lines of a file: gives each its place in the session and asks who reads its type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...drafts import Draft, EventDraft, Finding, FormatError
from ..times import parse
from .facts import ID_LIMIT, Facts, session_of
from .lines import Item, Line, digest
from .links import Links
from .usage import Outputs
from .values import bounded, dict_of, text_of

AGENT = "Claude Code"
BUFFERED_LINES = 200
BUFFERED_BYTES = 8 * 1024 * 1024
"""Lines held back until one of them says which session it is; summaries may stand before it."""
FINDINGS_PER_RULE = 49
"""Listed one by one; the fiftieth says how many more there are."""
RAW_LIMIT = 64 * 1024
"""Bytes of an unknown line that are copied into its event; more can be read from the source document."""
TYPES = 50

Handler = Callable[["Reading", Line], Iterable[EventDraft]]


class Findings:
    """Passes findings on, at most ``FINDINGS_PER_RULE`` of a rule, and counts the others."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._types: dict[str, tuple[str, int]] = {}

    def let(self, finding: Finding | None) -> Iterator[Finding]:
        """The finding, unless there were too many like it."""
        if finding is None:
            return
        count = self._counts[finding.rule] = self._counts.get(finding.rule, 0) + 1
        if count <= FINDINGS_PER_RULE:
            yield finding

    def unknown(self, what: str, pointer: str) -> None:
        """Count something of a type that is not known."""
        what = what if what in self._types or len(self._types) < TYPES else "others"
        first, count = self._types.get(what, (pointer, 0))
        self._types[what] = first, count + 1

    def close(self) -> Iterator[Finding]:
        """One finding for each unknown type, and one for each rule that was cut short."""
        for what, (first, count) in self._types.items():
            yield Finding(
                "claude-code.unknown-type",
                "warning",
                first,
                f"{what}: not known to this reader, kept as it is ({count} times)",
            )
        for rule, count in self._counts.items():
            if count > FINDINGS_PER_RULE:
                yield Finding(rule, "info", "", f"{count - FINDINGS_PER_RULE} more of these are not listed")


class Reading:
    """The state of one file while it is read. Nothing in it grows with the file."""

    def __init__(self, handlers: dict[str, Handler], last_session: str = "") -> None:
        self.facts = Facts(last_session)
        self.links = Links()
        self.outputs = Outputs()
        self.findings = Findings()
        self.previous = ""
        """``uuid`` of the line before, to notice where the chain of parents jumps."""
        self._handlers = handlers

    def run(self, items: Iterable[Item]) -> Iterator[Draft]:
        """The drafts of a file. Raises ``FormatError`` when it holds no JSON object at all."""
        items = iter(items)
        held = list(self._hold(items))
        self.facts.settle()
        if not any(isinstance(item, Line) for item in held):
            raise FormatError(
                f"it is no Claude Code transcript: none of its first {BUFFERED_LINES} lines is a JSON object"
            )
        yield self.facts.first()
        for item in held:
            yield from self._item(item)
        for item in items:
            yield from self._item(item)
        yield from self.findings.let(self.outputs.finding())
        yield from self.findings.close()
        yield self.facts.last()

    def unknown(
        self, line: Line, what: str, value: Any = None, *, more: dict[str, Any] | None = None, **place: Any
    ) -> EventDraft:
        """The event of a line, or of one block of it, that nobody can read: raw, and counted."""
        value = line.value if value is None else value
        self.findings.unknown(what, line.pointer)
        data = {"type": text_of(value.get("type"))[:100] or None, **(more or {})}
        if len(line.raw) <= RAW_LIMIT:
            data["raw"] = bounded(value, len(line.raw))
        return line.event("unknown", actor=("unknown", ""), data=data, **place)

    def _hold(self, items: Iterator[Item]) -> Iterator[Item]:
        """The first items, up to a line that tells the session and where it runs."""
        size = 0
        for count, item in enumerate(items, 1):
            yield item
            if isinstance(item, Line):
                size += len(item.raw)
                item.at, _ = parse(item.value.get("timestamp"))
                self.facts.see(item)
                if self.facts.session and (item.value.get("cwd") or item.value.get("type") in ("user", "assistant")):
                    return
            if count >= BUFFERED_LINES or size >= BUFFERED_BYTES:
                return

    def _item(self, item: Item) -> Iterator[Draft]:
        if isinstance(item, Finding):
            yield from self.findings.let(item)
        elif isinstance(item, EventDraft):
            yield item
        else:
            yield from self._place(item)
            kind = item.value.get("type")
            handler = self._handlers.get(kind) if isinstance(kind, str) else None
            yield from handler(self, item) if handler else [self.unknown(item, _unknown_type(kind))]
            self.previous = text_of(item.value.get("uuid")) or self.previous

    def _place(self, line: Line) -> Iterator[Finding]:
        """Give a line its time, key and depth."""
        value = line.value
        stamp, uuid = value.get("timestamp"), value.get("uuid")
        if stamp:
            line.at, doubt = parse(stamp)
            if doubt:
                yield from self.findings.let(Finding("claude-code.time", "info", line.pointer, doubt))
        if isinstance(uuid, str) and 0 < len(uuid) <= ID_LIMIT:
            line.key = uuid
            self.facts.titles.see(uuid)
        else:
            line.key = self._derived_key(line)
        self.facts.see(line)
        session = session_of(value)
        if session and session != self.facts.session:
            yield from self.findings.let(self.facts.foreign(line, session))
        self._nest(line)

    def _derived_key(self, line: Line) -> str:
        """Without a uuid the bytes are the identity, and without a time also the line they follow:
        ``mode`` lines are equal each time a person goes back to a mode.
        """
        after = b"" if line.at else self.previous.encode(errors="replace")
        return f"{text_of(line.value.get('type'))[:40]}:{digest(line.raw + after)}"

    def _nest(self, line: Line) -> None:
        """Lines of a sub-agent stand one level deeper, below the call that started it."""
        value, facts = line.value, self.facts
        if facts.agent_id:
            line.agent = "subagent", AGENT
            line.depth = int(text_of(value.get("agentId")) not in ("", facts.agent_id))
        elif value.get("isSidechain") is True or (value.get("agentId") and value.get("isSidechain") is not False):
            call = self.links.of(value.get("parent_tool_use_id")) or self.links.side(
                line, dict_of(value.get("message")).get("content")
            )
            line.depth = call.depth + 1 if call else 1
            line.parent = call.key if call else None
            line.agent = "subagent", call.agent_type if call else ""
        else:
            line.agent = "agent", AGENT


def _unknown_type(kind: Any) -> str:
    return f"line type {kind[:100]!r}" if isinstance(kind, str) else "line without a type"
