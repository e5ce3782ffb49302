"""Everything that is computed from the log: tool calls, model requests, prices, turns, totals.

``project(session, since)`` brings them up to date with the events after ``since``; with ``since=0`` on an empty
projection it is the rebuild. PostgreSQL does the counting, so the size of a session never reaches Python.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

from sessions_app.models import Event, EventText, ModelRequest, Session, ToolCall, Turn

from ..approvals import imported
from . import pricing, search_index, shared_responses

# From so many new events on the planner gets new statistics first, see ``_are_many``.
MANY = 5_000
EVERYTHING = 2**31 - 1
"""A ``seq`` after which there is nothing: no event is new."""
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
MONEY = ("cost_recorded", "cost_priced", "unpriced_tokens", "copied_tokens", "under_reported")
SUM_TOKENS = ", ".join(f"sum({name})::bigint AS {name}" for name in TOKENS)
HERE = "counted_in_id IS NULL"
PAID = "counted_in_id IS NULL AND cost_within IS NULL"
SUM_COUNTED = ", ".join(f"(sum({name}) FILTER (WHERE {HERE}))::bigint AS {name}" for name in TOKENS)
BILLED = " + ".join(f"coalesce({name}, 0)" for name in TOKENS[:4])

CALLS = """
INSERT INTO sessions_app_toolcall (session_id, seq, call_id, name, server, status, turn, started_at)
SELECT session_id, seq, call_id, coalesce(tool_name, ''), tool_server, tool_status, turn, at
FROM sessions_app_event
WHERE session_id = %(session)s AND seq > %(since)s AND kind = 'tool_call'
"""

# A result belongs to the call it names as parent, else to the latest earlier call with its call id. Tells the
# earliest turn whose calls got results: to find it again TURNS would read every call of the session.
RESULTS = """
WITH results AS (
    SELECT DISTINCT ON (call.seq) call.seq AS call_seq, result.seq, result.tool_status, result.at
    FROM sessions_app_event result
    CROSS JOIN LATERAL (
        SELECT seq FROM sessions_app_toolcall c
        WHERE c.session_id = %(session)s AND c.seq < result.seq AND c.seq = result.parent_seq
        UNION ALL
        (SELECT seq FROM sessions_app_toolcall c
         WHERE c.session_id = %(session)s AND c.seq < result.seq AND c.call_id = result.call_id
         ORDER BY seq DESC LIMIT 1)
        LIMIT 1
    ) call
    WHERE result.session_id = %(session)s AND result.seq > %(since)s AND result.kind = 'tool_result'
    ORDER BY call.seq, result.seq
), joined AS (
    UPDATE sessions_app_toolcall c
    SET result_seq = r.seq, status = coalesce(r.tool_status, c.status), ended_at = r.at
    FROM results r
    WHERE c.session_id = %(session)s AND c.seq = r.call_seq AND c.result_seq IS NULL
    RETURNING c.turn
)
SELECT min(turn) FROM joined
"""

# One row per model response. Recorders repeat a response's usage on each of its lines, growing or not: the line
# with the greatest output is the true one in every transcript measured (first-wins loses 70-80 % of the output).
REQUESTS = f"""
WITH lines AS (
    SELECT coalesce(request, 'seq:' || seq) AS key, seq, turn, at, model, {", ".join(TOKENS)},
           cache_write_1h_tokens, coalesce(quality, 'final') AS quality, cost, data ? 'copied_from' AS is_copy,
           CASE WHEN request IS NOT NULL
                     AND (SELECT response_scope FROM sessions_app_session WHERE id = %(session)s) <> ''
                THEN md5(kind || ' ' || text || coalesce(arguments::text, '')) END AS said
    FROM sessions_app_event
    WHERE session_id = %(session)s AND seq > %(since)s
      AND (num_nonnulls({", ".join(TOKENS)}) > 0 OR cost IS NOT NULL)
), spans AS (
    SELECT key, max(seq) AS last_seq, min(turn) AS turn, min(at) AS at, max(cost) AS cost,
           bool_or(is_copy) AS is_copy, (array_agg(said ORDER BY seq))[1] AS said,
           (array_agg(model ORDER BY seq) FILTER (WHERE model IS NOT NULL))[1] AS model
    FROM lines GROUP BY key
), best AS (
    SELECT DISTINCT ON (key) key, {", ".join(TOKENS)}, cache_write_1h_tokens, quality
    FROM lines ORDER BY key, output_tokens DESC NULLS LAST, seq DESC
)
INSERT INTO sessions_app_modelrequest AS r
    (session_id, key, seq, turn, at, model, {", ".join(TOKENS)}, cache_write_1h_tokens, quality, cost_recorded,
     price_source, identity, is_copy)
