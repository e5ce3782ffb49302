"""Usage of a period from kept totals: of its whole months and days, what changed in them since totals were written, and
of its first and last day, where it begins or ends within one, the turns.

Sessions are counted once a group: on the first day that they used it, and those from before the period besides.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models.usage import Measures

from . import dearest_sessions
from .days import Days, month_after
from .totals import Sums

MEASURES = tuple(field.name for field in Measures._meta.local_fields)
NAMES = ", ".join(MEASURES)
ZEROS = ", ".join("0" for _ in MEASURES)
SUMS = ", ".join(f"coalesce(sum({name}), 0) AS {name}" for name in MEASURES)
TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
IS_USED = "sum(here_rows + elsewhere_rows + data_known) > 0"


def _dollars(*names: str) -> str:
    known = " + ".join(f"{name}_known" for name in names)
    return f"CASE WHEN {known} > 0 THEN round({' + '.join(names)}, 10) END"


def _money(*parts: str) -> str:
    """Recorded and priced dollars, unpriced tokens and under-reported responses of some parts together."""
    sums = (_dollars(*(f"{part}_{name}" for part in parts)) for name in ("recorded", "priced"))
    counts = (" + ".join(f"{part}_{name}" for part in parts) for name in ("unpriced", "under_reported"))
    return ", ".join([*sums, *(f"ceil({count})::bigint" for count in counts)])


USED = ", ".join(
    ["sessions::bigint", "turns::bigint"]
    + [f"CASE WHEN {name}_known > 0 THEN round({name})::bigint END" for name in TOKENS]
    + [_money("here", "elsewhere"), "CASE WHEN runtime_ms_known > 0 THEN runtime_ms::bigint END", _dollars("data")]
    + [f"{_money(part)}, {part}_rows > 0" for part in ("here", "elsewhere")]
)
"""The columns of a ``usage.Used`` behind its name and what is told of it, of a row of summed measures."""
DEAREST = "here_recorded + elsewhere_recorded + here_priced + elsewhere_priced + data DESC"


@dataclass(frozen=True, slots=True)
class Group:
    """How a grouping is read: the kind of its totals, its name in rows of each table, what else is told of it."""

    kind: str
    name: str
    about: str = "NULL"


AGENT = "nullif(agent, 'none')"
MONTH = "date_trunc('month', day::timestamp)::date"
# In the words of the index ``session_usage_goes_on``, which has few rows for a day. OFFSET: by itself, or PostgreSQL
# reads all days of the period beside it.
FROM_BEFORE = """
SELECT * FROM sessions_app_sessionusage
WHERE first_day < day AND daterange(first_day, day, '(]') @> %(begins)s::date OFFSET 0
"""
PARTS = {"day": "day", "month": MONTH}
"""Of a period: the first day of each."""
GROUPS = {
    "total": Group("turn", "NULL::text"),
    "agent": Group("turn", AGENT, "(SELECT name FROM sessions_app_agent a WHERE a.id = summed.name::uuid)"),
    "session": Group(
        "turn",
        "CASE WHEN origin <> '' THEN session_id::text END",
        "(SELECT title FROM sessions_app_session s WHERE s.id = summed.name::uuid)",
    ),
    "model": Group("model", "name"),
    "tool": Group("tool", "name", "nullif(calls, 0)::bigint"),
}
for _part, _first in PARTS.items():
    GROUPS |= {
        _part: Group("turn", f"{_first}::text"),
        f"{_part}_agent": Group("turn", f"{_first}::text || ' ' || coalesce({AGENT}, '')"),
        f"{_part}_model": Group("model", f"{_first}::text || ' ' || coalesce(name, '')"),
        f"{_part}_tool": Group("tool", f"{_first}::text || ' ' || coalesce(name, '')", "nullif(calls, 0)::bigint"),
    }
DAY = len("2026-03-02 ")
"""Characters of the name of a group by day or month, before what it is besides."""


class _Statement:
    """One reading: SQL of rows ``name, session, sessions, MEASURES`` of a grouping, and its parameters.

    ``only_erased``: of sessions that were erased. ``chosen``: by session, of these and not of all that pass.
    ``names``: by day or month and something else, of these agents, models or tools. Without ``counted`` no sessions
    are counted: those that go on from before a period are not looked for.
    """

    def __init__(
        self,
        by: str,
        scope: dict[str, Any],
        *,
        only_erased: bool = False,
        chosen: list[UUID] | None = None,
        names: list[str] | None = None,
        counted: bool = True,
    ) -> None:
        self.only_erased, self.chosen, self.counted = only_erased, chosen, counted
        self.by, self.group = by, GROUPS[by]
        self.part = part if (part := by.partition("_")[0]) in PARTS else ""
        self.parameters = scope | {"kind": self.group.kind}
        self.days = Days.of(scope["from"], scope["to"])
        self.filters = " AND workspace_id = %(workspace)s"
        ids = "SELECT id::text FROM sessions_app_agent WHERE workspace_id = %(workspace)s"
        self.agents = f"ARRAY({ids} AND %(agent)s IN (id::text, slug, name))" if scope["agent"] else ""
        if self.agents:
            self.filters += f" AND agent = ANY({self.agents})"
        elif names is not None and by.endswith("_agent"):
            self.agents = "ARRAY(SELECT coalesce(nullif(n, ''), 'none') FROM unnest(%(names)s::text[]) AS n)"
            self.filters += f" AND agent = ANY({self.agents})"
        elif by == "agent":
            self.agents = f"ARRAY({ids} UNION ALL SELECT 'none')"
        if scope["origin"]:
            self.filters += " AND origin = %(origin)s"
        if scope["tag"]:
            self.filters += " AND %(tag)s = ANY(tags)"
        if only_erased:
            self.filters += " AND origin = ''"
        if chosen is not None:
            self.parameters["chosen"] = chosen
            self.filters += " AND session_id = ANY(%(chosen)s)"
        self.keys = ""
        if names is not None:
            self.parameters["names"] = names
            if not by.endswith("_agent"):
                self.keys = (
                    " AND key = ANY(ARRAY(SELECT countersign_usage_key(nullif(n, ''))"
                    " FROM unnest(%(names)s::text[]) AS n))"
                )

    def sums(self) -> str:
        """A row for each group that was used: name, sessions and measures."""
        with_edges, rows = "", []
        if self.by == "session":
            rows.append(self._sessions())
        else:
            rows += [*self._totals(), self._changes(), *self._carried()]
        if self.days.edges:
            with_edges, of_edges = self._edges()
            rows += of_edges
        everything = "\n UNION ALL ".join(row for row in rows if row)
        sessions = "count(DISTINCT session_id)" if self.by == "session" else "coalesce(sum(sessions), 0)"
        summed = f"{sessions} AS sessions, {SUMS} FROM ({everything}) AS rows"
        if self.by == "total":
            return f"{with_edges} SELECT NULL::text AS name, {summed}"
        return f"{with_edges} SELECT name, {summed} GROUP BY name HAVING {IS_USED}"

    def _within(self, column: str, first: date | None, end: date | None) -> str:
        told = ""
        for name, sign, bound in (("first", ">=", first), ("end", "<", end)):
            if bound is not None:
                key = f"{name}_{len(self.parameters)}"
                self.parameters[key] = bound
                told += f" AND {column} {sign} %({key})s"
        return told

    def _totals(self) -> list[str]:
        """Totals of whole months and days."""
        name = self.group.name.replace("day", "start")
        sessions = "sessions" if self.part == "day" else "first_sessions"
        agent = f"= ANY({self.agents})" if self.agents else "= ''"
        origin = "AND origin = ''" if self.only_erased else ""
        origin = "AND origin = %(origin)s" if self.parameters["origin"] else origin
        day = "day" if origin or self.parameters["tag"] else "whole"
        return [
            f"SELECT {name} AS name, NULL::uuid AS session_id, {sessions} AS sessions, {NAMES}"
            f" FROM sessions_app_usagetotal WHERE workspace_id = %(workspace)s AND kind = %(kind)s"
            f" AND tag = countersign_usage_key(nullif(%(tag)s, '')) AND agent {agent}"
            f" AND span = '{day if span == 'day' else span}'{self._within('start', first, end)} {origin}{self.keys}"
            for span, first, end in self.days.spans(self.part, by_tag=bool(self.parameters["tag"]))
        ]

    def _changes(self) -> str:
        """What changed on these days and is not in the totals yet."""
        sessions = "sessions" if self.part == "day" else "first_sessions"
        return (
            f"SELECT {self.group.name} AS name, NULL::uuid AS session_id, {sessions} AS sessions, {NAMES}"
            f" FROM sessions_app_usagechange WHERE kind = %(kind)s{self.filters}{self.keys}"
            f"{self._within('day', self.days.first, self.days.end)}"
        )

    def _carried(self) -> list[str]:
        """Sessions of these days, or of a month of them, that used it before, too: totals count them there."""
        first, end = self.days.first, self.days.end
        if not self.counted or self.part == "day" or self.days.is_empty:
            return []
        rows = f"SELECT session_id, {self.group.name} AS name FROM"
        passing = f"WHERE kind = %(kind)s{self.filters}"
        found = []
        if self.part:
            within = self._within("day", first, end)
            found.append(f"{rows} sessions_app_sessionusage {passing} AND first_day < {MONTH}{within}")
            end = first and min(month_after(first), end or date.max)
        if first is not None:
            self.parameters["begins"] = first
            found.append(f"{rows} ({FROM_BEFORE}) AS from_before {passing}{self._within('day', None, end)}")
        if not found:
            return []
        rows = " UNION ALL ".join(found)
        return [
            f"SELECT name, session_id, 1, {ZEROS} FROM (SELECT DISTINCT session_id, name FROM ({rows}) AS of_days)"
            " AS carried"
        ]

    def _sessions(self) -> str:
        """Each session's own usage of whole days."""
        return (
            f"SELECT {self.group.name} AS name, session_id, 0 AS sessions, {NAMES} FROM sessions_app_sessionusage"
            f" WHERE kind = 'turn'{self.filters}{self._within('day', self.days.first, self.days.end)}"
        )

    def _edges(self) -> tuple[str, list[str]]:
        """What was used on parts of days, from the turns of the sessions that were at work on them."""
        edges = " UNION ALL ".join(self._edge(since, until) for since, until in self.days.edges)
        counted = ""
        if self.by != "session" and self.part != "day":
            within = self._within("o.day", self.days.first, self.days.end)
            if self.part:
                within += f" AND {MONTH.replace('day', 'o.day')} = {MONTH.replace('day', 'edge.day')}"
            counted = (
                " WHERE NOT EXISTS (SELECT FROM sessions_app_sessionusage o WHERE o.session_id = edge.session_id"
                f" AND o.kind = %(kind)s AND o.key = countersign_usage_key(edge.name){within})"
            )
        return f"WITH edge AS ({edges})", [
            f"SELECT {self.group.name} AS name, session_id, 0, {NAMES} FROM edge",
            f"SELECT name, session_id, 1, {ZEROS} FROM (SELECT DISTINCT session_id, {self.group.name} AS name FROM edge"
            f"{counted}) AS at_edges",
        ]

    def _edge(self, since: datetime, until: datetime | None) -> str:
        number = len(self.parameters)
        self.parameters |= {f"since_{number}": since, f"until_{number}": until}
        last = until and until.date()
        end = last + timedelta(days=1) if last and last < date.max else None
        return f"""
            SELECT d.session_id, d.agent, d.origin, (u.at AT TIME ZONE 'UTC')::date AS day, u.name,
                   {", ".join(f"u.{name}" for name in MEASURES)}
            FROM (SELECT DISTINCT session_id, agent, origin FROM sessions_app_sessionusage
                  WHERE kind = 'turn'{self.filters}{self._within("day", since.date(), end)}) AS d
            CROSS JOIN LATERAL (
                SELECT t.began_at AS at, v.* FROM sessions_app_turn t
                CROSS JOIN LATERAL countersign_turn_usage(t.here, t.runtime_ms, t.shares, t.bought) v
                WHERE t.session_id = d.session_id AND t.began_at >= %(since_{number})s
                      AND t.began_at < coalesce(%(until_{number})s, 'infinity'::timestamptz)
                UNION ALL
                SELECT at, kind, name, {NAMES} FROM countersign_erased_usage(d.session_id) WHERE d.origin = ''
            ) AS u
            WHERE u.kind = %(kind)s AND u.at >= %(since_{number})s
                  AND u.at < coalesce(%(until_{number})s, 'infinity'::timestamptz)"""


