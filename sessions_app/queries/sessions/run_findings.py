"""Findings of runs: which rules are on in a workspace, and in which and how many sessions each found something."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import OuterRef, Q, Subquery
from django.db.models.lookups import IsNull

from sessions_app.models import RunFinding, Workspace
from sessions_app.summary.findings import BY_NAME, NAMES, RULES, Rule

ANY, NONE = "any", "none"
CHOICES = (*NAMES, ANY, NONE)
"""Words of the filter "finding"."""


class RuleOff(ValueError):
    """Sessions are asked for by a rule that is off in the workspace."""


COUNTED = 50
"""Sessions of a rule that are counted: more are "50+", and the list behind the number has them all."""
COUNT = f"""
SELECT of.id, of.rule, count(*)
FROM (SELECT id, rule FROM unnest(%s::uuid[]) AS id CROSS JOIN unnest(%s::text[]) AS rule) AS of
CROSS JOIN LATERAL (
    SELECT 1 FROM sessions_app_runfinding f WHERE f.{{column}} = of.id AND f.rule = of.rule LIMIT {COUNTED + 1}
) AS found
GROUP BY of.id, of.rule
"""


@dataclass(frozen=True, slots=True)
class Found:
    """A rule with the number of sessions in which it found something, counted up to ``COUNTED`` + 1."""

    rule: Rule
    sessions: int

    @property
    def shown(self) -> str:
        """The number as a page has it."""
        return f"{COUNTED}+" if self.sessions > COUNTED else str(self.sessions)


@dataclass(frozen=True, slots=True)
class RuleState(Found):
    """The same of a workspace, and whether the rule is on in it."""

    is_on: bool


def off_in(workspace_id: UUID) -> list[str]:
    """Names of the rules that are off in a workspace."""
    return Workspace.objects.values_list("rules_off", flat=True).get(pk=workspace_id)


def with_finding(workspace_id: UUID, wanted: str) -> tuple[Q, Q]:
    """Sessions in which a rule found something, or any that is on, or none: all of them, and asked of each. Raises
    ``RuleOff``."""
    off = off_in(workspace_id)
    if wanted in off:
        raise RuleOff(f"the rule {BY_NAME[wanted].label} is off in this workspace; an admin turns it on in Settings")
    rows = RunFinding.objects.filter(workspace_id=workspace_id)
    rows = rows.exclude(rule__in=off) if wanted in (ANY, NONE) else rows.filter(rule=wanted)
    among, of_each = Q(pk__in=rows.values("session_id")), rows.filter(session=OuterRef("pk")).order_by()
    each = Q(IsNull(Subquery(of_each.values("rule")[:1]), wanted == NONE))
    return (~among if wanted == NONE else among), each


def by_agent(agents: Sequence[UUID], off: Collection[str]) -> dict[UUID, list[Found]]:
    """Of each agent the rules that are on and found something, in their order: one query, read from an index alone."""
    counts: defaultdict[UUID, dict[str, int]] = defaultdict(dict)
    for agent_id, rule, count in _counts("agent_id", agents, [name for name in NAMES if name not in off]):
        counts[agent_id][rule] = count
    return {pk: [Found(rule, found[rule.name]) for rule in RULES if rule.name in found] for pk, found in counts.items()}


def states(workspace: Workspace) -> list[RuleState]:
    """All rules, whether they are on in a workspace, and what they found there: counted also while they are off."""
    counts = {rule: count for _, rule, count in _counts("workspace_id", [workspace.pk], NAMES)}
    return [RuleState(rule, counts.get(rule.name, 0), rule.name not in workspace.rules_off) for rule in RULES]


def _counts(column: str, ids: Sequence[UUID], rules: Sequence[str]) -> list[tuple[UUID, str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(COUNT.format(column=column), [list(ids), list(rules)])
        return cursor.fetchall()
