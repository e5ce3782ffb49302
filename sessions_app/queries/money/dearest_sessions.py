"""Which sessions a page of usage by session shows, without adding up all others.

Of a short period what its sessions spent in it is added up, and nothing else of them. Of a long one: what a session
used ever is measured (``SessionMeasures``), and no period has more of it. So sessions are gone through from the dearest
ever on, until nobody who follows can be among the dearest of the period any more.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from .days import Days

FEW = 1_000
"""So many sessions are all added up, everything that they used."""
RANKED = 15_000
"""So many are ranked by what they spent in a period with a beginning or an end, at 2 us each. The others' way costs
13 us a session that it goes through: of a month 10,000 at 100,000 sessions, of half a year 500, ever one page."""
BATCH = 500
Ranked = list[tuple[Decimal, UUID]]
"""What sessions spent in a period, below zero, with their ids: in order the dearest first."""
SPENT = "here_recorded + elsewhere_recorded + here_priced + elsewhere_priced + data"
IN_PERIOD = """
    u.kind = 'turn' AND u.origin <> '' AND (%(first)s::date IS NULL OR u.day >= %(first)s)
    AND (%(end)s::date IS NULL OR u.day < %(end)s)
"""
BOUNDS = """
SELECT m.session_id, m.cost + m.data FROM sessions_app_sessionmeasures m
WHERE m.workspace_id = %(workspace)s AND m.cost + m.data > 0
  AND (%(after)s::uuid IS NULL OR (m.cost + m.data, m.session_id) < (%(bound)s, %(after)s::uuid))
ORDER BY m.cost + m.data DESC, m.session_id DESC LIMIT %(batch)s
"""
SPENT_BY = f"""
SELECT -sum({SPENT}), u.session_id FROM unnest(%(ids)s::uuid[]) AS wanted (id)
JOIN sessions_app_sessionusage u ON u.session_id = wanted.id AND {IN_PERIOD} GROUP BY u.session_id
"""
RANKED_IN_PERIOD = f"""
SELECT -sum({SPENT}), u.session_id FROM sessions_app_sessionusage u
WHERE u.workspace_id = %(workspace)s AND {IN_PERIOD} GROUP BY u.session_id ORDER BY 1, 2 LIMIT %(limit)s
"""
FREE = f"""
SELECT 0::numeric, m.session_id FROM sessions_app_sessionmeasures m
WHERE m.workspace_id = %(workspace)s AND m.cost + m.data = 0
  AND EXISTS (SELECT FROM sessions_app_sessionusage u WHERE u.session_id = m.session_id AND {IN_PERIOD})
ORDER BY m.session_id LIMIT %(limit)s
"""
NARROWED = """
    (%(origin)s = '' OR u.origin = %(origin)s) AND (%(tag)s = '' OR %(tag)s = ANY(u.tags))
"""
FOLLOWING = f"""
SELECT DISTINCT u.session_id FROM sessions_app_sessionusage u
WHERE u.workspace_id = %(workspace)s AND u.session_id > %(past)s::uuid AND {IN_PERIOD} AND {NARROWED}
ORDER BY u.session_id LIMIT %(limit)s
"""
# A session has usage of its own agent alone, and an index of sessions by agent is in this order.
FOLLOWING_OF_AGENT = f"""
SELECT s.id FROM sessions_app_session s
WHERE s.agent_id = ANY(%(agents)s::uuid[]) AND s.id > %(past)s::uuid AND EXISTS (
    SELECT FROM sessions_app_sessionusage u WHERE u.session_id = s.id AND {IN_PERIOD} AND {NARROWED})
ORDER BY s.id LIMIT %(limit)s
"""
AGENTS = """
SELECT id FROM sessions_app_agent WHERE workspace_id = %(workspace)s AND %(agent)s IN (id::text, slug, name)
"""


def dearest(scope: dict[str, Any], sessions: int) -> list[UUID] | None:
    """The ``limit`` dearest sessions of a period; None where its ``sessions`` are few, or cannot be told so."""
    asked = _asked(scope)
    if asked is None or sessions <= FEW or scope["agent"] or scope["origin"] or scope["tag"]:
        return None
    if sessions <= RANKED and (asked["first"] or asked["end"]):
        return [session_id for _, session_id in _fetch(RANKED_IN_PERIOD, asked)]
    limit, after, bound = scope["limit"], None, None
    size = BATCH if asked["first"] or asked["end"] else min(BATCH, limit + 1)
    found: Ranked = []
    while True:
        batch = _fetch(BOUNDS, asked | {"after": after, "bound": bound, "batch": size})
        spent = _fetch(SPENT_BY, asked | {"ids": [session_id for session_id, _ in batch]}) if batch else []
        found = sorted([*found, *spent])[:limit]
        if len(batch) < size:
            break
        after, bound = batch[-1]
        if len(found) == limit and bound < -found[-1][0]:
            return [session_id for _, session_id in found]
    if len(found) < limit or not found[-1][0]:
        found = sorted([*found, *_fetch(FREE, asked)])[:limit]
    return [session_id for _, session_id in found]


def following(scope: dict[str, Any]) -> list[UUID] | None:
    """The next sessions of a period in order of their ids, without erased ones, which have no name and come last; None
    where that cannot be told so."""
    asked = _asked(scope)
    if asked is None:
        return None
    try:
        past = UUID(scope["past"]) if scope["past"] else UUID(int=0)
    except ValueError:
        return None
    asked |= {name: scope[name] for name in ("agent", "origin", "tag")} | {"past": past}
    statement = FOLLOWING
    if scope["agent"]:
        if asked["first"] or asked["end"]:
            return None  # all sessions of before the period would be gone through
        statement, asked["agents"] = FOLLOWING_OF_AGENT, [agent for (agent,) in _fetch(AGENTS, asked)]
    return [session_id for (session_id,) in _fetch(statement, asked)]


def _asked(scope: dict[str, Any]) -> dict[str, Any] | None:
    """Parameters of the whole days of a period; None where it has others."""
    days = Days.of(scope["from"], scope["to"])
    if days.edges or days.is_empty:
        return None
    return {"workspace": scope["workspace"], "first": days.first, "end": days.end, "limit": scope["limit"]}


def _fetch(statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()
