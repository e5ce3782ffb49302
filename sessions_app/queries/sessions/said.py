"""Sessions that say what somebody typed: the ``q`` of the session list.

A session says a word when one of its events or its title does; the words of a search may stand in different events.
Each word is looked up in the index first. One that few sessions have gives a list of these; a common one is a question
to each session, which the list puts in its own order until its page is full.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q
from django.db.models.sql.compiler import SQLCompiler

from sessions_app.models import EventText, SearchBacklog
from sessions_app.search import typed
from sessions_app.search.typed import Term

from ..log.search import old_search
from ..log.search_text import TEXT, WORKSPACE, row_query

FEW = 500
"""Rows of the index that are read to list the sessions of a rare word."""
FEW_TO_READ = 200
"""The same for words that have to stand side by side, for which the events of each row are read. Where more rows have
all of them, sessions are listed that say them in one row, so within 64 events: reading all would take seconds."""
SAMPLE = 64
COMMON = 12
"""In so many of the ``SAMPLE`` newest sessions a word is common: a page of 50 is full after some 270 of them. The
sessions of one that has many rows, but is not common in these, are collected from the index, all of them."""
WIDER = 200
"""Sessions that are asked for a word that is neither rare nor common in those: reading all its rows costs more."""
RECENT = 2
"""In so many of them it is not of long ago alone: the list is walked until a page of those collected is full. Of others
each is looked up and put in order, which is 8 us a session."""
COUNTED = 1_000
NOTHING = Q(pk__in=())

ROWS = "SELECT session_id FROM countersign_search_rows(%s::tsquery, %s)"
RECENTLY = """
SELECT count(*) FROM (
    SELECT id FROM sessions_app_session WHERE workspace_id = %s ORDER BY created_at DESC LIMIT %s
) s WHERE EXISTS (SELECT FROM sessions_app_searchblock b WHERE b.session_id = s.id AND b.words @@ %s::tsquery OFFSET 0)
"""
# OFFSET 0 keeps PostgreSQL from turning the question around, into a join with all rows that have the word.
SAYS = (
    "EXISTS (SELECT FROM sessions_app_searchblock b WHERE b.session_id = $id AND b.words @@ %s::tsquery$more OFFSET 0)"
)
COLLECTED = "$id IN (SELECT b.session_id FROM countersign_search_rows(%s::tsquery, NULL) b)"
# With IS TRUE it is no join: the ids are hashed once, and whichever session the list comes to is looked up in them.
WALKED = f"({COLLECTED}) IS TRUE"
SIDE_BY_SIDE = f"""
 AND (EXISTS (SELECT FROM sessions_app_event e WHERE e.session_id = b.session_id
                  AND e.seq BETWEEN b.first_seq AND b.last_seq AND {TEXT} ~* %s)
      OR b.first_seq = 0 AND EXISTS (SELECT FROM sessions_app_session t
                                     WHERE t.id = b.session_id AND concat_ws(' ', t.title, t.summary) ~* %s))
