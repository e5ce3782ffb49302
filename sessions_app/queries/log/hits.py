"""Hits in context of a few sessions at once: what a page of search results shows under each session.

Of each session the index tells one or two stretches of at most 64 events that have the words, and these are read. So a
page costs as much for sessions of 50,000 events as for those of 50.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models import FileText, Session, ToolCall
from sessions_app.search import typed
from sessions_app.search.marking import snippet
from sessions_app.search.operators import Read
from sessions_app.search.typed import Query, Term
from sessions_app.search.words import words as words_of

from . import marks
from .search import Hit, Range
from .search_text import SESSION, TEXT, row_query

SHOWN = 3
"""Hits under a session."""
STRETCHES = 2
"""Stretches of a session that are read where the first one holds too few hits."""
FIRST = 32
"""Events of a stretch that are read before the rest of it: of a common word they often hold all hits that are shown."""
ROWS_LOOKED_AT = 50
"""Rows of the index from which the first of a session are taken."""
CALLS = ("tool_call", "tool_result", "file_change", "artifact")
"""Kinds of events that ``file:`` is about: a path in prose is no file that was worked on."""

# Stretches with all of the words before those with some of them (rank 1): words may stand in different events.
RANGES = """
SELECT wanted.session, wanted.rank, found.first_seq, found.last_seq
FROM unnest(%s::uuid[], %s::int[], %s::text[]) AS wanted (session, rank, query)
CROSS JOIN LATERAL (
    SELECT first_seq, last_seq FROM countersign_search_rows(wanted.query::tsquery, %s) WHERE first_seq > 0
    ORDER BY first_seq LIMIT %s
) AS found
ORDER BY wanted.session, wanted.rank, found.first_seq
"""
# Each stretch is read by itself (OFFSET 0) and from the index of its order, whatever the statistics say. They leave one
# row for a session that is newer than they are: any index of sessions is as good then, and all of it is read.
EVENTS = f"""
SELECT e.session_id, e.seq, e.kind, e.turn, e.tool_name, e.actor_kind, e.actor_name, e.tool_status, e.model, {TEXT}
FROM unnest(%s::uuid[], %s::int[], %s::int[]) AS wanted (session, first, last) CROSS JOIN LATERAL (
    SELECT * FROM sessions_app_event WHERE session_id = wanted.session AND seq BETWEEN first AND last
    ORDER BY seq OFFSET 0
) AS e ORDER BY e.session_id, e.seq
"""
ERRORS = f"""
SELECT wanted.session, of_session.seq FROM unnest(%(sessions)s::uuid[]) AS wanted (session)
CROSS JOIN LATERAL ({marks.ERRORS.replace("%(session)s", "wanted.session")}) AS of_session
"""
Scored = tuple[int, tuple[Any, ...]]
"""How much of a search an event says, and its row."""
Call = tuple[str, str | None]
"""Name and status of the call that an event is, or is the result of."""


@dataclass(slots=True)
class Hits:
    """What was found in one session, in order of ``seq``."""

    shown: list[Hit] = field(default_factory=list)
    more: bool = False
    """Whether the session says it elsewhere, too."""
    strict: bool = True
    """Whether the hits are of what operators ask for (``tool:``, ``file:`` ...), and not only of the words."""
    in_file: list[str] = field(default_factory=list)
    """Where no event says it: pieces of what its file says beside them, every second one found."""


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What operators ask of an event, beside the words: each has to hold."""

    tools: tuple[str, ...] = ()
    files: tuple[Query, ...] = ()
    models: tuple[str, ...] = ()
    failed: bool = False

    @classmethod
    def of(
        cls, read: Read, spellings: Any, models: Sequence[str], tool: str = "", *, failed: bool = False
    ) -> Narrowing:
        """Of operators, and of filters of the same names. ``spellings``: how a tool's name may be written."""
        return cls(
            tuple(one for name in (*read.values("tool"), tool) if name for one in spellings(name)),
            tuple(typed.read(f'"{path}"') for path in read.values("file")),
            tuple(models),
            failed or bool(read.values("has_errors")),
        )

    def __bool__(self) -> bool:
        return bool(self.tools or self.files or self.models or self.failed)

    def passes(self, kind: str, model: str | None, status: str | None, call: Call | None, text: str) -> bool:
        """Whether an event is what is asked for."""
        if self.tools and (call is None or call[0] not in self.tools):
            return False
        if self.failed and not (kind == "error" or "error" in (status, call and call[1])):
            return False
        if self.models and model not in self.models:
            return False
        return not self.files or kind in CALLS and all(one.is_met_by(text) for one in self.files)


