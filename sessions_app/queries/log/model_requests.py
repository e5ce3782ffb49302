"""What is known of the model requests of a session beside their tokens: how long they took, and compactions between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Max, QuerySet
from django.db.models.functions import Coalesce

from sessions_app.models import Event, ModelRequest

BACK = 24
"""Events before the last one of a response among which what it answers is looked for."""
POINTS = 240
"""Of a chart: of more requests it has the highest of so many stretches."""
CONTEXT = Coalesce("input_tokens", 0) + Coalesce("cache_read_tokens", 0) + Coalesce("cache_write_tokens", 0)

# A response begins when what it answers was there: a message of a person, a result, a summary. Each stretch by itself,
# as in ``hits.EVENTS``.
BEFORE = f"""
SELECT r.seq, e.seq, e.kind, e.at, e.depth
FROM unnest(%s::int[]) AS r (seq) CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_event WHERE session_id = %s AND seq BETWEEN r.seq - {BACK} AND r.seq
    ORDER BY seq OFFSET 0
) AS e ORDER BY r.seq, e.seq DESC
"""
ANSWERED = frozenset({"user_message", "tool_result", "compaction"})

# Requests of sub-agents have contexts of their own, so that they would be teeth in the line of the session's.
CHART = """
WITH main AS (
    SELECT r.seq, row_number() OVER (ORDER BY r.seq) - 1 AS place, count(*) OVER () AS total,
           coalesce(r.input_tokens, 0) + coalesce(r.cache_read_tokens, 0) + coalesce(r.cache_write_tokens, 0) AS context
    FROM sessions_app_modelrequest r
    JOIN sessions_app_event e ON e.session_id = r.session_id AND e.seq = r.seq AND e.depth = 0
    WHERE r.session_id = %(session)s AND r.quality <> 'aggregate'
)
SELECT min(seq), max(context), min(total)
FROM main GROUP BY place * %(points)s / greatest(total, %(points)s) ORDER BY 1
"""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Of one model request. ``milliseconds`` is the time from what it answers to its last event, None if unknown."""

    milliseconds: float | None
    compacted: bool
    """Whether the context was compacted between the request before it and this one."""
    largest: int
    """Context of the request of the session that had most."""


@dataclass(frozen=True, slots=True)
class Point:
    """The highest context of a stretch of requests, from the event ``seq`` on."""

    seq: int
    context: int


def facts(
    session_id: UUID, requests: Mapping[int, ModelRequest], *, largest: int | None = None
) -> dict[int, RequestFacts]:
    """By the seq of each request; in four queries, however many there are.

    ``largest`` is the largest context of the session where the caller knows it, or does not ask for it (0): to find it
    takes all requests.
    """
    if not requests:
        return {}
    first, last = min(requests), max(requests)
    of_session = ModelRequest.objects.filter(session_id=session_id)
    earlier = of_session.filter(seq__lt=first).order_by("-seq").values_list("seq", flat=True).first()
    compactions = _compactions(session_id, earlier or 0, last)
    if largest is None:
        largest = of_session.aggregate(largest=Max(CONTEXT))["largest"] or 0
    took = _took(session_id, list(requests))
    found, before = {}, earlier or 0
    for seq in sorted(requests):
        compacted = any(before < place < seq for place in compactions)
        found[seq] = RequestFacts(took.get(seq), compacted, largest)
        before = seq
    return found


def _compactions(session_id: UUID, after: int, last: int) -> list[int]:
    events: QuerySet[Event] = Event.objects.filter(session_id=session_id, kind="compaction")
    return list(events.filter(seq__gt=after, seq__lte=last).order_by("seq").values_list("seq", flat=True))


def _took(session_id: UUID, seqs: list[int]) -> dict[int, float]:
    """Milliseconds from what a response answers to its last event."""
    ends: dict[int, tuple[datetime | None, int]] = {}
    found: dict[int, float] = {}
    done: set[int] = set()
    for seq, event_seq, kind, at, depth in _before(session_id, seqs):
        if event_seq == seq:
            ends[seq] = (at, depth)
        elif seq not in done and kind in ANSWERED and seq in ends and depth == ends[seq][1]:
            done.add(seq)
            end = ends[seq][0]
            if at is not None and end is not None and end >= at:
                found[seq] = (end - at).total_seconds() * 1000
    return found


def _before(session_id: UUID, seqs: list[int]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(BEFORE, [seqs, session_id])
        return cursor.fetchall()


def chart(session_id: UUID) -> tuple[list[Point], int]:
    """Contexts of the requests of the main flow in order, at most ``POINTS``, and how many requests they are."""
    with connection.cursor() as cursor:
        cursor.execute(CHART, {"session": session_id, "points": POINTS})
        rows = cursor.fetchall()
    return [Point(seq, context) for seq, context, _ in rows], rows[0][2] if rows else 0