SELECT %(session)s, key, spans.last_seq, spans.turn, spans.at, spans.model, {", ".join(f"best.{n}" for n in TOKENS)},
       best.cache_write_1h_tokens, best.quality, spans.cost, '',
       md5(s.workspace_id || ' ' || s.response_scope || ' ' || key || ' ' || said)::uuid, spans.is_copy
FROM best JOIN spans USING (key) JOIN sessions_app_session s ON s.id = %(session)s
ON CONFLICT (session_id, key) DO UPDATE SET
    seq = excluded.seq,
    at = least(r.at, excluded.at),
    {", ".join(f"{n} = CASE WHEN {{better}} THEN excluded.{n} ELSE r.{n} END" for n in TOKENS)},
    cache_write_1h_tokens = CASE WHEN {{better}} THEN excluded.cache_write_1h_tokens ELSE r.cache_write_1h_tokens END,
    quality = CASE WHEN {{better}} THEN excluded.quality ELSE r.quality END,
    model = coalesce(r.model, excluded.model),
    cost_recorded = greatest(r.cost_recorded, excluded.cost_recorded),
    is_copy = r.is_copy OR excluded.is_copy, cost_within = NULL,
    price_source = '', cost_priced = NULL
""".replace("{better}", "coalesce(excluded.output_tokens, -1) >= coalesce(r.output_tokens, -1)")

# A recorder may state what everything cost since its last such statement, sub-agents and side calls included: the
# responses in between keep their own price to look at, and the sums take the statement.
STATEMENTS = """
SELECT min(seq) FROM sessions_app_event
WHERE session_id = %(session)s AND seq > %(since)s AND cost IS NOT NULL AND data ? 'cost_covers'
"""
COVERED = """
WITH covered AS (
    UPDATE sessions_app_modelrequest r
    SET cost_within = (SELECT min(e.seq) FROM sessions_app_event e
                       WHERE e.session_id = %(session)s AND e.seq > greatest(r.seq, %(since)s)
                         AND e.cost IS NOT NULL AND e.data ? 'cost_covers')
    WHERE r.session_id = %(session)s AND r.cost_within IS NULL
      AND NOT EXISTS (SELECT 1 FROM sessions_app_event e
                      WHERE e.session_id = %(session)s AND e.seq = r.seq AND e.data ? 'cost_covers')
      AND EXISTS (SELECT 1 FROM sessions_app_event e
                  WHERE e.session_id = %(session)s AND e.seq > greatest(r.seq, %(since)s)
                    AND e.cost IS NOT NULL AND e.data ? 'cost_covers')
    RETURNING turn
)
SELECT min(turn) FROM covered
"""

# The first turn that changed. Asked by itself: with a number PostgreSQL goes by the index, with a subquery in its
# place it reads the whole log (78 ms instead of 1 ms for one event at the end of 50,000).
FIRST_TURN = """
SELECT least(
    (SELECT min(turn) FROM sessions_app_event WHERE session_id = %(session)s AND seq > %(since)s),
    (SELECT min(turn) FROM sessions_app_modelrequest WHERE session_id = %(session)s AND seq > %(since)s),
    %(joined)s::int, %(covered)s::int, %(moved)s::int
)
"""

TURNS = f"""
WITH logged AS (
    SELECT turn, min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS event_count, min(at) AS started_at,
           max(at) AS ended_at, count(*) FILTER (WHERE kind = 'error') AS errors,
           array_agg(DISTINCT model) FILTER (WHERE model IS NOT NULL) AS models_said,
           min(seq) FILTER (WHERE kind = 'user_message' AND depth = 0) AS prompt_seq
    FROM sessions_app_event
    WHERE session_id = %(session)s AND turn >= %(turn)s GROUP BY turn
), calls AS (
    SELECT turn, count(*) AS tool_calls, count(*) FILTER (WHERE status = 'error') AS errors
    FROM sessions_app_toolcall
    WHERE session_id = %(session)s AND turn >= %(turn)s GROUP BY turn
), requests AS (
    SELECT turn, {SUM_COUNTED}, sum(cost_recorded) FILTER (WHERE {PAID}) AS cost_recorded,
           sum(cost_priced) FILTER (WHERE cost_recorded IS NULL AND {PAID}) AS cost_priced,
           coalesce(sum({BILLED}) FILTER (WHERE cost_recorded IS NULL AND cost_priced IS NULL AND {PAID}), 0)
               AS unpriced_tokens,
           coalesce(sum({BILLED}) FILTER (WHERE NOT {HERE}), 0) AS copied_tokens,
           count(*) FILTER (WHERE quality = 'placeholder' AND {HERE}) AS under_reported,
           array_remove(array_agg(DISTINCT model), NULL) AS model_names
    FROM sessions_app_modelrequest
    WHERE session_id = %(session)s AND turn >= %(turn)s GROUP BY turn
)
INSERT INTO sessions_app_turn
    (session_id, index, first_seq, last_seq, event_count, started_at, ended_at, prompt, model_names, tool_calls, errors,
     {", ".join(TOKENS)}, {", ".join(MONEY)})
