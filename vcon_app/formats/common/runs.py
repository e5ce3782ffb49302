"""Files that are one run of an agent: a document with lists of steps or messages, or the bare list of its messages; and
those of which each record is a session by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import BinaryIO, Protocol

from ...drafts import Draft, Finding
from .lines import Item, Line
from .reading import Findings, Reading
from .records import records


class Run(Protocol):
    """Reads one run; ``place`` is where in the file the messages stand."""

    def __init__(self, line: Line, findings: Findings, place: str = ...) -> None: ...
    def drafts(self) -> Iterator[Draft]:
        """The session and its events."""
        ...


def runs(source: BinaryIO, name: str, run: type[Run], lists: Collection[str], messages: str) -> Iterator[Draft]:
    """Drafts of each run in a file of the format ``name``.

    A document is a run when one of ``lists`` is a list in it. Objects with a role are the messages of one more run:
    it is read as if they stood under the key ``messages``. Raises ``FormatError`` for what is no JSON.
    """
    findings = Findings(name)
    bare: list[Line] = []
    for item in records(source, name):
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line) and any(isinstance(item.value.get(key), list) for key in lists):
            yield from run(item, findings).drafts()
        elif isinstance(item, Line) and isinstance(item.value.get("role"), str):
            bare.append(item)
        elif isinstance(item, Line):
            message = f"it is no message and has no {' or '.join(sorted(lists))}; left out"
            yield from findings.limit(Finding(f"{name}.no-run", "warning", item.pointer, message))
    if bare:
        whole = replace(bare[0], value={messages: [line.value for line in bare]}, pointer="")
        yield from run(whole, findings, "").drafts()
    yield from findings.close()


def alone(
    items: Iterable[Item], name: str, opened: Callable[[Line], Iterator[Item] | None], begin: Callable[[], Reading]
) -> Iterator[Draft]:  # fmt: skip
    """Drafts of each record that is a session by itself, one in memory at a time.

    ``opened`` gives what is in such a record, ``None`` for any other. What cannot be read and stands before the first
    of them belongs to no session, and is a finding only.
    """
    findings = Findings(name)
    begun = False
    for item in items:
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line) and (inner := opened(item)) is not None:
            reading = begin()
            reading.findings = findings
            begun = True
            yield from reading.run(inner)
        elif isinstance(item, Line):
            message = "it is no session, as the records beside it are; left out"
            yield from findings.limit(Finding(f"{name}.no-run", "warning", item.pointer, message))
        elif begun:
            yield item
