"""Sessions that say what somebody typed: the ``q`` of the session list.

A session says a word when one of its events or its title does; the words of a search may stand in different events.
Each word is looked up in the index first. One that few sessions have gives a list of these; a common one is a question
to each session, which the list puts in its own order until its page is full.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from functools import reduce
from operator import and_, or_
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q
from django.db.models.sql.compiler import SQLCompiler

from sessions_app.models import EventText, SearchBacklog, SearchBlock, Session
from sessions_app.search import typed
from sessions_app.search.typed import Term

from ..log.search import old_search
from ..log.search_text import SESSION, TEXT, WORKSPACE, row_query

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
MANY = 2**31 - 1
NOTHING = Q(pk__in=())

ROWS = "SELECT session_id FROM countersign_search_rows(%s::tsquery, %s)"
WALK = "SELECT sessions, reached, found_rows FROM countersign_search_walk(%s::tsquery, %s, %s, %s, %s)"
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
                                     WHERE t.id = b.session_id AND concat_ws(' ', t.title, t.summary) ~* %s)
      OR b.first_seq = -1 AND EXISTS (SELECT FROM sessions_app_filetext f
                                      WHERE f.session_id = b.session_id AND f.text ~* %s))
"""
# By the mark of the session: by that of the workspace PostgreSQL goes through all rows of the words for each session.
ANY = UUID(int=0)
SAYS_SIDE_BY_SIDE = SAYS.replace(
    "%s::tsquery", f"replace(%s, '{ANY.hex}', replace($id::text, '-', ''))::tsquery"
).replace("$more", SIDE_BY_SIDE)


def say(workspace_id: UUID, words: str) -> Q:
    """A condition on sessions of a workspace: they say what somebody typed, see ``search.typed``."""
    query = typed.read(words)
    found: Q = reduce(or_, (_all_of(workspace_id, terms) for terms in query.alternatives), NOTHING)
    if query.alternatives and SearchBacklog.objects.filter(workspace_id=workspace_id).exists():
        old = EventText.objects.filter(session_id=OuterRef("pk"), words=old_search(words))
        found |= Q(indexed_seq__lt=F("last_seq")) & Q(Exists(old))
    return found


class _Placed:
    """Whether each row of the index knows when its session began: once they do they always will, and nobody asks."""

    known = False


def is_placed() -> bool:
    """Whether rows of the index know when their sessions began: not while those of an older version are told."""
    _Placed.known = _Placed.known or not SearchBlock.objects.filter(spans=None).exists()
    return _Placed.known


def walk(
    workspace_id: UUID, term: Term, before: datetime | None = None, *, most: int = MANY, most_rows: int = MANY
) -> tuple[set[UUID], datetime | None, int]:
    """Sessions with the words of a term, those that began last before ``before``, until there are ``most`` of them or
    ``most_rows`` rows of the index were read; when the last one may have begun (None: these are all); and the rows.
    """
    with connection.cursor() as cursor:
        words = row_query([as_wanted(term)], WORKSPACE, workspace_id)
        cursor.execute(WALK, [words, workspace_id, before, most, most_rows])
        sessions, since, rows = cursor.fetchone()
    return set(sessions), since, rows


def having(sessions: Collection[UUID], term: Term) -> set[UUID]:
    """Those of some sessions that have the words of a term in one row."""
    if not sessions:
        return set()
    (first, *rest) = sessions
    marked = row_query([as_wanted(term)], SESSION, first)
    mine = f"'{SESSION}{first.hex}'"
    anyone = " | ".join([mine, *(f"'{SESSION}{one.hex}'" for one in rest)])
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [marked.replace(mine, f"({anyone})", 1), None])
        return {session for (session,) in cursor.fetchall()}


def has_words_side_by_side(words: str) -> bool:
    return any(not term.is_exact for term in typed.read(words).wanted)


def unsearchable(workspace_id: UUID) -> int:
    """How many sessions of a workspace have events that a search does not find yet; at most ``COUNTED``."""
    return SearchBacklog.objects.filter(workspace_id=workspace_id)[:COUNTED].count()


def _all_of(workspace_id: UUID, terms: Collection[Term]) -> Q:
    """A condition that each of the terms holds."""
    wanted = [term for term in terms if not term.is_excluded]
    # Where the words alone decide, the newest sessions tell in 1.5 ms what all rows of a common word would in 25.
    common = {term for term in wanted if not pattern(term) and _recent(workspace_id, term) >= COMMON}
    sessions = {term: None if term in common else sessions_of_rare(workspace_id, term) for term in wanted}
    rare = [found for found in sessions.values() if found is not None]
    conditions = [Q(pk__in=set.intersection(*rare))] if rare else []
    for term in terms:
        if term.is_excluded:
            conditions.append(~Q(says(workspace_id, term)))
        elif rare and (sessions[term] is None or pattern(term)) or term in common:
            conditions.append(Q(says(workspace_id, term)))
        elif sessions[term] is None:
            conditions.append(Q(_of_many(workspace_id, term)))
    return reduce(and_, conditions)


def sessions_of_rare(workspace_id: UUID, term: Term) -> set[UUID] | None:
    """The sessions with the words of a term; None where they have many rows."""
    most = FEW_TO_READ if pattern(term) else FEW
    if is_placed():
        sessions, since, rows = walk(workspace_id, term, most_rows=most + 1)
        return sessions if since is None and rows <= most else None
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [row_query([term], WORKSPACE, workspace_id), most + 1])
        found = [session for (session,) in cursor.fetchall()]
    return set(found) if len(found) <= most else None


def _recent(workspace_id: UUID, term: Term, sample: int = SAMPLE) -> int:
    """In how many of the newest sessions one row has the words of a term."""
    newest = Session.objects.filter(workspace_id=workspace_id).order_by("-created_at").values_list("pk", flat=True)
    return len(having(list(newest[:sample]), term))


def _of_many(workspace_id: UUID, term: Term) -> _Condition:
    """Whether a session has the words of a term of many rows within one of them."""
    recent = _recent(workspace_id, term, WIDER)
    if recent >= COMMON * WIDER // SAMPLE:
        return says(workspace_id, term, side_by_side=False)
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


def says(workspace_id: UUID, term: Term, *, side_by_side: bool = True) -> _Condition:
    """Whether a session says a term. The workspace is asked for again: PostgreSQL may take the index by it."""
    in_text = pattern(term)
    if in_text is None or not side_by_side:
        return _Condition(SAYS.replace("$more", ""), (row_query([as_wanted(term)], WORKSPACE, workspace_id),))
    words = row_query([as_wanted(term)], SESSION, ANY)
    return _Condition(SAYS_SIDE_BY_SIDE, (words, in_text, in_text, in_text))


def as_wanted(term: Term) -> Term:
    return replace(term, is_excluded=False)


def pattern(term: Term) -> str | None:
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
