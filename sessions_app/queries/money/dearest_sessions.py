"""Which sessions a page of usage by session shows, without adding up all others.

What a session used ever is measured (``SessionMeasures``), and no period has more of it. So sessions are gone through
from the dearest ever on, until nobody who follows can be among the dearest of the period any more: all sessions of the
workspace where the period has neither beginning nor end, else those that used something first on one of its days, the
days merged. All others of a period were at work at its beginning already: they are looked up, each.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from heapq import merge
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection

from .days import Days

FEW = 200
"""So many sessions are all added up, everything that they used."""
DAYS = 400
"""Days with sessions of a period that are merged: of each at least three are read. A longer one has so much of what
there is that the dearest ever are among its own: 500 were gone through for half a year, 10,000 for a month."""
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
DAYS_BEGUN = """
WITH RECURSIVE d (day) AS (
    SELECT min(first_used) FROM sessions_app_sessionmeasures
    WHERE workspace_id = %(workspace)s AND (%(first)s::date IS NULL OR first_used >= %(first)s)
    UNION ALL
    SELECT (SELECT min(first_used) FROM sessions_app_sessionmeasures
            WHERE workspace_id = %(workspace)s AND first_used > d.day)
    FROM d WHERE d.day IS NOT NULL AND (%(end)s::date IS NULL OR d.day < %(end)s)
)
SELECT day FROM d WHERE day IS NOT NULL AND (%(end)s::date IS NULL OR day < %(end)s) LIMIT %(days)s
"""
DEAREST_BEGUN = """
SELECT d.day, -m.spent, m.session_id FROM unnest(%(on)s::date[]) AS d (day)
CROSS JOIN LATERAL (
    SELECT cost + data AS spent, session_id FROM sessions_app_sessionmeasures
    WHERE workspace_id = %(workspace)s AND first_used = d.day
    ORDER BY cost + data DESC, session_id LIMIT %(most)s OFFSET %(past)s
) AS m ORDER BY 1, 2, 3
"""
# In the words of the index ``session_usage_goes_on``, as ``usage_totals.FROM_BEFORE``.
GOING_ON = """
SELECT DISTINCT session_id FROM (
    SELECT * FROM sessions_app_sessionusage
    WHERE first_day < day AND daterange(first_day, day, '(]') @> %(first)s::date OFFSET 0
) AS from_before WHERE workspace_id = %(workspace)s AND kind = 'turn' AND origin <> ''
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
    if (asked["first"] or asked["end"]) and len(days := _days_begun(asked)) <= DAYS:
        return [session_id for _, session_id in _dearest_begun(asked, days)]
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


def _days_begun(asked: dict[str, Any]) -> list[date]:
    """Days of a period on which sessions used something first; at most ``DAYS`` and one more."""
    return [day for (day,) in _fetch(DAYS_BEGUN, asked | {"days": DAYS + 1})]


def _dearest_begun(asked: dict[str, Any], days: list[date]) -> Ranked:
    """The dearest of a period. Whoever used something before it and in it is looked up; of all others what they used
    ever is no less than in the period, and nothing of it lies before. So where as many as are wanted come before the
    next one's whole, by money and then by id, nobody that follows is among them.
    """
    limit = asked["limit"]
    before = [session_id for (session_id,) in _fetch(GOING_ON, asked)] if asked["first"] else []
    found: Ranked = sorted(_spent(asked, before))[:limit]
    bounds = _by_bound(asked, days)
    batch = list(islice(bounds, limit))
    while batch:
        found = sorted([*found, *_spent(asked, [session_id for _, session_id in batch])])[:limit]
        following = next(bounds, None)
        if following is None or len(found) == limit and following > found[-1]:
            break
        batch = [following, *islice(bounds, limit - 1)]
    return found


def _spent(asked: dict[str, Any], sessions: list[UUID]) -> Ranked:
    return _fetch(SPENT_BY, asked | {"ids": sessions}) if sessions else []


def _by_bound(asked: dict[str, Any], days: list[date]) -> Iterator[tuple[Decimal, UUID]]:
    """Who used something first on one of some days, with what it spent ever, below zero: in order."""
    most = 2 * asked["limit"] // max(len(days), 1) + 3  # twice what a day should have: few are asked a second time
    known: dict[date, Ranked] = {day: [] for day in days}
    for day, bound, session_id in _fetch(DEAREST_BEGUN, asked | {"on": days, "most": most, "past": 0}):
        known[day].append((bound, session_id))
    return merge(*(_of_day(asked, day, known[day], most) for day in days))


def _of_day(asked: dict[str, Any], day: date, known: Ranked, most: int) -> Iterator[tuple[Decimal, UUID]]:
    past = 0
    while True:
        yield from known
        if len(known) < most:
            return
        past, most = past + most, asked["limit"]
        rows = _fetch(DEAREST_BEGUN, asked | {"on": [day], "most": most, "past": past})
        known = [(bound, session_id) for _, bound, session_id in rows]


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
