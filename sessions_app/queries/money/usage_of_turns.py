"""Usage of a period added up from its turns: how it is read until totals are kept of all sessions.

A turn belongs to the moment it began, and everything in it belongs to the turn: so every grouping adds up to the
same total. Tokens stand once per model response. A response that calls several tools is shared among its calls.
A turn that ran here is paid from the AI wallet and its calls from the data wallet; what ran elsewhere, imported or
reported, is paid from neither. What an erased session took from the wallets stays in the sums, without a session, a
model, and any place among those of an origin or tag; its turns belong to the moment when they were booked.
"""

from __future__ import annotations

from typing import Any

from django.db import connection

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
MONEY = ("cost_recorded", "cost_priced", "unpriced_tokens", "under_reported")
FACTS = ", ".join((*TOKENS, *MONEY))

IN_PERIOD = """
          (%(from)s::timestamptz IS NULL OR {began} >= %(from)s)
      AND (%(to)s::timestamptz IS NULL OR {began} < %(to)s)
      AND (%(agent)s = '' OR %(agent)s IN (a.id::text, a.slug, a.name))"""
WITHOUT_SESSION = f"""
    LEFT JOIN sessions_app_agent a ON a.id = u.agent_id
    WHERE u.workspace_id = %(workspace)s AND %(origin)s = '' AND %(tag)s = '' AND {IN_PERIOD.format(began="u.at")}
      AND NOT EXISTS (SELECT FROM sessions_app_session s WHERE s.id = u.session_id)"""
# ``here`` also holds for the turn in flight, which is booked when it rests.
PERIOD = f"""
WITH turns AS (
    SELECT t.session_id, t.index, t.tool_calls, {", ".join(f"t.{name}" for name in (*TOKENS, *MONEY))},
           s.agent_id, a.name AS agent_name, s.title AS session_title, u.runtime_ms,
           coalesce(t.started_at, s.started_at, s.created_at) AS began,
           (u.id IS NOT NULL OR f.session_id IS NOT NULL) AS here, false AS erased
    FROM sessions_app_turn t
    JOIN sessions_app_session s ON s.id = t.session_id
    JOIN sessions_app_agent a ON a.id = s.agent_id
    LEFT JOIN sessions_app_turnusage u ON u.session_id = t.session_id AND u.turn = t.index
    LEFT JOIN sessions_app_turninflight f ON f.session_id = t.session_id AND f.turn = t.index
    WHERE s.workspace_id = %(workspace)s
      AND NOT EXISTS (SELECT FROM sessions_app_approval p WHERE p.session_id = s.id AND p.planted)
      AND {IN_PERIOD.format(began="coalesce(t.started_at, s.started_at, s.created_at)")}
      AND (%(origin)s = '' OR s.origin = %(origin)s)
      AND (%(tag)s = '' OR s.tags @> ARRAY[%(tag)s])
    UNION ALL
    SELECT u.session_id, u.turn, 0, {", ".join(f"u.{name}" for name in TOKENS)},
           CASE WHEN u.price_source = 'runtime' THEN u.cost END, CASE WHEN u.price_source <> 'runtime' THEN u.cost END,
           u.unpriced_tokens, 0, u.agent_id, a.name, NULL, u.runtime_ms, u.at, true, true
    FROM sessions_app_turnusage u {WITHOUT_SESSION}
), bought AS (
    SELECT t.session_id, t.index AS turn, t.agent_id, t.agent_name, t.session_title, t.began, c.seq, c.name AS tool,
           u.cost AS data, false AS erased
    FROM sessions_app_callusage u
    JOIN sessions_app_toolcall c ON c.session_id = u.session_id AND c.seq = u.seq
    JOIN turns t ON t.session_id = c.session_id AND t.index = c.turn
    WHERE u.workspace_id = %(workspace)s AND u.status = 'ok' AND u.cost IS NOT NULL
    UNION ALL
    SELECT u.session_id, NULL, u.agent_id, a.name, NULL, u.at, u.seq, u.tool, u.cost, true
    FROM sessions_app_callusage u {WITHOUT_SESSION} AND u.status = 'ok' AND u.cost IS NOT NULL
)
"""