OF_AGENTS = f"""
SELECT agent, {", ".join(f"CASE WHEN {name}_known > 0 THEN round({name})::bigint END" for name in TOKENS[:4])},
       {_money("here", "elsewhere")}
FROM (SELECT agent, {SUMS} FROM (
    SELECT agent, {NAMES} FROM sessions_app_usagetotal
    WHERE workspace_id = %(workspace)s AND kind = 'turn' AND tag = countersign_usage_key(NULL)
      AND agent = ANY(%(agents)s) AND span = 'ever' AND origin <> ''
    UNION ALL
    SELECT agent, {NAMES} FROM sessions_app_usagechange
    WHERE workspace_id = %(workspace)s AND kind = 'turn' AND agent = ANY(%(agents)s) AND origin <> ''
) AS rows GROUP BY agent) AS summed
"""


def of_agents(workspace_id: UUID, agents: list[UUID]) -> dict[str, Sums]:
    """Tokens and money of the sessions of some agents, without what erased ones took, by the agent's id."""
    names = [field.name for field in fields(Sums)]
    with connection.cursor() as cursor:
        cursor.execute(OF_AGENTS, {"workspace": workspace_id, "agents": [str(agent) for agent in agents]})
        return {agent: Sums(**dict(zip(names, row, strict=False))) for agent, *row in cursor.fetchall()}


