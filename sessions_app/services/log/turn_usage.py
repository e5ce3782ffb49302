"""What each turn used, by itself, by model and by tool: ``Turn.shares``, and the moment that it belongs to.

``Turn.shares`` is a list of ``[kind, name, turns, calls, tokens x 5, recorded, priced, unpriced, under-reported]``, one
a name: kind is ``turn``, ``model`` or ``tool``, and name null for responses without a model or a call. What a response
used belongs to its own turn. Its calls of that turn and later ones share it; calls without a response count as calls.
Triggers add shares up (``sessions_app.migrations._usage_0029``).
"""

from __future__ import annotations

from uuid import UUID

from sessions_app.prepared import Statement, fetch, run

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
FACTS = (*TOKENS, "cost_recorded", "cost_priced", "unpriced_tokens", "under_reported")
NAMES = ", ".join(FACTS)
NOTHING = ", ".join("NULL::numeric" for _ in FACTS)
HERE = "r.counted_in_id IS NULL"
PAID = "r.counted_in_id IS NULL AND r.cost_within IS NULL"
BILLED = " + ".join(f"coalesce(r.{name}, 0)" for name in TOKENS[:4])
WRITTEN = ("began_at", "here", "runtime_ms", "shares", "bought")

# Turns of responses that have new calls in a later turn.
LATE = Statement("""
SELECT DISTINCT r.turn FROM sessions_app_event e
JOIN sessions_app_modelrequest r ON r.session_id = e.session_id AND r.key = e.request
WHERE e.session_id = %(session)s AND e.seq > %(since)s AND e.kind = 'tool_call' AND r.turn < e.turn
""")
# Rows of the moment have no statistics, and PostgreSQL would look through one set of them for each row of another
# (2.3 s for 10,000 responses, against 0.03 s): a FULL JOIN cannot be done so, and LIMIT 1 looks turns up one by one.
# Events, too: a plan for any session counts a look into each partition, and would read all events of this one instead.
# Of a session that the statistics do not know it expects one event, for which any index does: only one gives them in
# the order of ``seq``. With another, an import of 16,000 calls read 50,000 events for each (10 minutes).
WRITE = Statement(f"""
WITH kept AS (
    SELECT each.turn, t.* FROM unnest(%(turns)s::int[]) AS each (turn) CROSS JOIN LATERAL (
        SELECT tool_calls, {NAMES} FROM sessions_app_turn
        WHERE session_id = %(session)s AND index = each.turn LIMIT 1
    ) AS t
), responses AS (
    SELECT r.turn, r.key, r.model,
           {", ".join(f"CASE WHEN {HERE} THEN r.{name} END AS {name}" for name in TOKENS)},
           CASE WHEN {PAID} THEN r.cost_recorded END AS cost_recorded,
           CASE WHEN {PAID} AND r.cost_recorded IS NULL THEN r.cost_priced END AS cost_priced,
           CASE WHEN {PAID} AND r.cost_recorded IS NULL AND r.cost_priced IS NULL THEN {BILLED} ELSE 0 END
               AS unpriced_tokens,
           CASE WHEN {HERE} AND r.quality = 'placeholder' THEN 1 ELSE 0 END AS under_reported
    FROM sessions_app_modelrequest r
    WHERE r.session_id = %(session)s AND r.turn = ANY(%(turns)s::int[])
), asked AS (
    SELECT c.turn, coalesce(e.request, 'seq:' || e.seq) AS key, c.name AS tool, count(*) AS calls
    FROM sessions_app_toolcall c CROSS JOIN LATERAL (
        SELECT seq, request FROM sessions_app_event
        WHERE session_id = %(session)s AND seq >= c.seq ORDER BY seq LIMIT 1
    ) AS e
    WHERE c.session_id = %(session)s AND c.turn >= %(first)s GROUP BY 1, 2, 3
), joined AS (
    SELECT r.*, a.turn AS call_turn, a.tool,
           CASE WHEN a.turn >= r.turn
                THEN a.calls / sum(a.calls) FILTER (WHERE a.turn >= r.turn) OVER (PARTITION BY r.key) END AS share,
           coalesce(bool_or(a.turn >= r.turn) OVER (PARTITION BY r.key), false) AS is_shared,
           row_number() OVER (PARTITION BY r.key ORDER BY a.turn, a.tool) AS number
    FROM asked a FULL JOIN responses r ON r.key = a.key
), parts AS (
    SELECT turn, 'turn' AS kind, NULL AS name, true AS counted, NULL::bigint AS calls, {NAMES} FROM kept
    UNION ALL
    SELECT turn, kind.name, NULL, true, NULL, {NOTHING}
    FROM kept CROSS JOIN (VALUES ('model'), ('tool')) AS kind (name)
    WHERE num_nonnulls({", ".join(FACTS[:7])}) = 0 AND (kind.name = 'model' OR tool_calls = 0)
    UNION ALL SELECT turn, 'model', model, true, NULL, {NAMES} FROM responses
    UNION ALL SELECT turn, 'tool', tool, true, calls, {NOTHING} FROM asked WHERE turn = ANY(%(turns)s::int[])
    UNION ALL SELECT turn, 'tool', tool, call_turn = turn, NULL, {", ".join(f"{name} * share" for name in FACTS)}
              FROM joined WHERE share IS NOT NULL
    UNION ALL SELECT turn, 'tool', NULL, true, NULL, {NAMES}
              FROM joined WHERE turn IS NOT NULL AND NOT is_shared AND number = 1
), named AS (
    SELECT turn, kind, name, CASE WHEN turn > 0 AND bool_or(counted) THEN 1 ELSE 0 END AS turns, sum(calls) AS calls,
           {", ".join(f"sum({name}) AS {name}" for name in FACTS)}
    FROM parts GROUP BY turn, kind, name
), shared AS (
    SELECT turn, jsonb_agg(jsonb_build_array(kind, name, turns, calls, {NAMES}) ORDER BY kind, name) AS shares
    FROM named GROUP BY turn
), found AS (
    SELECT k.place, coalesce(k.started_at, (SELECT coalesce(started_at, created_at) FROM sessions_app_session
                                            WHERE id = %(session)s)) AS began_at,
           u.runtime_ms IS NOT NULL OR EXISTS (SELECT FROM sessions_app_turninflight f
                                               WHERE f.session_id = %(session)s AND f.turn = shared.turn) AS here,
           u.runtime_ms, shared.shares,
           CASE WHEN EXISTS (SELECT FROM sessions_app_callusage WHERE session_id = %(session)s)
                THEN countersign_bought(%(session)s, shared.turn) END AS bought
    FROM shared CROSS JOIN LATERAL (
        SELECT ctid AS place, started_at FROM sessions_app_turn
        WHERE session_id = %(session)s AND index = shared.turn LIMIT 1
    ) AS k LEFT JOIN LATERAL (
        SELECT runtime_ms FROM sessions_app_turnusage
        WHERE session_id = %(session)s AND turn = shared.turn LIMIT 1
    ) AS u ON true
)
UPDATE sessions_app_turn t SET {", ".join(f"{name} = found.{name}" for name in WRITTEN)}
FROM found
WHERE t.ctid = found.place AND ({", ".join(f"t.{name}" for name in WRITTEN)})
      IS DISTINCT FROM ({", ".join(f"found.{name}" for name in WRITTEN)})
""")


# Bookings write to a turn without its session's lock. One that is not over when the statement begins would have it
# leave the turn out: the row is not where it was any more.
LOCK = Statement("""
SELECT FROM sessions_app_turn WHERE session_id = %(session)s AND index = ANY(%(turns)s::int[])
ORDER BY index FOR NO KEY UPDATE
""")
ALL = Statement("""
SELECT index FROM sessions_app_turn WHERE session_id = %(session)s ORDER BY index FOR NO KEY UPDATE
""")


def write(session_id: UUID, turns: set[int], since: int, *, few: bool = True) -> None:
    """Write what some turns used, which are locked as their session is, and those whose responses have new calls after
    ``since``."""
    values = {"session": session_id, "since": since}
    late = {turn for (turn,) in fetch(LATE, values, keep=few)} - turns if since else set()
    if late:
        run(LOCK, values | {"turns": sorted(late)}, keep=few)
        turns = turns | late
    if turns:
        run(WRITE, values | {"turns": sorted(turns), "first": min(turns)}, keep=few)


def write_all(session_id: UUID) -> None:
    """Write what each turn of a locked session used."""
    turns = fetch(ALL, {"session": session_id})
    write(session_id, {turn for (turn,) in turns}, 0, few=False)
