"""Search in one session: over messages, tool arguments and results, folded or not.

The index tells the rows of 64 events that have the words; their events are read in order until there are enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection
from django.db.models import F

from sessions_app.models import EventText, Session
from sessions_app.search import typed
from sessions_app.search.marking import snippet
from sessions_app.search.typed import Query

from .search_text import SESSION, TEXT, row_query

HITS = 24
OLD_NEGATIONS = re.compile(r'-(?:[^\w"]*-)+')
"""Dashes with nothing between them that could be searched for: PostgreSQL 18 puts each on a stack of 32 places."""
ROWS_AT_ONCE = 4
"""Rows of the index whose events are read together: 256 events."""
READ_AT_MOST = 500
"""Events that one search reads. Where they hold less than a page of hits, the next page goes on behind them."""

# With the words and the session in one tsquery PostgreSQL walks the index once; it never reads the rows of others.
ROWS = """
SELECT first_seq, last_seq FROM countersign_search_rows(%s::tsquery, NULL)
WHERE session_id = %s AND first_seq > 0 AND last_seq > %s ORDER BY first_seq
"""
# Each stretch by itself, as in ``hits.EVENTS``.
EVENTS = f"""
SELECT e.seq, e.kind, e.turn, e.tool_name, e.actor_kind, e.actor_name, {TEXT}
FROM unnest(%s::int[], %s::int[]) AS wanted (first, last) CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_event WHERE session_id = %s AND seq BETWEEN greatest(first, %s) AND last
    ORDER BY seq OFFSET 0
) AS e ORDER BY e.seq
"""
Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Hit:
    """An event that holds the words. ``snippet`` is pieces of text, every second one a found word."""

    seq: int
    kind: str
    turn: int
    tool_name: str | None
    actor_kind: str
    actor_name: str
    snippet: list[str]


@dataclass(slots=True)
class Found:
    """A page of hits in order of ``seq``."""

    hits: list[Hit] = field(default_factory=list)
    total: int = 0
    """Hits in what was read."""
    is_all: bool = True
    """Whether everything was read that could be a hit: ``total`` is their number."""
    later: bool = False
    """Whether there may be more behind ``last_seq``."""
    last_seq: int = 0

    def take(self, seq: int, event: list[Any], text: str, query: Query) -> None:
        """Look at the next event that was read."""
        if self.later:
            self.total += query.is_met_by(text)
        elif query.is_met_by(text):
            self.total += 1
            if len(self.hits) == HITS:
                self.later = True
            else:
                kind, turn, tool_name, actor_kind, actor_name = event
                self.hits.append(Hit(seq, kind, turn, tool_name, actor_kind, actor_name, snippet(text, query)))
        if not self.later:
            self.last_seq = seq


def find(session_id: UUID, words: str, after: int = 0) -> Found:
    """Events after ``after`` that say what somebody typed, see ``search.typed``."""
    query, found, read, at = typed.read(words), Found(), 0, after
    ranges = _ranges(session_id, query, words, after)
    for place in range(0, len(ranges), ROWS_AT_ONCE):
        if read >= READ_AT_MOST or (after and found.later):  # only the first page tells how many there are
            found.is_all, found.later = False, True
            break
        for seq, *event, text in _events(session_id, ranges[place : place + ROWS_AT_ONCE], at):
            if seq > at:  # rows of the index may overlap
                found.take(seq, event, text, query)
                read, at = read + 1, seq
    return found


def ranges(session_id: UUID, words: str) -> list[Range]:
    """First and last ``seq`` of stretches of a session with events that may say what somebody typed, in order."""
    return _ranges(session_id, typed.read(words), words, 0)


def _ranges(session_id: UUID, query: Query, words: str, after: int) -> list[Range]:
    """First and last ``seq`` of stretches with events that may be hits, in order."""
    found: set[Range] = set()
    with connection.cursor() as cursor:
        for terms in query.alternatives:
            cursor.execute(ROWS, [row_query(list(terms), SESSION, session_id), session_id, after])
            found.update(cursor.fetchall())
    return sorted(found | _not_moved(session_id, words, after)) if query.alternatives else []


def _not_moved(session_id: UUID, words: str, after: int) -> set[Range]:
    """Events of a session that an older version indexed and this one has not yet."""
    if not Session.objects.filter(pk=session_id, indexed_seq__lt=F("last_seq")).exists():
        return set()
    old = EventText.objects.filter(session_id=session_id, words=old_search(words), seq__gt=after)
    return {(seq, seq) for seq in old.order_by("seq").values_list("seq", flat=True)[:READ_AT_MOST]}


def old_search(words: str) -> SearchQuery:
    """What somebody typed, for rows of ``EventText``."""
    return SearchQuery(
        OLD_NEGATIONS.sub("-", words.replace("\0", " ")[: typed.LONGEST]), config="simple", search_type="websearch"
    )


def _events(session_id: UUID, ranges: list[Range], after: int) -> list[tuple[Any, ...]]:
    """Events of these stretches behind ``after``, each with its text at the end."""
    firsts, lasts = (list(ends) for ends in zip(*ranges, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(EVENTS, [firsts, lasts, session_id, after + 1])
        return cursor.fetchall()
