"""The events of a session in ``seq`` order, in pages that are bounded in rows and in bytes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import IntegerField, QuerySet, TextField
from django.db.models.functions import Cast, Coalesce, Length

from sessions_app.models import Event, ModelRequest, ToolCall

from . import links

MAX_CHARACTERS = 16_000_000
"""Of one page. An event may hold 8 MB of text, and 500 of them would not fit into a small server."""
WEIGHT = sum(
    (Coalesce(Length(Cast(name, TextField())), 0) for name in ("arguments", "result", "data")),
    start=Length("text", output_field=IntegerField()),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """An event, the model response whose tokens it shows, the tool call that it is or answers, and how it came in."""

    event: Event
    request: ModelRequest | None
    call: ToolCall | None
    origin: links.EventOrigin


def page(session_id: UUID, *, after: int, limit: int, kind: str | None = None) -> list[Shown]:
    """Up to ``limit`` events after a ``seq``: fewer where they are large, but never none while there are some."""
    found = Event.objects.filter(session_id=session_id, seq__gt=after).order_by("seq")
    if kind:
        found = found.filter(kind=kind)
    # Not by their seqs: for those PostgreSQL reads all turns of the session (16 ms of 100,000 events) while a table has
    # no statistics yet.
    return joined(session_id, found[: _count_within(found, limit)])


def joined(session_id: UUID, found: Iterable[Event]) -> list[Shown]:
    """Events of one session with their responses and tool calls, in three more queries."""
    events = list(found)
    requests = ModelRequest.objects.filter(session_id=session_id, seq__in=[event.seq for event in events])
    by_seq = {request.seq: request for request in requests}
    calls = _calls(session_id, events)
    origins = links.origins(session_id, [event.seq for event in events])
    return [Shown(event, by_seq.get(event.seq), calls.get(event.seq), origins[event.seq]) for event in events]


def _count_within(found: QuerySet[Event], limit: int) -> int:
    """How many of the first ``limit`` make a page: at least one where there is one."""
    characters = 0
    weights = list(found.annotate(weight=WEIGHT).values_list("weight", flat=True)[:limit])
    for before, weight in enumerate(weights):
        characters += weight
        if before and characters > MAX_CHARACTERS:
            return before
    return len(weights)


def _calls(session_id: UUID, events: list[Event]) -> dict[int, ToolCall]:
    """The tool call of each event that is one or answers one, by the event's ``seq``.

    Looked up by the keys that have an index: a call by its own seq, its result's parent or its call id.
    """
    asked = {event.seq for event in events if event.kind == "tool_call"}
    answers = [event for event in events if event.kind == "tool_result"]
    parents = {event.parent_seq for event in answers if event.parent_seq}
    ids = {event.call_id for event in answers if event.call_id}
    if not (asked or parents or ids):
        return {}
    of_session = ToolCall.objects.filter(session_id=session_id)
    # Not "or", for which PostgreSQL reads all calls of a session where it takes it for a short one.
    found = list(of_session.filter(seq__in=asked | parents).union(of_session.filter(call_id__in=ids)))
    calls = {call.seq: call for call in found}
    for call in found:
        if call.result_seq:
            calls[call.result_seq] = call
    return calls
