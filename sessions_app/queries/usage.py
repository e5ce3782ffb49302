"""Tokens and money of a workspace in a period, by day, agent, model, session or tool.

A turn belongs to the moment it began, and everything in it belongs to the turn: so every grouping adds up to the
same total. Tokens stand once per model response. A response that calls several tools is shared among its calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection

from sessions_app.models.fields import Money, Tokens

TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
MONEY = ("cost_recorded", "cost_priced", "unpriced_tokens")

PERIOD = """
WITH turns AS (
    SELECT t.*, s.agent_id, a.name AS agent_name, s.title AS session_title,
           coalesce(t.started_at, s.started_at, s.created_at) AS began
    FROM sessions_app_turn t
    JOIN sessions_app_session s ON s.id = t.session_id
    JOIN sessions_app_agent a ON a.id = s.agent_id
    WHERE s.workspace_id = %(workspace)s
      AND (%(from)s::timestamptz IS NULL OR coalesce(t.started_at, s.started_at, s.created_at) >= %(from)s)
      AND (%(to)s::timestamptz IS NULL OR coalesce(t.started_at, s.started_at, s.created_at) < %(to)s)
)
"""

BILLED = " + ".join(f"coalesce(r.{name}, 0)" for name in TOKENS[:4])
NOTHING = ", ".join("NULL::numeric" for _ in (*TOKENS, *MONEY))
RESPONSES = f"""
, responses AS (
    SELECT r.session_id, r.turn, r.key, r.model, {", ".join(f"r.{name}" for name in TOKENS)}, r.cost_recorded,
           CASE WHEN r.cost_recorded IS NULL THEN r.cost_priced END AS cost_priced,
           CASE WHEN r.cost_recorded IS NULL AND r.cost_priced IS NULL THEN {BILLED} ELSE 0 END AS unpriced_tokens
    FROM turns JOIN sessions_app_modelrequest r ON r.session_id = turns.session_id AND r.turn = turns.index
), silent AS (
    SELECT session_id, index AS turn, tool_calls FROM turns
    WHERE num_nonnulls({", ".join(TOKENS)}, cost_recorded, cost_priced) = 0
)
"""
# Turns without any response are added with UNION, not joined: PostgreSQL has no statistics of these tables of the
# moment, and looked through one of them for each row of the other (2.3 s for 10,000 responses, against 0.03 s).
BY_MODEL = f"""
, spent AS (
    SELECT session_id, turn, model, {", ".join((*TOKENS, *MONEY))} FROM responses
    UNION ALL SELECT session_id, turn, NULL, {NOTHING} FROM silent
)
"""
# Calls without a known response count as calls; responses without a call stand in the row without a tool.
BY_TOOL = f"""
, asked AS (
    SELECT c.session_id, c.turn, coalesce(e.request, 'seq:' || e.seq) AS key, c.name AS tool, count(*) AS calls
    FROM turns
    JOIN sessions_app_toolcall c ON c.session_id = turns.session_id AND c.turn = turns.index
    JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
    GROUP BY c.session_id, c.turn, coalesce(e.request, 'seq:' || e.seq), c.name
), shares AS (
    SELECT *, calls / sum(calls) OVER (PARTITION BY session_id, key) AS share FROM asked
), spent AS (
    SELECT coalesce(s.session_id, r.session_id) AS session_id, coalesce(s.turn, r.turn) AS turn, s.tool, s.calls,
           {", ".join(f"r.{name} * coalesce(s.share, 1) AS {name}" for name in (*TOKENS, *MONEY))}
    FROM shares s FULL JOIN responses r ON r.session_id = s.session_id AND r.key = s.key
    UNION ALL SELECT session_id, turn, NULL, NULL, {NOTHING} FROM silent WHERE tool_calls = 0
)
"""
BY_TURN = ", spent AS (SELECT *, index AS turn FROM turns)"

SUMS = ", ".join(
    [f"round(sum({name}))::bigint AS {name}" for name in TOKENS]
    + [
        "round(sum(cost_recorded), 10)",
        "round(sum(cost_priced), 10)",
        "coalesce(round(sum(unpriced_tokens)), 0)::bigint",
    ]
)
COUNTS = "count(DISTINCT session_id), count(DISTINCT (session_id, turn)) FILTER (WHERE turn > 0)"

GROUPS: dict[str, tuple[str, str, str]] = {
    "day": (BY_TURN, "(began AT TIME ZONE 'UTC')::date::text", "NULL"),
    "agent": (BY_TURN, "agent_id::text", "max(agent_name)"),
    "session": (BY_TURN, "session_id::text", "max(session_title)"),
    "model": (RESPONSES + BY_MODEL, "model", "NULL"),
    "tool": (RESPONSES + BY_TOOL, "tool", "sum(calls)::bigint"),
}
"""What to sum over, the text that names a group, and what else is told of it."""


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens and money of one group, or of all. None is unknown."""

    name: str | None
    """The day, the agent's or session's id, the model or tool; None where there is none."""
    about: Any
    """The agent's name, the session's title, the number of calls of a tool."""
    sessions: int
    turns: int
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_recorded: Decimal | None
    cost_priced: Decimal | None
    unpriced_tokens: int

    total_tokens = Tokens.total_tokens
    cost_amount = Money.cost_amount
    cost_basis = Money.cost_basis


@dataclass(frozen=True, slots=True)
class Period:
    """Turns of a workspace that began at or after ``since`` and before ``until``."""

    workspace_id: UUID
    since: datetime | None = None
    until: datetime | None = None

    def total(self) -> Used:
        """Everything in the period."""
        return next(self._read(f"{PERIOD}{BY_TURN} SELECT NULL, NULL, {COUNTS}, {SUMS} FROM spent", {}))

    def groups(self, by: str, *, limit: int, after: tuple[bool, str] | None = None) -> list[Used]:
        """Groups in order of name, the one without a name last; ``after`` is (is it without, name) of the last one."""
        source, name, about = GROUPS[by]
        sql = (
            f"{PERIOD}{source} SELECT {name} AS name, {about}, {COUNTS}, {SUMS} FROM spent"
            f" WHERE %(past)s::text IS NULL"
            f" OR ({name} IS NULL, coalesce({name}, '') COLLATE \"C\") > (%(nameless)s, %(past)s)"
            f' GROUP BY {name} ORDER BY {name} IS NULL, {name} COLLATE "C" LIMIT %(limit)s'
        )
        nameless, past = after or (False, None)
        return list(self._read(sql, {"nameless": nameless, "past": past, "limit": limit}))

    def _read(self, sql: str, parameters: dict[str, Any]) -> Iterator[Used]:
        scope = {"workspace": self.workspace_id, "from": self.since, "to": self.until}
        with connection.cursor() as cursor:
            cursor.execute(sql, scope | parameters)
            yield from (Used(*row) for row in cursor.fetchall())
