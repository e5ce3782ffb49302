"""Search in one session: by PostgreSQL, over messages, tool arguments and results, folded or not."""

from __future__ import annotations

import re
from dataclasses import dataclass
from uuid import UUID

from django.contrib.postgres.search import SearchQuery
from django.db import connection

from sessions_app.models import EventText

HITS = 40
SNIPPET = 300
"""Characters of a hit that are shown."""
READ = 20_000
"""Characters of an event in which the words are marked; search.MAX_WORDS of them are indexed."""
LONGEST_QUERY = 500
"""Characters of what somebody searches for; the rest is not looked at."""
NEGATIONS = re.compile(r'-(?:[^\w"]*-)+')
"""Dashes with nothing between them that could be searched for: PostgreSQL 18 puts each on a stack of 32 places."""
START, STOP = "\x02", "\x03"
"""Around a found word. No text of a log holds them: rendering shows control characters as pictures."""

SNIPPETS = f"""
SELECT e.seq, e.kind, e.turn, e.tool_name, e.actor_kind, e.actor_name, ts_headline('simple',
    translate(
        concat_ws(' ', left(e.text, {READ}), left(e.arguments #>> '{{}}', {READ}), left(e.result #>> '{{}}', {READ})),
        '{START}{STOP}', ''),
    websearch_to_tsquery('simple', %s),
    'StartSel={START}, StopSel={STOP}, MaxFragments=1, MaxWords=14, MinWords=6, FragmentDelimiter=" … "')
FROM sessions_app_event e WHERE e.session_id = %s AND e.seq = ANY(%s) ORDER BY e.seq
"""


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


@dataclass(frozen=True, slots=True)
class Found:
    """A page of hits in order of ``seq``, and how many there are in all."""

    hits: list[Hit]
    total: int
    later: bool


def searchable(words: str) -> str:
    """What somebody typed, as ``websearch_to_tsquery`` takes it without an error: ``--x`` is ``-x``."""
    return NEGATIONS.sub("-", words.replace("\0", " ")[:LONGEST_QUERY])


def web_search(words: str) -> SearchQuery:
    """A query for all of the words, as in a web search: ``refund "order 4711" -test``."""
    return SearchQuery(searchable(words), config="simple", search_type="websearch")


def find(session_id: UUID, words: str, after: int = 0) -> Found:
    """Events after ``after`` that say all of the words, see ``web_search``."""
    matching = EventText.objects.filter(session_id=session_id, words=web_search(words))
    seqs = list(matching.filter(seq__gt=after).order_by("seq").values_list("seq", flat=True)[: HITS + 1])
    return Found(_hits(session_id, searchable(words), seqs[:HITS]), matching.count(), len(seqs) > HITS)


def _hits(session_id: UUID, words: str, seqs: list[int]) -> list[Hit]:
    with connection.cursor() as cursor:
        cursor.execute(SNIPPETS, [words, session_id, seqs])
        return [
            Hit(seq, kind, turn, tool_name, actor_kind, actor_name, _pieces(snippet))
            for seq, kind, turn, tool_name, actor_kind, actor_name, snippet in cursor.fetchall()
        ]


def _pieces(headline: str) -> list[str]:
    """Text and found words in turns. What is called a word may be a megabyte of base64."""
    return headline[:SNIPPET].replace(STOP, START).split(START)
