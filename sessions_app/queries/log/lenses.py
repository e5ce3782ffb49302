"""Other readings of a session than its story: tool calls, model requests, and every event as it is kept.

Each is read in windows, as the timeline is, by an index of its own table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import DurationField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast, Coalesce

from sessions_app.compiled import Compiled
from sessions_app.models import Event, ModelRequest, Session, ToolCall, Turn

from . import links, model_requests, search
from .timeline import Entry, Timeline, Window, calls_at, read_at, requests_at, results_of

STORY, TOOLS, REQUESTS, RAW = LENSES = ("story", "tools", "requests", "raw")
REMEMBERED = (STORY, TOOLS, REQUESTS)
"""Lenses by which a member's sessions open once one was chosen. Not raw: who looked up one event as it is kept would
then get every session that they are sent, or open from the list, as JSON. Its address says so, and can be kept."""
COUNTED = 300
"""Model requests are counted up to here: no number of them is kept."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much each lens has to show; ``requests`` is at least so many where ``more`` is true."""

    story: int
    tools: int
    requests: int
    raw: int
    more: bool


def counts(session: Session) -> Counts:
    """The kept numbers of a session, and the number of its requests in one query that ends at ``COUNTED``."""
    requests = ModelRequest.objects.filter(session_id=session.pk).values("seq")[: COUNTED + 1].count()
    most = min(requests, COUNTED)
    return Counts(session.turn_count, session.tool_call_count, most, session.event_count, requests > COUNTED)


class _Lens(Timeline):
    """Windows of rows that are found by their ``seq`` in another table than events, or without its folds."""

    def __init__(self, session_id: UUID) -> None:
        super().__init__(session_id)

    def _read(self, found: QuerySet[Any], limit: int) -> tuple[list[Entry], bool]:
        seqs = list(found.values_list("seq", flat=True)[: limit + 1])
        entries = {one.seq: one for one in read_at(self.session_id, seqs[:limit])}
        return [entries[seq] for seq in seqs[:limit] if seq in entries], len(seqs) > limit


TOOK = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
COST = Coalesce("cost_recorded", "cost_priced")
RANGES = 300
"""Stretches of the search index that are looked at for calls with some words."""


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which tool calls are shown. Empty: all of them."""

    name: str = ""
    failed: bool = False
    words: str = ""
    """What their arguments say: a path, a command, a query."""
    seconds: Decimal | None = None
    """They took at least so long."""
    dollars: Decimal | None = None
    """The response that asked for them cost at least so much."""

    def __bool__(self) -> bool:
        return self != CallFilter()

    def narrowed(self, session_id: UUID) -> QuerySet[ToolCall]:
        """Those of a session."""
        calls = ToolCall.objects.filter(session_id=session_id)
        if self.name:
            calls = calls.filter(name=self.name)
        if self.failed:
            calls = calls.filter(status="error")
        if self.seconds is not None:
            calls = calls.alias(took=TOOK).filter(took__gte=timedelta(seconds=float(self.seconds)))
        if self.dollars is not None:
            dear = ModelRequest.objects.filter(session_id=session_id).alias(cost=COST).filter(cost__gte=self.dollars)
            calls = calls.filter(seq__in=dear.values("seq"))
        return calls.filter(self._saying(session_id)) if self.words else calls

    def _saying(self, session_id: UUID) -> Q:
        """Calls that have the words in their arguments: those in stretches of the log where the index has them."""
        near = Q()
        for first, last in search.ranges(session_id, self.words)[:RANGES]:
            near |= Q(seq__range=(first, last))
        events = Event.objects.filter(session_id=session_id, seq=OuterRef("seq"))
        said = events.alias(said=Cast("arguments", TextField())).filter(said__icontains=self.words)
        return near & Q(Exists(said)) if near else Q(seq=0)


class Calls(_Lens):
    """The tool calls of a session, those of sub-agents among them."""

    def __init__(self, session_id: UUID, only: CallFilter) -> None:
        super().__init__(session_id)
        self.filter = only

    def rows(self) -> QuerySet[Any]:
        return self.filter.narrowed(self.session_id)

    def _complete(self, window: Window) -> Window:
        seqs = [entry.seq for entry in window.entries]
        window.calls.update({call.seq: call for call in calls_at(self.session_id, seqs)})
        window.results.update(results_of(window.calls, self.session_id))
        return _with_requests(window, self.session_id, [one.seq for one in window.results.values()])


class Requests(_Lens):
    """The model requests of a session: each at the last event of its response."""

    def rows(self) -> QuerySet[Any]:
        return ModelRequest.objects.filter(session_id=self.session_id)

    def _complete(self, window: Window) -> Window:
        _with_requests(window, self.session_id)
        window.facts.update(model_requests.facts(self.session_id, window.requests))
        return window


def _with_requests(window: Window, session_id: UUID, results: Sequence[int] = ()) -> Window:
    """What every lens needs of its rows: how they came in, what their responses used, and their turns."""
    seqs = [entry.seq for entry in window.entries]
    window.requests.update({request.seq: request for request in requests_at(session_id, seqs)})
    window.origins.update(links.origins(session_id, [1, *seqs, *results]))
    turns = list({entry.turn for entry in window.entries})
    window.turns.update({turn.index: turn for turn in _TURNS(session_id, turns)})
    return window


_TURNS = Compiled[Turn](lambda session_id, turns: Turn.objects.filter(session_id=session_id, index__any_of=turns))


class Raw(_Lens):
    """Every event of a session."""

    def rows(self) -> QuerySet[Any]:
        return Event.objects.filter(session_id=self.session_id)

    def _complete(self, window: Window) -> Window:
        return _with_requests(window, self.session_id)


def path_to(session_id: UUID, lens: str, seq: int) -> list[int]:
    """The row that shows an event under a lens beside the story; empty where none does."""
    event = Event.objects.filter(session_id=session_id, seq=seq).only("seq", "kind", "parent_seq", "call_id", "request")
    found = event.first()
    if found is None or lens == RAW:
        return [seq] if found else []
    if lens == REQUESTS:
        key = found.request or f"seq:{seq}"
        return list(ModelRequest.objects.filter(session_id=session_id, key=key).values_list("seq", flat=True))
    calls = ToolCall.objects.filter(session_id=session_id)
    if found.kind == "tool_result":
        calls = calls.filter(Q(seq=found.parent_seq) | Q(call_id=found.call_id), result_seq=seq)
        return list(calls.values_list("seq", flat=True)[:1])
    return list(calls.filter(seq=seq).values_list("seq", flat=True))
