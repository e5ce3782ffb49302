"""Spans of a session by time: turns, model requests, tool calls, and what sub-agents did below them.

Read in pages of events, in a number of queries that does not depend on the session. A tool call takes from its event to
that of its result. Of a model request recorders write down when its parts came, not when it was sent: it is taken to
begin with the event before it, and says that this is estimated. Where both ends have the same time, or one has none,
how long it took is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q

from sessions_app.models import Event, Session, ToolCall, Turn
from sessions_app.phrases import gettext as _
from sessions_app.rendering.text import first_line
from sessions_app.rendering.titles import title_of_prompt
from sessions_app.rendering.toolline import describe_call

from .timeline import Light

SPANS = 400
"""Spans of a page."""
EVENTS = 1_600
"""Events that a page is made of at most: about as many as have 400 spans."""
CHILDREN = 200
LONGEST = timedelta(minutes=10)
"""What a model request may be estimated to take; after a longer time nobody knows when it was sent."""
ARGUMENTS = 4_000
"""Bytes of arguments from which a call says what it is about; of longer ones the beginnings of 20 members."""
RESPONSE = frozenset({"reasoning", "agent_message", "tool_call"})
COLUMNS = (
    "seq", "kind", "at", "turn", "depth", "parent_seq", "actor_name", "call_id", "tool_name", "tool_server", "model",
    "request",
)  # fmt: skip


@dataclass(slots=True)
class Span:
    """Something that took time. ``kind``: turn, request, call or session (a sub-agent's own)."""

    kind: str
    seq: int
    """The event that it leads to."""
    turn: int
    name: str
    subject: str = ""
    status: str | None = None
    began: datetime | None = None
    ended: datetime | None = None
    is_estimated: bool = False
    child: Session | None = None
    path: str = ""
    """The file of a call, where ``subject`` says that."""
    depth: int = 0
    below: list[Span] = field(default_factory=list)

    @property
    def milliseconds(self) -> float | None:
        """None where it is not known; that the times of both ends are the same says nothing."""
        if self.began is None or self.ended is None or self.ended <= self.began:
            return None
        return (self.ended - self.began).total_seconds() * 1000


@dataclass(frozen=True, slots=True)
class Waterfall:
    """A page of spans, each below what it belongs to. ``next_after`` is None at the end."""

    spans: list[Span]
    next_after: int | None


def waterfall(session: Session, after: int = 0, turn: int | None = None) -> Waterfall:
    """Spans of the events behind ``after``, of one turn where it is named."""
    found = Event.objects.filter(session_id=session.pk, seq__gt=after)
    if turn is not None:
        found = found.filter(turn=turn)
    rows = list(found.order_by("seq").annotate(about=Light("arguments", ARGUMENTS)).values(*COLUMNS, "about")[:EVENTS])
    rows, is_more = _fitting(rows), len(rows) == EVENTS
    if not rows:
        return Waterfall([], None)
    last = rows[-1]["seq"]
    is_more = is_more or len(rows) < EVENTS and found.filter(seq__gt=last).exists()
    page = _Page(session, rows)
    return Waterfall(list(_flat(page.tree(), 0)), last if is_more else None)


def _fitting(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Events up to the one with which a page has its spans: calls, and as many requests at the most."""
    spans = 0
    for at, row in enumerate(rows):
        spans += 2 if row["kind"] == "tool_call" else row["kind"] in RESPONSE or row["kind"] == "user_message"
        if spans >= SPANS:
            return rows[: at + 1]
    return rows


def _flat(spans: Iterable[Span], depth: int) -> Iterator[Span]:
    for span in spans:
        span.depth = depth
        yield span
        yield from _flat(span.below, depth + 1)


class _Page:
    """The spans of some events."""

    def __init__(self, session: Session, rows: list[dict[str, Any]]) -> None:
        self.session, self.rows = session, rows
        own = {"session_id": session.pk}
        calls = [row["seq"] for row in rows if row["kind"] == "tool_call"]
        self.calls = {call.seq: call for call in ToolCall.objects.filter(seq__in=calls, **own)}
        self.turns = {one.index: one for one in Turn.objects.filter(index__in={row["turn"] for row in rows}, **own)}
        self.children = _children(session.pk, self.calls.values(), is_first=rows[0]["seq"] == 1)

    def tree(self) -> list[Span]:
        """The spans of turns with all that is below them, in the order of the log."""
        turns: dict[int, Span] = {}
        by_call: dict[int, Span] = {}
        lanes: dict[int | None, _Lane] = {}
        for row in self.rows:
            above = turns.get(row["turn"]) or turns.setdefault(row["turn"], self._turn(row["turn"], row["seq"]))
            under = row["parent_seq"] if row["depth"] else None
            lane = lanes.setdefault(under, _Lane())
            owner = by_call.get(under, above) if under is not None else above
            if row["kind"] in RESPONSE:
                span = lane.response(row, owner)
                if row["kind"] == "tool_call":
                    by_call[row["seq"]] = made = self._call(row)
                    span.below.append(made)
            else:
                lane.close(row)
        for child in self.children.get(None, ()):
            _first(turns).below.append(self._child(child, _first(turns).turn, self.rows[0]["seq"]))
        _forget_wrong_ends(list(turns.values()))
        return list(turns.values())

    def _turn(self, index: int, seq: int) -> Span:
        turn = self.turns.get(index)
        name = _("Turn %(index)s", index=index) if index else _("Setup")
        span = Span("turn", seq, index, name)
        if turn:
            span.seq, span.subject = turn.first_seq, title_of_prompt(turn.prompt, 160)
            span.began, span.ended = turn.started_at, turn.ended_at
        return span

    def _call(self, row: dict[str, Any]) -> Span:
        line = describe_call(row["tool_name"], row["about"], row["tool_server"])
        call = self.calls.get(row["seq"])
        span = Span("call", row["seq"], row["turn"], line.verb, line.subject, began=row["at"], path=line.path)
        if call:
            span.status, span.ended = call.status, call.ended_at
        for child in self.children.get(row["seq"], ()):
            span.below.append(self._child(child, row["turn"], row["seq"]))
        return span

    def _child(self, child: Session, turn: int, seq: int) -> Span:
        status = "error" if child.phase in (Session.Phase.CRASHED, Session.Phase.TIMED_OUT) else None
        return Span(
            "session", seq, turn, _("sub-agent"), first_line(str(child), 160), status, child.started_at, child.ended_at,
            child=child,
        )  # fmt: skip


def _forget_wrong_ends(turns: list[Span]) -> None:
    """Of a turn that seems to end after the next began, the end is not known: events written down at a resume have the
    time of the resume.
    """
    for turn, following in zip(turns, turns[1:], strict=False):
        if turn.ended and following.began and turn.ended > following.began:
            turn.ended = None


def _first(turns: dict[int, Span]) -> Span:
    return next(iter(turns.values()))


@dataclass(slots=True)
class _Lane:
    """Events of one agent, one after the other: the main one, or a sub-agent below its call."""

    before: datetime | None = None
    """When what came before the response happened."""
    request: str | None = None
    open: Span | None = None

    def response(self, row: dict[str, Any], owner: Span) -> Span:
        """The span of the response that an event is part of; the first one of it begins the span."""
        if self.open is None or row["request"] != self.request:
            before = self.open.ended if self.open else self.before
            name = first_line(row["model"], 60) if row["model"] else _("model request")
            self.open = Span("request", row["seq"], row["turn"], name, began=before, is_estimated=True)
            self.request = row["request"]
            if row["depth"] and row["actor_name"]:
                self.open.subject = first_line(row["actor_name"], 60)
            owner.below.append(self.open)
        if row["at"] is not None:
            self.open.ended = max(filter(None, (self.open.ended, row["at"])))
            if self.open.began and self.open.ended - self.open.began > LONGEST:
                self.open.began = None
        return self.open

    def close(self, row: dict[str, Any]) -> None:
        """Take in an event that is no part of a response."""
        self.open = None
        if row["at"] is not None:
            self.before = max(filter(None, (self.before, row["at"])))


def _children(session_id: UUID, calls: Iterable[ToolCall], *, is_first: bool) -> dict[int | None, list[Session]]:
    """Sub-agents' own sessions by the call that started them; under None, on the first page, those of no known call."""
    by_id = {call.call_id: call.seq for call in calls if call.call_id}
    by_result = {call.result_seq: call.seq for call in calls if call.result_seq}
    seqs = [call.seq for call in calls]
    naming = Event.objects.filter(session_id=session_id, data__has_key="child_session", seq__in=[*seqs, *by_result])
    named = {str(name): by_result.get(seq, seq) for seq, name in naming.values_list("seq", "data__child_session")}
    wanted = Q(external_id__in=named) | Q(metadata__tool_use_id__in=list(by_id)) | Q(metadata__call_seq__in=seqs)
    if is_first:
        wanted |= ~Q(metadata__has_key="tool_use_id") & ~Q(metadata__has_key="call_seq")
    children = Session.objects.filter(wanted, parent_id=session_id).defer("source_record").order_by("started_at", "id")
    found: dict[int | None, list[Session]] = {}
    for child in children[:CHILDREN]:
        seq = child.metadata.get("call_seq")
        if not isinstance(seq, int) or seq not in seqs:
            seq = by_id.get(child.metadata.get("tool_use_id"), named.get(child.external_id))
        found.setdefault(seq, []).append(child)
    return found
