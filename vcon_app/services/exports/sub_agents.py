"""A session and those that it started: as one log, or as the sessions that they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

from sessions_app.models import Session
from vcon_app.drafts import ActorKind, EventDraft
from vcon_app.formats.vcon.trace import NATIVE

from ...queries.log_reader import LogEvents

MOST_DEEP = 100
"""Levels of sub-agents in one log. Agents nest a handful; each level is a generator in the one above it, and the names
of its events are longer by an id."""


def children_of(session: Session) -> list[Session]:
    """The sessions that this one started itself, the earliest first."""
    return list(session.children.select_related("agent").order_by("started_at", "pk"))


def descendants_of(session: Session) -> Iterator[Session]:
    """The sessions that this one started, and theirs, each after the one that started it."""
    seen = {session.pk}  # a release before 2026-11-28 took files at their word that each started the other
    waiting = children_of(session)[::-1]
    while waiting:
        child = waiting.pop()
        if child.pk not in seen:
            seen.add(child.pk)
            yield child
            waiting += children_of(child)[::-1]


class NestedEvents:
    """The log of a session in which what its sub-agents did stands under the calls that started them.

    It is what the log would be if the recorder had kept sub-agents in the file (vCon core has one record a session, its
    sub-agents inside). A sub-agent whose call is not known stands at the end.
    """

    def __init__(self, session: Session, above: frozenset[UUID] = frozenset()) -> None:
        """``above``: the sessions in whose logs this one stands; see ``descendants_of``.

        Raises ``ValueError`` where they are more than ``MOST_DEEP``.
        """
        if len(above) > MOST_DEEP:
            raise ValueError(
                f'more than {MOST_DEEP} sub-agents are nested in each other; export "{session}" by itself, and leave '
                "sub-agents out of this export"
            )
        self._session = session
        self._own = LogEvents(session)
        path = above | {session.pk}
        self._below = [(child, NestedEvents(child, path)) for child in children_of(session) if child.pk not in path]

    def __len__(self) -> int:
        return len(self._own) + sum(len(events) for _, events in self._below)

    def __iter__(self) -> Iterator[EventDraft]:
        waiting = {child.pk: (child, events) for child, events in self._below}
        for seq, event in enumerate(self._own, 1):
            yield event
            for child, events in [one for one in waiting.values() if _began(event, seq, one[0])]:
                yield from self._moved(child, events, event.key)
                del waiting[child.pk]
        for child, events in waiting.values():
            yield from self._moved(child, events, None)

    def _moved(self, child: Session, events: NestedEvents, call: str | None) -> Iterator[EventDraft]:
        """The events of a child, one deeper, under names that no other session's events have."""
        for event in events:
            actor: tuple[ActorKind, str] = (event.actor_kind, event.actor_name)
            if not event.depth:
                actor = self._actor_one_deeper(event, child)
            yield replace(
                event, key=f"{child.pk}/{event.key}", parent=f"{child.pk}/{event.parent}" if event.parent else call,
                depth=event.depth + 1, actor_kind=actor[0], actor_name=actor[1],
                data={name: value for name, value in event.data.items() if name != NATIVE},
            )  # fmt: skip

    def _actor_one_deeper(self, event: EventDraft, child: Session) -> tuple[ActorKind, str]:
        """Whoever led a sub-agent is the agent above it, and the agent of its session is the sub-agent."""
        if event.actor_kind in ("person", "trigger"):
            return "agent", self._session.agent.name
        if event.actor_kind == "agent":
            return "subagent", event.actor_name or child.agent.name
        return event.actor_kind, event.actor_name


def _began(event: EventDraft, seq: int, child: Session) -> bool:
    """Whether this is the call that started the child.

    The import kept its place (``sub_agents_by_prompt``) or its id (``sub_agents_by_file``).
    """
    if event.kind != "tool_call":
        return False
    call_id = event.tool.call_id if event.tool else None
    by_place = child.metadata.get("call_seq") == seq
    return by_place or (call_id is not None and child.metadata.get("tool_use_id") == call_id)
