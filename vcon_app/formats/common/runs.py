"""Files that are one run of an agent: a document with lists of steps or messages, or the bare list of its messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import BinaryIO, Protocol

from ...drafts import Draft, Finding
from .lines import Line
from .reading import Findings
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