def hits_of(sessions: Sequence[Session], words: str, narrowing: Narrowing) -> dict[UUID, Hits]:
    """The first hits of each session, by its id."""
    query = typed.read(words)
    if narrowing.failed and not (query.wanted or narrowing.tools or narrowing.files or narrowing.models):
        return _errors([one.pk for one in sessions], query)
    ranges = _ranges([one.pk for one in sessions], query, narrowing)
    found: dict[UUID, Hits] = {}
    for place in range(STRETCHES):
        wanting = {id_: those[place] for id_, those in ranges.items() if len(those) > place and _wants(found.get(id_))}
        if not wanting:
            break
        follow = {id_ for id_ in wanting if len(ranges[id_]) > place + 1}
        for id_, hits in _read(wanting, query, narrowing, follow, found).items():
            found[id_] = _joined(found.get(id_), hits)
            found[id_].more |= id_ in follow
    for id_, pieces in _in_files([one.pk for one in sessions if not _says(found.get(one.pk))], query).items():
        found.setdefault(id_, Hits()).in_file = pieces
    return found


def _says(hits: Hits | None) -> bool:
    return hits is not None and bool(hits.shown)


def _in_files(ids: list[UUID], query: Query) -> dict[UUID, list[str]]:
    """Of sessions none of whose events says it: what their files say beside them."""
    if not ids or not query.wanted:
        return {}
    texts = FileText.objects.filter(session_id__in=ids).exclude(text="").values_list("session_id", "text")
    return {id_: snippet(text, query) for id_, text in texts if _score(text, query)}


def _wants(hits: Hits | None) -> bool:
    return hits is None or len(hits.shown) < SHOWN


def _joined(before: Hits | None, hits: Hits) -> Hits:
    """Hits of two stretches; where one alone has what operators ask for, its own."""
    if before is None or not before.shown or hits.strict and not before.strict:
        return hits
    if not hits.shown or before.strict and not hits.strict:
        return before
    both = sorted([*before.shown, *hits.shown], key=lambda hit: hit.seq)
    return Hits(both[:SHOWN], before.more or hits.more or len(both) > SHOWN, before.strict)


def _ranges(ids: list[UUID], query: Query, narrowing: Narrowing) -> dict[UUID, list[Range]]:
    """Stretches of each session to be read, the best first."""
    asked = [(id_, rank, one) for id_ in ids for rank, one in enumerate(_questions(id_, query, narrowing))]
    if not asked:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(RANGES, [*(list(column) for column in zip(*asked, strict=True)), ROWS_LOOKED_AT, STRETCHES + 1])
        rows = cursor.fetchall()
    return {
        id_: list(dict.fromkeys((first, last) for _, _, first, last in those))
        for id_, those in groupby(rows, key=lambda row: row[0])
    }


def _questions(session_id: UUID, query: Query, narrowing: Narrowing) -> list[str]:
    """Questions to the index, the best first: for all words and what operators name, for the words, for any of them."""
    alternatives = [[term for term in terms if not term.is_excluded] for terms in query.alternatives] or [[]]
    named = [*_named(narrowing.tools[:1]), *(term for one in narrowing.files for term in one.wanted)]
    asked = [[[*terms, *named] for terms in alternatives], alternatives, [[term] for term in query.wanted]]
    written = (
        " | ".join(f"({row_query(terms, SESSION, session_id)})" for terms in one if terms) for one in asked if one
    )
    return list(dict.fromkeys(one for one in written if one))


def _named(names: Sequence[str]) -> list[Term]:
    return [term for name in names for term in typed.read(f'"{name}"').wanted]


def _read(
    wanting: dict[UUID, Range], query: Query, narrowing: Narrowing, follow: Container[UUID], before: dict[UUID, Hits]
) -> dict[UUID, Hits]:
    """Hits within one stretch of each session, of which those in ``follow`` have more of them, and those in ``before``
    some hits already. What follows hits that nothing is better than, as many as are shown, is not read.
    """
    begun = {id_: (first, min(last, first + FIRST - 1)) for id_, (first, last) in wanting.items()}
    read = _by_session(begun, query)
    rest = {
        id_: (first + FIRST, last)
        for id_, (first, last) in wanting.items()
        if last >= first + FIRST
        and (narrowing or _best(read.get(id_, ()), query) < _enough(before.get(id_), first) + (id_ not in follow))
    }
    for id_, rows in (_by_session(rest, query) if rest else {}).items():
        read[id_] = [*read.get(id_, ()), *rows]
    calls = _calls(wanting) if narrowing.tools or narrowing.failed else {}
    return {id_: _hits_in(rows, query, narrowing, calls.get(id_, {})) for id_, rows in read.items()}


