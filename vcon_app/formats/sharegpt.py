"""Conversations in the shape of ShareGPT, as data for training keeps them: a conversation a record, in lines, a list or
one object. They have no times and no tokens, and who answered is said by ``model`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ..drafts import Draft
from .common.agents.chat import ChatReading
from .common.agents.turns import LISTS, messages_of, turns_in
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Item, Line, digest
from .common.records import records
from .common.runs import alone
from .common.values import scalars_of, text_of
from .contract import Spec

NAME = "sharegpt"
SPEC = Spec(name=NAME, title="ShareGPT conversations")
OF_HERMES = "completed"
"""Member of a run that Hermes Agent wrote."""


def detect(head: Head) -> bool:
    """By turns of ``from`` and ``value``, unless an agent says beside them that the run is its own."""
    if head.records:
        return any(turns_in(line) and OF_HERMES not in line for line in head.records[:3])
    told = any(isinstance(head.shape.get(f"{name}.item.from"), str) and f"{name}.item.value" in head.shape
               for name in LISTS)  # fmt: skip
    return told and OF_HERMES not in head.keys


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of each conversation, one in memory at a time. Raises ``FormatError``."""
    yield from alone(records(source, NAME), NAME, _opened, ShareGptReading)


def _opened(item: Line) -> Iterator[Item] | None:
    name = turns_in(item.value)
    return _items(item, name) if name else None


def _items(run: Line, name: str) -> Iterator[Item]:
    header = {key: value for key, value in run.value.items() if key != name}
    header |= {"session": f"{NAME}-{digest(dumps(run.value))}"}
    yield Line(header, run.pointer, dumps(header), run.offset, about_session=True)
    yield from messages_of(run, name)


class ShareGptReading(ChatReading):
    """The state of one conversation while it is read."""

    name = NAME
    title = "Agent"
    ids = ()
    stamps = ("timestamp", "created_at")

    def note(self, line: Line) -> None:
        value = line.value
        if "session" not in value:
            return
        self.claim(value["session"])
        self.facts.title = text_of(value.get("title")) or self.facts.title
        self.facts.model = text_of(value.get("model"))[:200] or self.facts.model
        self.facts.more |= scalars_of({"id": value.get("id"), "source": value.get("source")})

    def events(self, line: Line) -> Iterator[Draft]:
        value: dict[str, Any] = line.value
        if "session" not in value:
            yield from self.chat(line, value, model=self.facts.model)
        elif prompt := text_of(value.get("system")):
            yield line.event("system", prompt, at_path="/system")
