"""The overview of a session is brought up to date when somebody asks for it, and kept.

So an import pays nothing, an upgrade fills nothing in, and of a session that goes on only the new events are read.
Calls that failed and what responses cost are read from their projections each time: a result may come late, and a price
change.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from sessions_app.models import Session, SessionOverview
from sessions_app.rendering.overview import drawing
from sessions_app.rendering.overview.buckets import NAMED, Buckets, Mark, lanes_of
from sessions_app.rendering.text import first_line
from sessions_app.summary.lines import reason
from sessions_app.summary.state import SAYS_NOTHING

VERSION = 4
"""Of the buckets and of what is drawn of them."""
EVENTS_AT_ONCE = 100_000
"""Events that one request reads: about half a second."""
WORDS, LOOKED_AT = 160, 4_000
"""Bytes of what an error says, and characters in which the line is looked for that says why."""

EVENTS = """
SELECT (seq - 1) / %(step)s, kind, depth > 0, coalesce(left(tool_name, 100), ''), tool_server IS NOT NULL, count(*),
    min(at), max(at), min(turn), (array_agg(seq ORDER BY seq) FILTER (WHERE kind IN ('error', 'compaction')))[:200]
FROM sessions_app_event WHERE session_id = %(session)s AND seq > %(since)s AND seq <= %(until)s GROUP BY 1, 2, 3, 4, 5
"""
FAILED = """
SELECT seq FROM sessions_app_toolcall WHERE session_id = %(session)s AND seq <= %(until)s AND status = 'error'
ORDER BY seq
"""
WORDS_OF = """
SELECT e.seq, coalesce(nullif(btrim(left(r.text, %(most)s)), ''), nullif(btrim(left(e.text, %(most)s)), ''), ''),
    coalesce(left(e.data ->> 'subtype', 600), e.tool_name, '')
FROM sessions_app_event e
LEFT JOIN sessions_app_toolcall t ON t.session_id = %(session)s AND t.seq = e.seq
LEFT JOIN sessions_app_event r ON r.session_id = %(session)s AND r.seq = t.result_seq
WHERE e.session_id = %(session)s AND e.seq = ANY(%(seqs)s)
"""
COSTS = """
SELECT (seq - 1) / %(step)s, sum(coalesce(cost_recorded, cost_priced))
FROM sessions_app_modelrequest
WHERE session_id = %(session)s AND seq <= %(until)s AND counted_in_id IS NULL AND cost_within IS NULL
    AND coalesce(cost_recorded, cost_priced) IS NOT NULL
GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the queries are asked with."""

    session: UUID
    step: int
    since: int
    until: int

    def rows(self, query: str, **more: Any) -> list[tuple[Any, ...]]:
        values = {"session": self.session, "step": self.step, "since": self.since, "until": self.until, **more}
        with connection.cursor() as cursor:
            cursor.execute(query, values)
            return cursor.fetchall()


def is_current(overview: SessionOverview | None, session: Session) -> bool:
    """Whether what is kept is what the session is now."""
    return (
        overview is not None
        and overview.seq == session.last_seq
        and overview.version == VERSION
        and overview.totals == totals_of(session)
    )


def totals_of(session: Session) -> str:
    """What is shown of a session and may change without an event."""
    return f"{session.error_count} {session.cost_recorded} {session.cost_priced} {is_least(session)}"


def is_least(session: Session) -> bool:
    """Whether the session cost at least what is known of it: some has no price, or was not counted to the end."""
    return bool(session.unpriced_tokens or session.under_reported)


@transaction.atomic
def read_on(session: Session) -> SessionOverview:
    """The overview of a session, with the next piece of its log where there are new events.

    An older one where somebody else is just at it, or the log is longer than a piece: ask again.
    """
    rows = SessionOverview.objects.filter(pk=session.pk)
    if not rows.exists():
        SessionOverview.objects.bulk_create([SessionOverview(session_id=session.pk)], ignore_conflicts=True)
    overview = rows.select_for_update(skip_locked=True).first()
    if overview is None:
        return rows.first() or SessionOverview(session_id=session.pk)
    if is_current(overview, session):
        return overview
    kept = overview.buckets if overview.version == VERSION else {}
    buckets = Buckets.of(kept) if kept else Buckets()
    since = buckets.seq
    buckets.grow(max(since, min(session.last_seq, since + EVENTS_AT_ONCE)))
    asked = _Asked(session.pk, buckets.step, since, buckets.seq)
    marks = _count(buckets, asked)
    _add_failed(buckets, asked, marks)
    _add_costs(buckets, asked)
    overview.seq, overview.version, overview.totals = buckets.seq, VERSION, totals_of(session)
    overview.buckets, overview.pictures = buckets.kept(), drawing.pictures(buckets, is_least=is_least(session))
    overview.save(force_update=True)
    return overview


def _count(buckets: Buckets, asked: _Asked) -> list[int]:
    """Count the new events. Returns error events among the first that are named."""
    new_errors: list[int] = []
    for at, kind, is_nested, tool, is_served, number, began, ended, turn, seqs in asked.rows(EVENTS):
        for lane in lanes_of(kind, tool, is_nested=is_nested, is_served=is_served):
            buckets.counts[lane][at] += number
        buckets.began[at] = _of_both(min, buckets.began[at], _milliseconds(began))
        buckets.ended[at] = _of_both(max, buckets.ended[at], _milliseconds(ended))
        buckets.turns[at] = _of_both(min, buckets.turns[at], turn)
        if kind == "error":
            buckets.error_events[at] += number
            new_errors += seqs
        elif kind == "compaction":
            buckets.compactions = sorted([*buckets.compactions, *seqs])[:NAMED]
    return sorted(new_errors)[:NAMED]


def _add_failed(buckets: Buckets, asked: _Asked, new_errors: list[int]) -> None:
    """Count the calls that failed, with the errors that are events, and read what the first of all say."""
    failed = [seq for (seq,) in asked.rows(FAILED)]
    buckets.counts["errors"] = list(buckets.error_events)
    for seq in failed:
        buckets.counts["errors"][(seq - 1) // buckets.step] += 1
    known = {mark.seq: mark for mark in buckets.errors}
    events = {*(mark.seq for mark in buckets.errors if mark.is_event), *new_errors}
    wanted = sorted({*failed[:NAMED], *events})[:NAMED]
    new = asked.rows(WORDS_OF, seqs=[seq for seq in wanted if seq not in known], most=LOOKED_AT)
    said = {seq: _why(text, other) for seq, text, other in new}
    buckets.errors = [known.get(seq) or Mark(seq, said.get(seq, ""), seq in events) for seq in wanted]


def _why(text: str, other: str) -> str:
    """The line of an error that says why, as the card of the run has it; its kind or tool where none does."""
    line = reason(text, None, WORDS)
    return line if line.strip(".: ").casefold() not in SAYS_NOTHING else first_line(other or line, WORDS)


def _add_costs(buckets: Buckets, asked: _Asked) -> None:
    buckets.costs = [None] * len(buckets)
    for at, cost in asked.rows(COSTS):
        buckets.costs[at] = Decimal(cost)


def _milliseconds(at: datetime | None) -> int | None:
    return None if at is None else round(at.timestamp() * 1000)


def _of_both(choose: Any, one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else choose(one, other)
