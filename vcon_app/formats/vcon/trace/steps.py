"""A step is an event in the making: it can still be moved, joined with a dialog and given an actor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from hashlib import blake2b
from typing import Any

import orjson

from ....drafts import ActorKind, EventDraft, Kind, ToolDraft, Usage
from ...common.values import dict_of
from ..file import dumps

NATIVE = "vcon"
"""Under this name ``EventDraft.data`` keeps what only the writer of this format needs.

``id``, ``parent_id``, ``timestamp``, ``type``: as given in the entry. ``level``: depth in ``children``.
``content``, ``blocks``, ``input``, ``status``, ``usage``, ``encrypted``: native forms of what the event holds.
``native``: unknown members. ``own``: names of our own members it was restored from. ``wrapper``: the user
entry around a tool result. ``derived``: taken from a content block of the entry before. ``dialog``,
``attachment``: ``{i, item, text}``, the object the event came from; ``was``: index of a dialog that is only
an event now. ``source``: "dialog", "thought", "analysis", "attachment" or "top" for events that were in no trace.
"""


LONGEST_ID = 200
_DIGEST = blake2b(digest_size=6)
"""Copied for each event, which is faster than a new one."""


@dataclass(slots=True, eq=False)
class Step:
    """Mutable until :meth:`freeze`; steps are compared by identity."""

    kind: Kind
    pointer: str
    id: str = ""
    parent: Step | None = None
    level: int = 0
    data: dict[str, Any] = field(default_factory=dict)
    """What every reader of the event may want to know."""
    for_writer: dict[str, Any] = field(default_factory=dict)
    """What only the writer wants, see :data:`NATIVE`."""
    at: datetime | None = None
    actor: tuple[ActorKind, str] = ("unknown", "")
    text: str = ""
    tool: ToolDraft | None = None
    model: str | None = None
    usage: Usage | None = None
    request: str | None = None
    cost: Decimal | None = None
    depth: int = 0
    unique: bool = True
    """The id stands for this step alone."""
    key: str = ""

    @property
    def own(self) -> Sequence[str]:
        """Our own members that this step was restored from, see ``extension``."""
        return self.for_writer.get("own", ())

    def freeze(self) -> EventDraft:
        """The event, which takes ``data`` over; the parent must have been frozen before."""
        tool = self.tool
        if tool is None:
            said = [self.kind, self.text, self.at]
        else:
            said = [
                self.kind, self.text, self.at, tool.call_id, tool.name, tool.arguments, tool.result, tool.status
            ]  # fmt: skip
        digest = _DIGEST.copy()  # 12 hex digits over what the event says, so that a changed event has a changed key
        digest.update(dumps(said, orjson.OPT_SORT_KEYS))
        named = self.unique and 0 < len(self.id) <= LONGEST_ID
        self.key = f"{self.id if named else self.pointer}:{digest.hexdigest()}"
        if self.for_writer:
            self.data[NATIVE] = self.for_writer
        else:
            self.data.pop(NATIVE, None)  # of the file, and not ours
        actor_kind, actor_name = self.actor
        return EventDraft(  # by position: a tenth of the reader's time is spent in this call
            self.kind,
            self.key,
            self.at,
            actor_kind,
            actor_name,
            self.text,
            tool,
            self.model,
            self.usage,
            self.request,
            self.cost,
            self.parent.key or None if self.parent else None,
            self.depth,
            self.data,
            self.pointer,
        )


def kept_by_reader(event: EventDraft) -> dict[str, Any]:
    """What the reader kept for the writer, see :data:`NATIVE`; empty for events of another origin."""
    return dict_of(event.data.get(NATIVE))