def _best(rows: Sequence[Scored], query: Query) -> int:
    """How many of some events say all that is looked for."""
    return sum(score > len(query.wanted) for score, _ in rows)


def _enough(before: Hits | None, first: int) -> int:
    """How many hits of a stretch from ``first`` on are shown: those of one before it in the session stay."""
    return SHOWN - len(before.shown) if before and before.shown and before.shown[-1].seq < first else SHOWN


def _by_session(stretches: dict[UUID, Range], query: Query) -> dict[UUID, list[Scored]]:
    """The events of a stretch of each session, in order, without its id, and how much of a search each says."""
    rows = _events([(id_, first, last) for id_, (first, last) in stretches.items()])
    by_session = groupby(rows, key=lambda row: row[0])
    return {id_: [(_score(row[-1], query), row[1:]) for row in those] for id_, those in by_session}


def _events(stretches: list[tuple[UUID, int, int]]) -> list[Any]:
    """The events of stretches, by session and in order, each with its text at the end."""
    ids, firsts, lasts = (list(column) for column in zip(*stretches, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(EVENTS, [ids, firsts, lasts])
        return cursor.fetchall()


def _errors(ids: list[UUID], query: Query) -> dict[UUID, Hits]:
    """The first errors of each session, where nothing but errors is looked for."""
    with connection.cursor() as cursor:
        cursor.execute(ERRORS, {"sessions": ids, "most": SHOWN + 1})
        seqs = cursor.fetchall()
    rows = _events([(id_, seq, seq) for id_, seq in seqs]) if seqs else []
    return {
        id_: Hits([_hit(row[1:], query, Narrowing()) for row in those[:SHOWN]], len(those) > SHOWN)
        for id_, group in groupby(rows, key=lambda row: row[0])
        for those in [list(group)]
    }


def _calls(wanting: dict[UUID, Range]) -> dict[UUID, dict[int, Call]]:
    """Calls within the stretches by the events that they and their results are."""
    found: dict[UUID, dict[int, Call]] = {}
    first = min(first for first, _ in wanting.values())
    last = max(last for _, last in wanting.values())
    rows = ToolCall.objects.filter(session__in=list(wanting), seq__range=(first, last)).order_by("session_id", "seq")
    for session, seq, result, name, status in rows.values_list("session_id", "seq", "result_seq", "name", "status"):
        here = found.setdefault(session, {})
        here[seq] = here[result or seq] = (name, status)
    return found


def _hits_in(rows: list[Scored], query: Query, narrowing: Narrowing, calls: dict[int, Call]) -> Hits:
    """Hits among the events of a stretch: those that say most of the words, of these the first."""
    said: list[tuple[int, bool, Any]] = []
    for score, row in rows:
        seq, kind, _, _, _, _, status, model, text = row
        if score or (narrowing and not query.wanted):
            said.append((score, narrowing.passes(kind, model, status, calls.get(seq), text), row))
    strict = [one for one in said if one[1]]
    is_strict = bool(strict) or not narrowing
    chosen = strict or (said if query.wanted else [])
    best = max((score for score, _, _ in chosen), default=0)
    kept = [row for score, _, row in chosen if score == best]
    return Hits([_hit(row, query, narrowing) for row in kept[:SHOWN]], len(kept) > SHOWN, is_strict)


def _score(text: str, query: Query) -> int:
    """How much of a search an event says: most where it is met, else the number of its words."""
    if query.is_met_by(text):
        return len(query.wanted) + 1
    found = words_of(text)
    return sum(term.is_said_in(text, found) for term in query.wanted)


def _hit(row: Any, query: Query, narrowing: Narrowing) -> Hit:
    seq, kind, turn, tool_name, actor_kind, actor_name, _, _, text = row
    marked = query if query.wanted else narrowing.files[0] if narrowing.files else query
    return Hit(seq, kind, turn, tool_name, actor_kind, actor_name, snippet(text, marked))