def total(scope: dict[str, Any], *, only_erased: bool = False) -> tuple[Any, ...]:
    """Row of the whole period: NULL, NULL, ``USED``. ``scope`` has workspace, from, to, agent, origin, tag."""
    statement = _Statement("total", scope, only_erased=only_erased)
    return _read(statement, f"SELECT NULL, NULL, {USED} FROM summed")[0]


def groups(by: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rows of groups in order of name; ``scope`` has nameless, past and limit, too."""
    if by == "session" and not scope["nameless"] and (following := dearest_sessions.following(scope)) is not None:
        return _following_sessions(scope, following)
    if by == "day" and (past := _day(scope["past"])) is not None and not scope["nameless"]:
        return _following_days(scope, past)
    return _groups(by, scope)


def _day(past: str | None) -> date | None:
    """The day behind which a page of days begins; None where a cursor names none."""
    try:
        return date.fromisoformat(past) if past else date.min
    except ValueError:
        return None


def _following_days(scope: dict[str, Any], past: date) -> list[tuple[Any, ...]]:
    """Rows of the next days with usage. Of the calendar as many are read as are wanted, and twice as many each further
    time: what follows a page of days is not added up for it.
    """
    found: list[tuple[Any, ...]] = []
    size = scope["limit"]
    while len(found) < scope["limit"] and (day := _next_day(scope["workspace"], past)) is not None:
        since = datetime.combine(day, time(), UTC)
        until = since + timedelta(days=size) if day < date.max - timedelta(days=size) else None
        if scope["to"] and since >= scope["to"]:
            break
        within = {
            "from": max(since, scope["from"] or since), "to": min(filter(None, (until, scope["to"])), default=None),
            "past": None, "limit": scope["limit"] - len(found),
        }  # fmt: skip
        if within["to"] is None or within["from"] < within["to"]:
            found += _groups("day", scope | within)
        if until is None:
            break
        past, size = until.date() - timedelta(days=1), size * 2
    return found


NEXT_DAY = """
SELECT min(day) FROM sessions_app_sessionusage WHERE workspace_id = %s AND kind = 'turn' AND day > %s
"""


def _next_day(workspace_id: UUID, past: date) -> date | None:
    with connection.cursor() as cursor:
        cursor.execute(NEXT_DAY, [workspace_id, past])
        return cursor.fetchone()[0]


def _groups(by: str, scope: dict[str, Any]) -> list[tuple[Any, ...]]:
    in_order = 'name IS NULL, name COLLATE "C"'
    return _read(
        _Statement(by, scope),
        f"SELECT name, {GROUPS[by].about}, {USED} FROM (SELECT * FROM summed WHERE %(past)s::text IS NULL"
        " OR (name IS NULL, coalesce(name, '') COLLATE \"C\") > (%(nameless)s, %(past)s)"
        f" ORDER BY {in_order} LIMIT %(limit)s) AS summed ORDER BY {in_order}",
    )


def ranked(by: str, scope: dict[str, Any], *, counted: bool = True) -> list[tuple[Any, ...]]:
    """Rows of groups, the dearest first (days, months: the latest), each behind the number of all groups; without
    ``counted`` not with all of their sessions.
    """
    if by == "session":
        everything = total(scope)
        if (dearest := dearest_sessions.dearest(scope, everything[2])) is not None:
            return _ranked_sessions(scope, dearest, everything)
    order = "name DESC" if by in PARTS else f'{DEAREST}, name COLLATE "C" NULLS LAST'
    return _read(
        _Statement(by, scope, counted=counted),
        f"SELECT number, name, {GROUPS[by].about}, {USED} FROM (SELECT *, count(*) OVER () AS number FROM summed"
        f" ORDER BY {order} LIMIT %(limit)s) AS summed ORDER BY {order}",
    )


def by_part(part: str, by: str, scope: dict[str, Any], names: list[str]) -> list[tuple[Any, ...]]:
    """Rows ``"DAY NAME", about, USED`` of some agents, models or tools by name in each day or month (its first day),
    without all of their sessions; "" is without a name.
    """
    statement = _Statement(f"{part}_{by}", scope, names=names, counted=False)
    chosen = f"substr(name, {DAY + 1}) = ANY(%(names)s)"
    return _read(statement, f"SELECT name, {statement.group.about}, {USED} FROM summed WHERE {chosen} ORDER BY name")


def of_sessions(scope: dict[str, Any], chosen: list[UUID]) -> list[tuple[Any, ...]]:
    """Rows of some sessions in order of their ids."""
    statement = _Statement("session", scope, chosen=chosen)
    return _read(statement, f'SELECT name, {GROUPS["session"].about}, {USED} FROM summed ORDER BY name COLLATE "C"')


def _ranked_sessions(scope: dict[str, Any], dearest: list[UUID], everything: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Rows of the dearest sessions, and of all erased ones together in their place among them."""
    erased = total(scope, only_erased=True)
    rows = of_sessions(scope, dearest)
    number = everything[2]
    if erased[2]:
        number += 1 - erased[2]
        rows.append(erased)
    rows.sort(key=lambda row: (-_spent(row), row[0] is None, row[0] or ""))
    return [(number, *row) for row in rows[: scope["limit"]]]


def _following_sessions(scope: dict[str, Any], following: list[UUID]) -> list[tuple[Any, ...]]:
    """Rows of a page in order, at its end all erased sessions together."""
    rows = of_sessions(scope, following)
    if len(following) < scope["limit"] and (erased := total(scope, only_erased=True))[2]:
        rows.append(erased)
    return rows


SPENT = (9, 10, 14)
"""Columns of recorded and priced dollars and of what calls took, behind a name and what is told of it."""


def _spent(row: tuple[Any, ...]) -> Any:
    return sum(row[place] or 0 for place in SPENT)


def _read(statement: _Statement, select: str) -> list[tuple[Any, ...]]:
    sums = statement.sums()
    with connection.cursor() as cursor:
        cursor.execute(f"WITH summed AS ({sums}) {select}", statement.parameters)
        return cursor.fetchall()
