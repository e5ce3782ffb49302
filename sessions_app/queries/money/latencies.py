"""How long model requests took, by model and by day or month: from a sample of the same size however many there are.

From each day or month the newest sessions are read, from each of them the last requests. A request lasts from what it
answers (a message, a result, a summary) to its last event, as on the page of its session; one whose recorder wrote
both at the same moment says nothing and is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

from django.db import connection

from ..log.model_requests import ANSWERED, BACK

SESSIONS = 120
"""Of a sample, shared out evenly among its days or months; at least ``LEAST`` of each."""
LEAST = 2
REQUESTS = 4
"""Of each session, the last ones."""
MOST_PARTS = 120
"""Days or months of a sample, the latest ones."""
LOOKED_AT = 200
"""Sessions of a day or month among which those of an origin and a tag are looked for."""
MODELS = 200

# In the words of the indexes ``session_by_started`` and ``session_by_agent``.
STARTED = "coalesce(s.started_at, '0001-01-02 00:00:00+00:00'::timestamptz)"
# Back to what a request answers event by event: in one range PostgreSQL reads all of it before it puts it in order.
SAMPLE = f"""
WITH picked AS (
    SELECT d.since, one.id FROM unnest(%(since)s::timestamptz[], %(until)s::timestamptz[]) AS d (since, until)
    CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT s.id, s.origin, s.tags FROM sessions_app_session s
            WHERE {{where}} AND {STARTED} >= d.since AND {STARTED} < d.until
            ORDER BY {STARTED} DESC LIMIT {LOOKED_AT}
        ) AS newest
        WHERE (%(origin)s = '' OR origin = %(origin)s) AND (%(tag)s = '' OR %(tag)s = ANY(tags))
        LIMIT %(each)s
    ) AS one
), timed AS (
    SELECT p.since, p.id AS session_id, coalesce(r.model, '') AS model,
           extract(epoch FROM ended.at - began.at) * 1000 AS took
    FROM picked p
    CROSS JOIN LATERAL (
        SELECT seq, model FROM sessions_app_modelrequest WHERE session_id = p.id AND quality <> 'aggregate'
        ORDER BY seq DESC LIMIT {REQUESTS}
    ) AS r
    JOIN sessions_app_event ended ON ended.session_id = p.id AND ended.seq = r.seq
    CROSS JOIN LATERAL (
        SELECT b.at FROM generate_series(r.seq - 1, r.seq - {BACK}, -1) AS before (seq)
        CROSS JOIN LATERAL (SELECT at, depth, kind FROM sessions_app_event e
                            WHERE e.session_id = p.id AND e.seq = before.seq OFFSET 0) AS b
        WHERE b.depth = ended.depth AND b.kind = ANY(%(answered)s) LIMIT 1
    ) AS began
    WHERE ended.at > began.at
)
SELECT (since AT TIME ZONE 'UTC')::date, model, count(*), count(DISTINCT session_id),
       percentile_disc(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY took)
FROM timed GROUP BY GROUPING SETS ((since), (model), ()) ORDER BY count(*) DESC, 2
"""


@dataclass(frozen=True, slots=True)
class Latency:
    """Half of the requests took at most ``p50`` milliseconds, 95 % at most ``p95``."""

    requests: int
    sessions: int
    p50: int
    p95: int


@dataclass(slots=True)
class Latencies:
    """Of a period. ``total`` is None where nothing is known; "" is the model of requests that name none."""

    by_part: dict[date, Latency] = field(default_factory=dict)
    """By the first day of each."""
    by_model: dict[str, Latency] = field(default_factory=dict)
    total: Latency | None = None


def most_sessions(parts: int) -> int:
    """How many sessions a sample of so many days or months is of at most."""
    return max(SESSIONS, LEAST * min(parts, MOST_PARTS))


def latencies(
    workspace_id: UUID, parts: list[tuple[date, date]], *, agent: str = "", origin: str = "", tag: str = ""
) -> Latencies:  # fmt: skip
    """Of sessions that began in these parts of a period, from the first day of each to before the second; of one agent
    (id, slug or name), origin and tag, where they are named.
    """
    sampled = parts[-MOST_PARTS:]
    values: dict[str, Any] = {
        "workspace": workspace_id, "agent": agent, "origin": origin, "tag": tag, "answered": sorted(ANSWERED),
        "since": [datetime.combine(first, time(), UTC) for first, _ in sampled],
        "until": [datetime.combine(end, time(), UTC) for _, end in sampled],
        "each": max(LEAST, SESSIONS // max(len(sampled), 1)),
    }  # fmt: skip
    where = "s.workspace_id = %(workspace)s"
    if agent:
        where += """ AND s.agent_id = ANY(ARRAY(
            SELECT id FROM sessions_app_agent
            WHERE workspace_id = %(workspace)s AND %(agent)s IN (id::text, slug, name)))"""
    with connection.cursor() as cursor:
        cursor.execute(SAMPLE.format(where=where), values)
        return _read(cursor.fetchall())


def _read(rows: list[tuple[Any, ...]]) -> Latencies:
    found = Latencies()
    for first, model, requests, sessions, took in rows:
        latency = Latency(requests, sessions, *(round(one) for one in took)) if took else None
        if latency is None:
            continue
        if first is not None:
            found.by_part[first] = latency
        elif model is not None and len(found.by_model) < MODELS:
            found.by_model[model] = latency
        else:
            found.total = latency
    return found
