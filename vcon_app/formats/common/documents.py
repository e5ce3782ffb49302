"""Helpers of readers of whole documents: parts with keys of their own, doubts about times, stated dollars.

A document is rewritten whole when its session goes on, and the importer compares keys place by place: a key is
the natural id of a part with a fingerprint of what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, BinaryIO

from ...drafts import EventDraft, Finding, FormatError, Severity
from .calls import Calls
from .jsonio import dumps
from .lines import Line, digest
from .reading import Findings
from .records import part_of
from .times import parse
from .values import number_of

FINGERPRINT = 12
"""Hex digits of a part's content in its key."""
KEY_LIMIT = 400
"""Characters of an id in a key; those of nested parts stand behind one another."""
MOST_DOLLARS = 10**6
"""More than any response costs: a larger number in a file is nonsense and counts as not stated."""


def read_whole(source: BinaryIO, largest: int, title: str) -> bytes:
    """The bytes of a document that is held in memory. Raises ``FormatError`` for more than ``largest`` of them."""
    data = source.read(largest + 1)
    if len(data) > largest:
        raise FormatError(f"a {title} session in one document of more than {largest / 1e6:,.0f} MB is not read")
    return data


class Document:
    """The state of one session while its document is read: what it called, and which keys are given away."""

    def __init__(self, name: str, findings: Findings) -> None:
        """``name`` is the format's, with which the rules of its findings begin."""
        self.name = name
        self.findings = findings
        self.calls = Calls()
        self._keys: dict[str, int] = {}

    def part(self, whole: Line, value: dict[str, Any], path: str, id: str, essence: Any = None) -> Line:
        """An object inside of the document, at the whole's time and depth, with a key of its own.

        ``essence`` is what makes it the same in a later version of the document, by default all of it.
        """
        line = part_of(whole, value, path)
        line.parent, line.data = whole.parent, whole.data
        line.key = self.key(id, line.raw if essence is None else dumps(essence))
        return line

    def key(self, id: str, content: bytes) -> str:
        """``<id>:<fingerprint>``, and ``#<count>`` behind it when the same stood there before."""
        key = f"{id[:KEY_LIMIT]}:{fingerprint(content)}"
        count = self._keys[key] = self._keys.get(key, 0) + 1
        return key if count == 1 else f"{key}#{count - 1}"

    def odd(self, rule: str, pointer: str, message: str, severity: Severity = "info") -> Iterator[Finding]:
        """A finding of this format, unless there were too many like it."""
        yield from self.findings.limit(Finding(f"{self.name}.{rule}", severity, pointer, message))

    def timed(self, line: Line, stamp: Any, path: str) -> Iterator[Finding]:
        """Set the time of a part from the ISO text that stands at ``path`` in it."""
        if stamp is not None and stamp != "":
            line.at, doubt = parse(stamp)
            if doubt:
                yield from self.odd("time", line.pointer + path, doubt)


def fingerprint(content: bytes) -> str:
    """A fingerprint that tells this content from other content in the same place."""
    return digest(content)[:FINGERPRINT]


def dollars(value: Any) -> Decimal | None:
    """US dollars that the recorder states for a response, ``None`` for what can be no price."""
    number = number_of(value, MOST_DOLLARS)
    return None if number is None else Decimal(str(number))


def with_data(event: EventDraft, data: dict[str, Any]) -> EventDraft:
    """The event with ``data`` added; members that it has already win."""
    return replace(event, data=data | event.data) if data else event
