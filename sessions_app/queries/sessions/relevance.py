"""The session list with the most relevant first: of the newest sessions that say the words, those that say them best.

Ranking all sessions of a common word would read all rows of the index that have it, so a hundred are ranked, forty or
thirty: the newest that pass the filter, as the list itself finds them. Who shows them says so (``Page.ranked``).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

import orjson
from django.db import connection
from django.db.models import Q

from sessions_app.models import Session
from sessions_app.search import ranking, typed
from sessions_app.search.ranking import Said
from sessions_app.search.typed import Term

from ..log.search_text import SESSION, row_query
from . import search_walk, session_list
from .conditions import BadFilter, read_typed
from .said import pattern
from .session_list import DEFAULT_SORT, RELEVANCE, Page, Ranked, SessionFilter

CANDIDATES = 100
FEWER = 40
"""Where each costs more: of two terms, or of words side by side, for which the events of a row are read."""
FEWEST = 30
"""Of three terms and more: of three common words a hundred sessions read 3,900 rows, forty 2,136, thirty 1,921."""
TERMS = 4
"""The first of what somebody typed: by these sessions are ranked."""
STRETCH = 64
"""Events of one row of the index."""
COUNTED = 1_000
"""Rows of the index that are counted at most. Of the longest sessions, where there would be more, it is only known that
they say the words: a hundred of 50,000 events have 78,000 rows."""

# Rows that have all words of several terms are among those of each: no question of their own reads them again.
COUNTS = """
SELECT found.session_id, found.first_seq, found.last_seq, array_agg(wanted.place)
FROM unnest(%s::int[], %s::text[]) AS wanted (place, query)
CROSS JOIN LATERAL countersign_search_rows(wanted.query::tsquery, NULL) AS found
GROUP BY 1, 2, 3
"""


@dataclass(slots=True)
class Rows:
    """What the index has of one session."""

    events: dict[int, int] = field(default_factory=dict)
    """By question: how many events the rows hold that have its words."""
    in_title: set[int] = field(default_factory=set)
    """Questions whose words the title and summary have."""
    together: list[set[int]] = field(default_factory=list)
    """Questions whose words one row has, of each row."""


def found_page(
    workspace_id: UUID, wanted: SessionFilter, limit: int, cursor: str | None, sees: Q = session_list.EVERYTHING
) -> Page:
    """``session_list.found_page``, in its orders and by relevance. Raises ``BadFilter``."""
    if wanted.sort != RELEVANCE:
        return session_list.found_page(workspace_id, wanted, limit, cursor, sees)
    read = search_walk.with_files(read_typed(wanted.q))
    alternatives = [_wanted(terms) for terms in typed.read(read.words).alternatives]
    if not any(alternatives):
        raise BadFilter("sort", session_list.NEEDS_WORDS)
    begun, newest = _decode(cursor) if cursor else (0, None)
    in_order, most = replace(wanted, sort=DEFAULT_SORT), _candidates(alternatives)
    candidates = session_list.found_page(workspace_id, in_order, most, newest, sees)
    ranked = _ranked(candidates.items, alternatives)
    page, behind = ranked[begun : begun + limit], begun + limit
    following = None
    if behind < len(ranked):
        following = _encode(behind, newest or _before(candidates.items[0]))
    return Page(page, following, Ranked(len(ranked), is_all=candidates.next_cursor is None))


def _candidates(alternatives: Sequence[Sequence[Term]]) -> int:
    """How many sessions are ranked."""
    terms = {term for one in alternatives for term in one}
    if len(terms) > 2:
        return FEWEST
    return FEWER if len(terms) > 1 or any(map(pattern, terms)) else CANDIDATES


def _wanted(terms: Sequence[Term]) -> list[Term]:
    return [term for term in terms if not term.is_excluded][:TERMS]


def _ranked(
    sessions: Sequence[session_list.SortedSession], alternatives: Sequence[Sequence[Term]]
) -> list[session_list.SortedSession]:
    """The best first; of those that are as good the newest."""
    terms = list(dict.fromkeys(term for one in alternatives for term in one))[:TERMS]
    places = {term: place for place, term in enumerate(terms)}
    # Alternatives of terms that are not asked for by themselves have a question of their own.
    apart = [one for one in alternatives if len(one) > 1 and not places.keys() >= set(one)]
    together = [{places[term] for term in one} for one in alternatives if len(one) > 1 and one not in apart]
    together += [{len(terms) + place} for place in range(len(apart))]
    queries = [*([term] for term in terms), *apart]
    counted = _short_enough(sessions, COUNTED // len(queries))
    found = _counts(counted, queries)
    told = {
        one.pk.hex: _said(one, terms, together, found.get(one.pk, Rows()))
        if one.pk in counted
        else Said(_length(one), [1.0] * len(terms), _in_title(one, terms))
        for one in sessions
    }
    scored = ranking.scores(told)
    return sorted(sessions, key=lambda one: -scored[one.pk.hex])


def _short_enough(sessions: Sequence[Session], rows: int) -> set[UUID]:
    """The shortest of some sessions, of which the index has not more than so many rows in all."""
    counted = set()
    for one in sorted(sessions, key=lambda one: one.last_seq):
        rows -= one.last_seq // STRETCH + 2
        if rows < 0:
            break
        counted.add(one.pk)
    return counted


def _counts(sessions: set[UUID], queries: Sequence[Sequence[Term]]) -> dict[UUID, Rows]:
    """What the index has of each session."""
    if not sessions:
        return {}
    first, *rest = sessions
    mine = f"'{SESSION}{first.hex}'"
    anyone = " | ".join([mine, *(f"'{SESSION}{one.hex}'" for one in rest)])
    asked = [row_query(list(terms), SESSION, first).replace(mine, f"({anyone})", 1) for terms in queries]
    found: dict[UUID, Rows] = {}
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, [list(range(len(asked))), asked])
        for session, first_seq, last_seq, places in cursor:
            rows = found.setdefault(session, Rows())
            rows.together.append(set(places))
            for place in places:
                rows.events[place] = rows.events.get(place, 0) + (last_seq - first_seq + 1 if first_seq > 0 else 0)
            if first_seq == 0:
                rows.in_title.update(places)
    return found


def _said(session: Session, terms: Sequence[Term], together: Sequence[set[int]], rows: Rows) -> Said:
    length = _length(session)
    said = [rows.events.get(place, 0) for place in range(len(terms))]
    often = [min(max(events / STRETCH, 1.0), length) if events else 0.0 for events in said]
    are_together = any(wanted <= had for wanted in together for had in rows.together)
    return Said(length, often, sum(place < len(terms) for place in rows.in_title), are_together)


def _length(session: Session) -> float:
    return max(session.last_seq / STRETCH, 1.0)


def _in_title(session: Session, terms: Sequence[Term]) -> int:
    title = f"{session.title} {session.summary}"
    return sum(typed.Query(((term,),)).is_met_by(title) for term in terms)


def _before(newest: session_list.SortedSession) -> str:
    """A cursor of the list from which on the same candidates are found, whatever begins meanwhile."""
    return session_list.cursor_at(newest.sort_value, UUID(int=newest.pk.int + 1))


def _encode(begun: int, newest: str) -> str:
    return base64.urlsafe_b64encode(orjson.dumps([begun, newest])).decode().rstrip("=")


def _decode(cursor: str) -> tuple[int, str]:
    try:
        begun, newest = orjson.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        if not (isinstance(begun, int) and 0 < begun <= CANDIDATES and isinstance(newest, str)):
            raise ValueError
    except (ValueError, TypeError, binascii.Error):
        raise BadFilter("cursor", "this cursor does not belong to this list; begin again without one") from None
    return begun, newest