BILLED = " + ".join(f"coalesce(r.{name}, 0)" for name in TOKENS[:4])
HERE = "r.counted_in_id IS NULL"
PAID = "r.counted_in_id IS NULL AND r.cost_within IS NULL"
NOTHING = ", ".join("NULL::numeric" for _ in (*TOKENS, *MONEY))
RESPONSES = f"""
, responses AS (
    SELECT r.session_id, r.turn, r.key, r.model, turns.here,
           {", ".join(f"CASE WHEN {HERE} THEN r.{name} END AS {name}" for name in TOKENS)},
           CASE WHEN {PAID} THEN r.cost_recorded END AS cost_recorded,
           CASE WHEN {PAID} AND r.cost_recorded IS NULL THEN r.cost_priced END AS cost_priced,
           CASE WHEN {PAID} AND r.cost_recorded IS NULL AND r.cost_priced IS NULL THEN {BILLED} ELSE 0 END
               AS unpriced_tokens,
           CASE WHEN {HERE} AND r.quality = 'placeholder' THEN 1 ELSE 0 END AS under_reported
    FROM turns JOIN sessions_app_modelrequest r ON r.session_id = turns.session_id AND r.turn = turns.index
), silent AS (
    SELECT session_id, index AS turn, tool_calls, here FROM turns
    WHERE num_nonnulls({", ".join(TOKENS)}, cost_recorded, cost_priced) = 0 AND NOT erased
)
"""
# Turns without any response are added with UNION, not joined: PostgreSQL has no statistics of these tables of the
# moment, and looked through one of them for each row of the other (2.3 s for 10,000 responses, against 0.03 s).
BY_MODEL = f"""
, spent AS (
    SELECT session_id, turn, model, {FACTS}, here, NULL::bigint AS runtime_ms, NULL::numeric AS data FROM responses
    UNION ALL SELECT session_id, turn, NULL, {NOTHING}, here, NULL, NULL FROM silent
    UNION ALL SELECT session_id, index, NULL, {FACTS}, here, NULL, NULL FROM turns WHERE erased
    UNION ALL SELECT b.session_id, b.turn, r.model, {NOTHING}, true, NULL, b.data
    FROM bought b
    LEFT JOIN sessions_app_event e ON e.session_id = b.session_id AND e.seq = b.seq
    LEFT JOIN sessions_app_modelrequest r ON r.session_id = b.session_id AND r.key = e.request
)
"""
# Calls without a known response count as calls; responses without a call stand in the row without a tool.
BY_TOOL = f"""
, asked AS (
    SELECT c.session_id, c.turn, coalesce(e.request, 'seq:' || e.seq) AS key, c.name AS tool, count(*) AS calls,
           bool_or(turns.here) AS here
    FROM turns
    JOIN sessions_app_toolcall c ON c.session_id = turns.session_id AND c.turn = turns.index
    JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
    GROUP BY c.session_id, c.turn, coalesce(e.request, 'seq:' || e.seq), c.name
), shares AS (
    SELECT *, calls / sum(calls) OVER (PARTITION BY session_id, key) AS share FROM asked
), spent AS (
    SELECT coalesce(s.session_id, r.session_id) AS session_id, coalesce(s.turn, r.turn) AS turn, s.tool, s.calls,
           {", ".join(f"r.{name} * coalesce(s.share, 1) AS {name}" for name in (*TOKENS, *MONEY))},
           coalesce(r.here, s.here) AS here, NULL::bigint AS runtime_ms, NULL::numeric AS data
    FROM shares s FULL JOIN responses r ON r.session_id = s.session_id AND r.key = s.key
    UNION ALL SELECT session_id, turn, NULL, NULL, {NOTHING}, here, NULL, NULL FROM silent WHERE tool_calls = 0
    UNION ALL SELECT session_id, index, NULL, NULL, {FACTS}, here, NULL, NULL FROM turns WHERE erased
    UNION ALL SELECT session_id, turn, tool, NULL, {NOTHING}, true, NULL, data FROM bought
)
"""
BY_TURN = f"""
, spent AS (
    SELECT session_id, index AS turn, agent_id, agent_name, session_title, began, {FACTS}, here, runtime_ms,
           NULL::numeric AS data, erased
    FROM turns
    UNION ALL
    SELECT session_id, turn, agent_id, agent_name, session_title, began, {NOTHING}, true, NULL, data, erased FROM bought
)
"""


