"""Rows that the bill of a session is made of, each kind in one query: 20,000 requests are 20,000 short tuples."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from ..log.timeline import SMALL


class RequestRow(NamedTuple):
    """A model request, and where its last event lies."""

    key: str
    seq: int
    at: datetime | None
    model: str | None
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    cache_write_1h_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_recorded: Decimal | None
    cost_priced: Decimal | None
    is_within: bool
    is_copy: bool
    is_placeholder: bool
    depth: int
    parent_seq: int | None
    actor_name: str
    covers: bool


class CallRow(NamedTuple):
    """A tool call, the key of the response that asks for it, and the bytes of its result in the log."""

    seq: int
    name: str
    result_seq: int | None
    request: str
    depth: int
    parent_seq: int | None
    actor_name: str
    size: int | None


REQUESTS = """
SELECT r.key, r.seq, r.at, r.model, r.input_tokens, r.cache_read_tokens, r.cache_write_tokens, r.cache_write_1h_tokens,
       r.output_tokens, r.reasoning_tokens, r.cost_recorded, r.cost_priced, r.cost_within IS NOT NULL,
       r.counted_in_id IS NOT NULL, r.quality = 'placeholder', coalesce(e.depth, 0), e.parent_seq,
       coalesce(e.actor_name, ''), coalesce(e.data ? 'cost_covers', false)
FROM sessions_app_modelrequest r
LEFT JOIN sessions_app_event e ON e.session_id = %(session)s AND e.seq = r.seq
WHERE r.session_id = %(session)s ORDER BY r.seq, r.key
"""
# A result's text as a model reads it, else its JSON; of large JSON the size as it is stored, which costs no reading.
CALLS = f"""
SELECT c.seq, c.name, c.result_seq, coalesce(e.request, 'seq:' || e.seq), e.depth, e.parent_seq, e.actor_name,
       CASE WHEN a.text <> '' THEN octet_length(a.text)
            WHEN pg_column_size(a.result) <= {SMALL} THEN octet_length(a.result::text)
            ELSE pg_column_size(a.result) END
FROM sessions_app_toolcall c
JOIN sessions_app_event e ON e.session_id = %(session)s AND e.seq = c.seq
LEFT JOIN sessions_app_event a ON a.session_id = %(session)s AND a.seq = c.result_seq
WHERE c.session_id = %(session)s ORDER BY c.seq
"""
NESTED = """
SELECT seq, parent_seq FROM sessions_app_event
WHERE session_id = %(session)s AND depth > 0 AND parent_seq IS NOT NULL
"""
COMPACTIONS = """
SELECT seq, depth, parent_seq, actor_name FROM sessions_app_event
WHERE session_id = %(session)s AND kind = 'compaction' ORDER BY seq
"""


def requests(session_id: UUID) -> list[RequestRow]:
    """All model requests of a session in order of their last event."""
    return [RequestRow(*row) for row in _fetch(REQUESTS, session_id)]


def calls(session_id: UUID) -> list[CallRow]:
    """All tool calls of a session in order."""
    return [CallRow(*row) for row in _fetch(CALLS, session_id)]


def parents(session_id: UUID) -> dict[int, int]:
    """The event below which each event of a sub-agent lies."""
    return dict(_fetch(NESTED, session_id))


def compactions(session_id: UUID) -> list[tuple[Any, ...]]:
    """Where contexts were made smaller: seq, depth, parent_seq and actor_name of each event."""
    return _fetch(COMPACTIONS, session_id)


def _fetch(statement: str, session_id: UUID) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"session": session_id})
        return cursor.fetchall()