SELECT %(session)s, logged.turn, first_seq, last_seq, event_count, logged.started_at, logged.ended_at,
       coalesce((SELECT left(text, 2000) FROM sessions_app_event e
                 WHERE e.session_id = %(session)s AND e.seq = logged.prompt_seq), ''),
       coalesce(nullif(model_names, '{{}}'), models_said, '{{}}'), coalesce(tool_calls, 0),
       logged.errors + coalesce(calls.errors, 0),
       {", ".join(TOKENS)}, cost_recorded, cost_priced, coalesce(unpriced_tokens, 0), coalesce(copied_tokens, 0),
       coalesce(under_reported, 0)
FROM logged LEFT JOIN calls USING (turn) LEFT JOIN requests USING (turn)
ON CONFLICT (session_id, index) DO UPDATE SET
    {", ".join(f"{n} = excluded.{n}" for n in (
        "first_seq", "last_seq", "event_count", "started_at", "ended_at", "prompt", "model_names", "tool_calls",
        "errors", *TOKENS, *MONEY))}
"""  # fmt: skip

OTHERS_CLOCK = "'import', 'otlp'"
"""Origins of sessions that ran elsewhere before they came here: their times are the recorder's. All others began here:
what a sender claims of its events moves neither their beginning before the session was made nor their end beyond now.
"""
TOTALS = f"""
UPDATE sessions_app_session s SET
    last_seq = t.last_seq, last_turn = t.last_turn, event_count = t.event_count, turn_count = t.turn_count,
    tool_call_count = t.tool_calls, error_count = t.errors,
    updated_at = CASE WHEN s.last_seq = t.last_seq THEN s.updated_at ELSE now() END,
    started_at = CASE WHEN s.origin IN ({OTHERS_CLOCK}) THEN least(s.started_at, t.started_at)
                      ELSE coalesce(s.started_at, greatest(t.started_at, s.created_at)) END,
    ended_at = CASE WHEN s.origin IN ({OTHERS_CLOCK}) THEN greatest(s.ended_at, t.ended_at)
                    WHEN t.ended_at IS NULL THEN s.ended_at
                    ELSE greatest(s.ended_at, least(t.ended_at, now()), s.created_at) END,
    {", ".join(f"{n} = t.{n}" for n in (*TOKENS, *MONEY))},
    title = CASE WHEN s.title = '' OR s.title_is_prompt THEN t.title ELSE s.title END,
    title_is_prompt = s.title = '' OR s.title_is_prompt,
    tools_invoked = coalesce((SELECT array_agg(name ORDER BY name) FROM (
        SELECT unnest(s.tools_invoked) AS name
        UNION SELECT name FROM sessions_app_toolcall WHERE session_id = s.id AND seq > %(since)s AND name <> ''
    ) names), '{{}}'),
    model_names = coalesce((SELECT array_agg(DISTINCT name ORDER BY name)
                            FROM sessions_app_turn, unnest(model_names) name WHERE session_id = s.id), '{{}}')
FROM (
    SELECT max(last_seq) AS last_seq, max(index) AS last_turn, sum(event_count) AS event_count,
           count(*) FILTER (WHERE index > 0) AS turn_count, sum(tool_calls) AS tool_calls, sum(errors) AS errors,
           min(started_at) AS started_at, max(ended_at) AS ended_at, {SUM_TOKENS},
           sum(cost_recorded) AS cost_recorded, sum(cost_priced) AS cost_priced,
           sum(unpriced_tokens)::bigint AS unpriced_tokens, sum(copied_tokens)::bigint AS copied_tokens,
           sum(under_reported)::int AS under_reported,
           coalesce((SELECT left(regexp_replace(trim(prompt), '\\s+', ' ', 'g'), 120) FROM sessions_app_turn
                     WHERE session_id = %(session)s AND prompt <> '' ORDER BY started_at, index LIMIT 1), '') AS title
    FROM sessions_app_turn WHERE session_id = %(session)s
) t
WHERE s.id = %(session)s
"""  # fmt: skip

UNPRICED = f"""
SELECT r.key, r.model, coalesce(r.at, s.created_at), {", ".join(f"coalesce(r.{n}, 0)" for n in (*TOKENS[:3],
    "cache_write_1h_tokens", TOKENS[3]))}
