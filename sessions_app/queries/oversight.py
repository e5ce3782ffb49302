"""Figures of oversight: how many decisions people made, how fast and how, which rules ask in vain, what was caught.

Of a period, by the votes of people: where several decide one call, each decided. Planted calls count in one figure of
their own and in no other; decisions that a file told of count nowhere. A fixed number of queries, whatever there is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

FAST = 2
"""Seconds below which nobody has read what was shown (approvals.md section 10)."""
RULES = 50
"""Rules that are listed, those that asked most often first."""
IN_VAIN = 20
"""Times that a rule must have asked, all of them approved as asked, before it is called one to take off."""

TEAM = "CASE WHEN v.channel = 'api' THEN 'keys' ELSE v.role END"
"""Who somebody was when they voted: a role, or a key; empty for votes of before roles were kept."""
# Of all together, of each person, and of each team: the last two columns say which.
PEOPLE = f"""
WITH voted AS (
    SELECT v.member_id, {TEAM} AS team, v.by, v.verdict, v.arguments IS NOT NULL AS edited, v.reason <> '' AS reasoned,
           extract(epoch FROM v.at - a.requested_at) AS waited, c.seconds AS on_card
    FROM sessions_app_vote v
    JOIN sessions_app_approval a ON a.id = v.approval_id
    LEFT JOIN sessions_app_cardview c ON c.approval_id = a.id AND c.member_id = v.member_id
    WHERE a.workspace_id = %(workspace)s AND NOT a.planted AND NOT a.recorded AND v.verdict <> 'withdraw'
      AND v.at >= %(from)s AND v.at < %(to)s
)
SELECT member_id, max(by), count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY waited),
       percentile_cont(0.9) WITHIN GROUP (ORDER BY waited), percentile_cont(0.5) WITHIN GROUP (ORDER BY on_card),
       count(*) FILTER (WHERE verdict = 'approve'), count(*) FILTER (WHERE verdict = 'approve' AND edited),
       count(*) FILTER (WHERE verdict = 'deny'), count(*) FILTER (WHERE verdict = 'deny' AND reasoned),
       count(*) FILTER (WHERE waited < %(fast)s), team, GROUPING(member_id, team)
FROM voted GROUP BY GROUPING SETS ((), (member_id), (team)) HAVING GROUPING(member_id) = 1 OR member_id IS NOT NULL
ORDER BY GROUPING(member_id) DESC, count(*) DESC, member_id, team
"""
OF_ALL, OF_TEAM, OF_PERSON = 3, 2, 1
"""Bits of ``GROUPING(member_id, team)``."""
# A person's last word on each planted call that ended; the admin who placed it has none.
CAUGHT = f"""
WITH last_words AS (
    SELECT DISTINCT ON (v.approval_id, v.member_id) v.member_id, {TEAM} AS team, v.by, v.verdict
    FROM sessions_app_vote v
    JOIN sessions_app_approval a ON a.id = v.approval_id
    JOIN sessions_app_member m ON m.id = v.member_id
    WHERE a.workspace_id = %(workspace)s AND a.planted AND NOT a.recorded AND a.status <> 'pending'
      AND m.user_id IS DISTINCT FROM a.asked_by_user_id AND v.at >= %(from)s AND v.at < %(to)s
    ORDER BY v.approval_id, v.member_id, v.at DESC, v.id DESC
)
SELECT member_id, max(by), count(*) FILTER (WHERE verdict IN ('deny', 'answer')), count(*), team
FROM last_words WHERE verdict <> 'withdraw' GROUP BY GROUPING SETS ((member_id), (team))
"""
ENDINGS = """
SELECT count(*) FILTER (WHERE status = 'expired'), count(*) FILTER (WHERE decides_by = 'policy'),
       count(*) FILTER (WHERE decides_by = 'grant'), count(*) FILTER (WHERE decides_by = 'stop')
FROM sessions_app_approval
WHERE workspace_id = %(workspace)s AND NOT planted AND NOT recorded AND status <> 'pending'
  AND decided_at >= %(from)s AND decided_at < %(to)s
"""
BY_RULE = """
SELECT rule, count(*), count(*) FILTER (WHERE status = 'approved'), count(*) FILTER (WHERE status = 'approved_edited'),
       count(*) FILTER (WHERE status = 'denied'), count(*) FILTER (WHERE status = 'answered'),
       count(*) FILTER (WHERE status = 'expired'), count(*) FILTER (WHERE status = 'pending')
