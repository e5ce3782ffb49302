"""The agents of a workspace with what their sessions add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

from django.db import connection
from django.db.models import F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone

from sessions_app.models import Agent, Session, SessionMeasures
from sessions_app.models.usage import EVER

from ..money import usage_totals
from ..money.totals import Sums
from ..money.usage import is_kept
from ..sessions import run_findings

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

DAYS = 14
CHATS_LOOKED_AT = 200
"""Chats with the assistant among which those about one agent are looked for."""
SUMMED = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_recorded", "cost_priced",
    "unpriced_tokens", "under_reported",
)  # fmt: skip
COUNTS = """
SELECT agent_id, day, sum(sessions)::bigint, sum(failing)::bigint FROM (
    SELECT agent_id, day, sessions, failing FROM sessions_app_agentday
    WHERE workspace_id = %(workspace)s AND agent_id = ANY(%(agents)s) AND day = %(ever)s
    UNION ALL
    SELECT agent_id, day, sessions, failing FROM sessions_app_agentday
    WHERE workspace_id = %(workspace)s AND agent_id = ANY(%(agents)s) AND day BETWEEN %(first)s AND %(today)s
    UNION ALL
    SELECT c.agent_id, d.day, c.sessions, c.failing FROM sessions_app_agentdaychange c
    CROSS JOIN LATERAL (VALUES (c.day), (%(ever)s::date)) AS d (day)
    WHERE c.workspace_id = %(workspace)s AND c.agent_id = ANY(%(agents)s)
      AND (d.day = %(ever)s OR d.day BETWEEN %(first)s AND %(today)s)
) AS counted GROUP BY 1, 2
"""


class LastSeen(TypedDict):
    """What ``by_last_seen`` adds to an agent."""

    last_seen: datetime | None


SeenAgent: TypeAlias = "WithAnnotations[Agent, LastSeen]"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as a list shows it. ``days`` has the sessions of each of the last days, today last."""

    agent: SeenAgent
    session_count: int
    failing: int
    waiting: int
    """Approvals that are pending."""
    sums: Sums
    days: list[int]
    findings: list[run_findings.Found]
    """Of the rules that are on in the workspace."""

    @property
    def busiest(self) -> int:
        """Sessions of the day with most of them."""
        return max(self.days, default=0)

    @property
    def error_rate(self) -> float | None:
        """Share of sessions with at least one error; None without sessions."""
        return self.failing / self.session_count if self.session_count else None


def by_last_seen(workspace_id: UUID) -> QuerySet[SeenAgent]:
    """Agents with the end, beginning or coming of the session that was at work last, to the minute; it comes first."""
    seen = Coalesce("session__ended_at", "session__started_at", "session__created_at")
    latest = SessionMeasures.objects.filter(agent=OuterRef("pk")).order_by("-seen").values_list(seen)[:1]
    found = Agent.objects.filter(workspace_id=workspace_id).annotate(last_seen=Subquery(latest))
    return found.order_by(F("last_seen").desc(nulls_last=True), "name")


def rows(
    workspace_id: UUID, agents: Sequence[SeenAgent], off: Collection[str] = (), last_days: int = DAYS
) -> list[AgentRow]:
    """Rows for agents of a workspace, in four queries however many they are. ``off``: rules whose findings are not
    told there."""
    ids = [agent.pk for agent in agents]
    counts, sums, waiting = _counts(workspace_id, ids, last_days), _sums(workspace_id, ids), _waiting(workspace_id, ids)
    findings = run_findings.by_agent(ids, off)
    first = timezone.now().date() - timedelta(days=last_days - 1)
    found = []
    for agent in agents:
        sessions, failing = counts[agent.pk].get(EVER, (0, 0))
        days = [counts[agent.pk].get(first + timedelta(days=number), (0, 0))[0] for number in range(last_days)]
        found.append(
            AgentRow(
                agent, sessions, failing, waiting.get(agent.pk, 0), sums.get(str(agent.pk), Sums()), days,
                findings.get(agent.pk, []),
            )
        )  # fmt: skip
    return found


def running_here(workspace_id: UUID) -> QuerySet[Agent]:
    """Active agents of the workspace's own whose turns are taken here, by name."""
    found = Agent.objects.filter(workspace_id=workspace_id, status=Agent.Status.ACTIVE)
    return found.exclude(runtime__in=[Agent.Runtime.EXTERNAL, Agent.Runtime.BUILT_IN]).order_by("name")


def recent_chats(agent: Agent) -> QuerySet[Session]:
    """Sessions that people began with an agent, the latest first."""
    found = Session.objects.filter(agent=agent, origin=Session.Origin.CHAT).select_related("agent")
    return found.defer("source_record").order_by("-created_at", "-id")


def recent_chats_about(assistant: Agent, tag: str) -> QuerySet[Session]:
    """Those of the latest chats with the assistant of the desk that have this tag, the latest first."""
    latest = Session.objects.filter(agent=assistant).order_by("-created_at").values("pk")[:CHATS_LOOKED_AT]
    found = Session.objects.filter(pk__in=latest, tags__contains=[tag]).select_related("agent")
    return found.defer("source_record").order_by("-created_at", "-id")


def _counts(workspace_id: UUID, agents: list[UUID], days: int) -> dict[UUID, dict[date, tuple[int, int]]]:
    """Sessions that began on each of the last days and ``EVER``, and how many of them had errors, by agent."""
    today = timezone.now().date()
    values: dict[str, Any] = {"workspace": workspace_id, "agents": agents, "ever": EVER, "today": today}
    counts: defaultdict[UUID, dict[date, tuple[int, int]]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(COUNTS, values | {"first": today - timedelta(days=days - 1)})
        for agent_id, day, sessions, failing in cursor.fetchall():
            counts[agent_id][day] = (sessions, failing)
    return counts


def _sums(workspace_id: UUID, agents: list[UUID]) -> dict[str, Sums]:
    """Tokens and money of the sessions of each agent, by its id; what erased sessions took is not among them."""
    if is_kept():
        return usage_totals.of_agents(workspace_id, agents)
    found = Session.objects.filter(workspace_id=workspace_id, agent__in=agents).order_by().values("agent_id")
    summed: Any = found.annotate(**{f"sum_{name}": Sum(name) for name in SUMMED})
    return {str(row["agent_id"]): Sums.from_row({name: row[f"sum_{name}"] for name in SUMMED}) for row in summed}


def _waiting(workspace_id: UUID, agents: list[UUID]) -> dict[UUID, int]:
    found = Session.objects.filter(workspace_id=workspace_id, pending_approvals__gt=0, agent__in=agents).order_by()
    return dict(found.values_list("agent_id").annotate(Sum("pending_approvals")))