FROM sessions_app_modelrequest r JOIN sessions_app_session s ON s.id = r.session_id
WHERE r.session_id = %(session)s AND r.seq > %(since)s AND r.price_source = ''
"""  # fmt: skip

PRICED = """
UPDATE sessions_app_modelrequest r SET cost_priced = p.amount, price_source = p.source
FROM unnest(%s::text[], %s::numeric[], %s::text[]) AS p(key, amount, source)
WHERE r.session_id = %s AND r.key = p.key
"""


@transaction.atomic
def project(session_id: UUID, since: int) -> None:
    """Bring the projections of a session up to date with its events after ``since``.

    Responses that other sessions repeat are counted in one of them: those whose share changes are brought up to date
    as well.
    """
    scope = {"session": session_id, "since": since}
    with connection.cursor() as cursor:
        many = _are_many(cursor, scope)
        _write(cursor, CALLS, scope, analyze="toolcall" if many else "")
        scope["joined"] = _number(cursor, RESULTS, scope)
        _write(cursor, REQUESTS, scope, analyze="modelrequest" if many else "")
        _price(session_id, since)
        states = _number(cursor, STATEMENTS, scope)
        scope["covered"] = _number(cursor, COVERED, scope) if states else None
        moved = shared_responses.assign_owners(session_id, since)
        scope["moved"] = moved.pop(session_id, None)
        scope["turn"] = _number(cursor, FIRST_TURN, scope)
        _sum_up(cursor, scope)
        for other, turn in moved.items():
            _sum_up(cursor, {"session": other, "since": EVERYTHING, "turn": turn})
    imported.project(session_id, since)
    imported.note_executions(session_id, since)
    search_index.index_if_small(session_id)


def count(session_id: UUID, since: int, turn: int) -> None:
    """The same where the new events, the first of them in ``turn``, came from no file and none is a call, a result or
    a response: they add to turns, totals and search alone. 6 statements and not 19, which is what a decision costs.
    """
    with connection.cursor() as cursor:
        _sum_up(cursor, {"session": session_id, "since": since, "turn": turn})
    search_index.index_if_small(session_id)


@transaction.atomic
def release_responses(session_id: UUID) -> None:
    """Count what is counted in this session, which is about to go, in the others that repeat it."""
    moved = shared_responses.release(session_id)
    with connection.cursor() as cursor:
        for other, turn in moved.items():
            _sum_up(cursor, {"session": other, "since": EVERYTHING, "turn": turn})


def _sum_up(cursor: CursorWrapper, scope: dict[str, Any]) -> None:
    """Turns from the one that ``scope`` names on, and the totals of the session."""
    cursor.execute(TURNS, scope)
    cursor.execute(TOTALS, scope)


def _number(cursor: CursorWrapper, statement: str, scope: dict[str, Any]) -> int | None:
    cursor.execute(statement, scope)
    return cursor.fetchone()[0]


def _write(cursor: CursorWrapper, statement: str, scope: dict[str, Any], analyze: str) -> None:
    cursor.execute(statement, scope)
    if analyze:
        cursor.execute(f"ANALYZE sessions_app_{analyze}")


def _are_many(cursor: CursorWrapper, scope: dict[str, Any]) -> bool:
    """Whether so many events are new that the planner must be told, which this does for the log itself.

    With the statistics of a small table the statements below join in nested loops: 106 s for 50,000 events
    instead of 6 s, measured on PostgreSQL 18.
    """
    cursor.execute("SELECT max(seq) FROM sessions_app_event WHERE session_id = %(session)s", scope)
    many = (cursor.fetchone()[0] or 0) - scope["since"] > MANY
    if many:
        cursor.execute("ANALYZE sessions_app_event (session_id, seq, turn, kind, parent_seq, call_id, request)")
    return many


@transaction.atomic
def rebuild(session_id: UUID) -> None:
    """Throw the projections of a session away and compute them from its log again."""
    session = Session.objects.select_for_update().only("id", "metadata").get(pk=session_id)
    for model in (ToolCall, ModelRequest, Turn, EventText):
        model.objects.filter(session_id=session_id).delete()
    Session.objects.filter(pk=session_id).update(indexed_seq=0, tools_invoked=stated_tools(session.metadata))
    if Event.objects.filter(session_id=session_id).exists():
        project(session_id, since=0)
        search_index.index(session_id)


def stated_tools(metadata: dict[str, Any]) -> list[str]:
    """Names of tools that a file states beside its events (``tools_invoked`` of a product graph); they are no calls."""
    tools = metadata.get("tools_invoked")
    return sorted({name for name in tools if isinstance(name, str)}) if isinstance(tools, list) else []


def _price(session_id: UUID, since: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(UNPRICED, {"session": session_id, "since": since})
        keys: list[str] = []
        amounts: list[Decimal | None] = []
        for key, model, at, *tokens in cursor.fetchall():
            keys.append(key)
            amounts.append(pricing.price(model, at, tuple(tokens)))
        if keys:
            sources = [pricing.UNPRICED if amount is None else pricing.SOURCE for amount in amounts]
            cursor.execute(PRICED, [keys, amounts, sources, session_id])