FROM sessions_app_approval
WHERE workspace_id = %(workspace)s AND NOT planted AND NOT recorded AND decides_by IN ('person', 'system')
  AND rule IS NOT NULL AND requested_at >= %(from)s AND requested_at < %(to)s
GROUP BY rule ORDER BY count(*) DESC, rule LIMIT %(rules)s
"""


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one person, of a team (``name`` is a role or "keys"), or of all together: ``member_id`` is None of both.

    Times in seconds, None where there is no decision.
    """

    member_id: UUID | None = None
    name: str = ""
    decisions: int = 0
    median: float | None = None
    p90: float | None = None
    on_card: float | None = None
    """Median of the seconds that the card was in front of them, as far as browsers told it."""
    approved: int = 0
    edited: int = 0
    denied: int = 0
    denied_with_reason: int = 0
    fast: int = 0
    caught: int = 0
    planted: int = 0
    """Planted calls that they decided; ``caught`` of them they stopped."""

    @property
    def share_approved(self) -> int | None:
        """In percent."""
        return round(100 * self.approved / self.decisions) if self.decisions else None


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """How often a rule asked people, and how they decided."""

    rule: str
    asked: int
    approved: int
    edited: int
    denied: int
    answered: int
    expired: int
    pending: int

    @property
    def in_vain(self) -> bool:
        """Whether people did nothing but approve what it asked."""
        return self.asked >= IN_VAIN and self.approved == self.asked


@dataclass(frozen=True, slots=True)
class Oversight:
    """The figures of a workspace in a period."""

    all: Figures
    people: Sequence[Figures]
    teams: Sequence[Figures]
    rules: Sequence[RuleFigures]
    expired: int
    by_policy: int
    by_grant: int
    by_stop: int

    def of(self, member_id: UUID | None) -> Figures:
        """The figures of one member; zeros where they decided nothing."""
        return next((one for one in self.people if one.member_id == member_id), Figures(member_id))


def oversight(workspace_id: UUID, start: datetime, end: datetime) -> Oversight:
    """The figures of a period: four queries."""
    asked = {"workspace": workspace_id, "from": start, "to": end, "fast": FAST, "rules": RULES}
    rows = _rows(PEOPLE, asked)
    caught: dict[Any, tuple[str, int, int]] = {}
    caught_by_team: dict[Any, tuple[str, int, int]] = {}
    for member, name, stopped, of, team in _rows(CAUGHT, asked):
        (caught_by_team if member is None else caught)[member or team] = (name, stopped, of)
    people = [_figures(row, *caught.pop(row[0], ("", 0, 0))[1:]) for row in rows if row[-1] == OF_PERSON]
    people += [Figures(member, name, caught=stopped, planted=of) for member, (name, stopped, of) in caught.items()]
    teams = [_figures(row, *caught_by_team.pop(row[-2], ("", 0, 0))[1:]) for row in rows if row[-1] == OF_TEAM]
    teams += [Figures(None, team, caught=stopped, planted=of) for team, (_, stopped, of) in caught_by_team.items()]
    total = next((row for row in rows if row[-1] == OF_ALL), None)
    stopped, of = (sum(getattr(one, name) for one in people) for name in ("caught", "planted"))
    endings = _rows(ENDINGS, asked)[0]
    return Oversight(
        _figures(total, stopped, of) if total else Figures(caught=stopped, planted=of), people, teams,
        [RuleFigures(*row) for row in _rows(BY_RULE, asked)], *endings,
    )  # fmt: skip


def _rows(statement: str, asked: dict[str, Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, asked)
        return cursor.fetchall()


def _figures(row: tuple[Any, ...], caught: int, planted: int) -> Figures:
    names = (
        "member_id", "name", "decisions", "median", "p90", "on_card", "approved", "edited", "denied",
        "denied_with_reason", "fast",
    )  # fmt: skip
    *counted, team, grouping = row
    said = dict(zip(names, counted, strict=True))
    name = {OF_PERSON: said["name"], OF_TEAM: team}.get(grouping, "")
    return Figures(**said | {"name": name, "caught": caught, "planted": planted})