"""


def say(workspace_id: UUID, words: str) -> Q:
    """A condition on sessions of a workspace: they say what somebody typed, see ``search.typed``."""
    query = typed.read(words)
    found: Q = reduce(or_, (_all_of(workspace_id, terms) for terms in query.alternatives), NOTHING)
    if query.alternatives and SearchBacklog.objects.filter(workspace_id=workspace_id).exists():
        old = EventText.objects.filter(session_id=OuterRef("pk"), words=old_search(words))
        found |= Q(indexed_seq__lt=F("last_seq")) & Q(Exists(old))
    return found


def has_words_side_by_side(words: str) -> bool:
    return any(not term.is_exact for term in typed.read(words).wanted)


def unsearchable(workspace_id: UUID) -> int:
    """How many sessions of a workspace have events that a search does not find yet; at most ``COUNTED``."""
    return SearchBacklog.objects.filter(workspace_id=workspace_id)[:COUNTED].count()


def _all_of(workspace_id: UUID, terms: Collection[Term]) -> Q:
    """A condition that each of the terms holds."""
    wanted = [term for term in terms if not term.is_excluded]
    # Where the words alone decide, the newest sessions tell in 1.5 ms what all rows of a common word would in 25.
    common = {term for term in wanted if not _pattern(term) and _recent(workspace_id, term) >= COMMON}
    sessions = {term: None if term in common else _sessions_of_rare(workspace_id, term) for term in wanted}
    rare = [found for found in sessions.values() if found is not None]
    conditions = [Q(pk__in=set.intersection(*rare))] if rare else []
    for term in terms:
        if term.is_excluded:
            conditions.append(~Q(_says(workspace_id, term)))
        elif rare and (sessions[term] is None or _pattern(term)) or term in common:
            conditions.append(Q(_says(workspace_id, term)))
        elif sessions[term] is None:
            conditions.append(Q(_of_many(workspace_id, term)))
    return reduce(and_, conditions)


def _sessions_of_rare(workspace_id: UUID, term: Term) -> set[UUID] | None:
    """The sessions with the words of a term; None where they are many."""
    most = FEW_TO_READ if _pattern(term) else FEW
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [row_query([term], WORKSPACE, workspace_id), most + 1])
        found = [session for (session,) in cursor.fetchall()]
    return set(found) if len(found) <= most else None


def _recent(workspace_id: UUID, term: Term, sample: int = SAMPLE) -> int:
    """In how many of the newest sessions one row has the words of a term."""
    with connection.cursor() as cursor:
        cursor.execute(RECENTLY, [workspace_id, sample, row_query([term], WORKSPACE, workspace_id)])
        return int(cursor.fetchone()[0])


def _of_many(workspace_id: UUID, term: Term) -> _Condition:
    """Whether a session has the words of a term of many rows within one of them."""
    recent = _recent(workspace_id, term, WIDER)
    if recent >= COMMON * WIDER // SAMPLE:
        return _says(workspace_id, term, side_by_side=False)
    return _Condition(WALKED if recent >= RECENT else COLLECTED, (row_query([term], WORKSPACE, workspace_id),))


class _Condition(Func):
    """A condition on a session's id, in SQL with ``$id`` in its place."""

    output_field = BooleanField()

    def __init__(self, statement: str, values: tuple[str, ...], session: Any = None) -> None:
        super().__init__(session or F("pk"))
        self.statement, self.values = statement, values

    def as_sql(  # type: ignore[override]  # a statement of its own takes neither function nor template
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, tuple[Any, ...]]:
        session, values = compiler.compile(self.get_source_expressions()[0])
        return self.statement.replace("$id", session), (*values, *self.values)


def _says(workspace_id: UUID, term: Term, *, side_by_side: bool = True) -> _Condition:
    """Whether a session says a term. The workspace is asked for again: PostgreSQL may take the index by it."""
    words, pattern = row_query([_as_wanted(term)], WORKSPACE, workspace_id), _pattern(term)
    if pattern is None or not side_by_side:
        return _Condition(SAYS.replace("$more", ""), (words,))
    return _Condition(SAYS.replace("$more", SIDE_BY_SIDE), (words, pattern, pattern))


def _as_wanted(term: Term) -> Term:
    return replace(term, is_excluded=False)


def _pattern(term: Term) -> str | None:
    """A regular expression of PostgreSQL for words side by side, as they stand in a text or in JSON.

    None where the words alone decide, and where a word has accents or the like that the text may write in another way:
    there it is enough that one row of the index has them all.
    """
    if term.is_exact or not all(unspaced or run.isascii() for run, unspaced in term.pieces):
        return None
    between = r"([^[:alnum:]]|\\[nrt])"
    parts: list[str] = []
    for place, (run, unspaced) in enumerate(term.pieces):
        before = term.pieces[place - 1][1] if place else False
        if place:
            parts.append(between + ("*" if unspaced or before else "+"))
        elif not unspaced:
            parts.append(f"(^|{between})")
        parts.append(run)
    if not term.pieces[-1][1] and not term.is_beginning:
        parts.append("($|[^[:alnum:]])")
    return "".join(parts)