def _money(where: str = "") -> str:
    """The sums of the columns of money, over the rows of ``where``."""
    only = f" FILTER (WHERE {where})" if where else ""
    known = [f"round(sum({name}){only}, 10)" for name in MONEY[:2]]
    return ", ".join([*known, *(f"coalesce(ceil(sum({name}){only}), 0)::bigint" for name in MONEY[2:])])


def _part(where: str) -> str:
    """The columns of a ``Part``."""
    return f"{_money(where)}, count(*) FILTER (WHERE {where} AND data IS NULL) > 0"


SUMS = ", ".join(
    [f"round(sum({name}))::bigint AS {name}" for name in TOKENS]
    + [_money(), "sum(runtime_ms)::bigint", "round(sum(data), 10)", _part("here"), _part("NOT here")]
)
COUNTS = "count(DISTINCT session_id), count(DISTINCT (session_id, turn)) FILTER (WHERE turn > 0)"
DEAREST = "coalesce(sum(cost_recorded), 0) + coalesce(sum(cost_priced), 0) + coalesce(sum(data), 0) DESC"

GROUPS: dict[str, tuple[str, str, str]] = {
    "day": (BY_TURN, "(began AT TIME ZONE 'UTC')::date::text", "NULL"),
    "month": (BY_TURN, "date_trunc('month', began AT TIME ZONE 'UTC')::date::text", "NULL"),
    "agent": (BY_TURN, "agent_id::text", "max(agent_name)"),
    "session": (BY_TURN, "CASE WHEN NOT erased THEN session_id::text END", "max(session_title)"),
    "model": (RESPONSES + BY_MODEL, "model", "NULL"),
    "tool": (RESPONSES + BY_TOOL, "tool", "sum(calls)::bigint"),
}
"""What to sum over, the text that names a group, and what else is told of it."""


def total(scope: dict[str, Any]) -> tuple[Any, ...]:
    """Row of the period: NULL, NULL, ``COUNTS``, ``SUMS``. ``scope`` has workspace, from, to, agent, origin, tag."""
    return _read(f"{PERIOD}{BY_TURN} SELECT NULL, NULL, {COUNTS}, {SUMS} FROM spent", scope)[0]


def groups(by: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of groups in order of name; ``scope`` has nameless, past and limit, too."""
    source, name, about = GROUPS[by]
    sql = (
        f"{PERIOD}{source} SELECT {name} AS name, {about}, {COUNTS}, {SUMS} FROM spent"
        f" WHERE %(past)s::text IS NULL"
        f" OR ({name} IS NULL, coalesce({name}, '') COLLATE \"C\") > (%(nameless)s, %(past)s)"
        f' GROUP BY {name} ORDER BY {name} IS NULL, {name} COLLATE "C" LIMIT %(limit)s'
    )
    return _read(sql, scope)


def ranked(by: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of groups, the dearest first (days, months: the latest), each behind the number of all groups."""
    source, name, about = GROUPS[by]
    order = f"{name} DESC" if by in ("day", "month") else f'{DEAREST}, {name} COLLATE "C" NULLS LAST'
    sql = (
        f"{PERIOD}{source} SELECT count(*) OVER (), {name} AS name, {about}, {COUNTS}, {SUMS} FROM spent"
        f" GROUP BY {name} ORDER BY {order} LIMIT %(limit)s"
    )
    return _read(sql, scope)


def _read(sql: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, scope)
        return cursor.fetchall()
