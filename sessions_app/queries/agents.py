"""The agents of a workspace with what their sessions add up to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict
from uuid import UUID

from django.db.models import Count, F, Max, Q, QuerySet, Sum
from django.db.models.functions import Coalesce, TruncDate
from django.utils import timezone

from sessions_app.models import Agent, Session

from .money.totals import Sums

if TYPE_CHECKING:
    from django_stubs_ext import WithAnnotations

DAYS = 14
SUMMED = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "cost_recorded", "cost_priced",
    "unpriced_tokens",
)  # fmt: skip


class Totals(TypedDict):
    """What ``with_totals`` adds to an agent."""

    session_count: int
    failing: int
    last_seen: datetime | None
    waiting: int


AgentWithTotals: TypeAlias = "WithAnnotations[Agent, Totals]"


@dataclass(frozen=True, slots=True)
class AgentRow:
    """An agent as a list shows it. ``days`` has the sessions of each of the last 14 days, today last."""

    agent: AgentWithTotals
    sums: Sums
    days: list[int]

    @property
    def error_rate(self) -> float | None:
        """Share of sessions with at least one error; None without sessions."""
        return self.agent.failing / self.agent.session_count if self.agent.session_count else None


def with_totals(workspace_id: UUID) -> QuerySet[AgentWithTotals]:
    """Agents with session_count, failing, last_seen, waiting and the sums of tokens and money; last seen first."""
    seen = Coalesce("sessions__ended_at", "sessions__started_at", "sessions__created_at")
    return (
        Agent.objects.filter(workspace_id=workspace_id)
        .annotate(**{f"sum_{name}": Sum(f"sessions__{name}") for name in SUMMED})
        .annotate(
            session_count=Count("sessions"),
            failing=Count("sessions", filter=Q(sessions__error_count__gt=0)),
            last_seen=Max(seen),
            waiting=Sum("sessions__pending_approvals", default=0),
        )
        .order_by(F("last_seen").desc(nulls_last=True), "name")
    )


def rows(agents: Sequence[AgentWithTotals]) -> list[AgentRow]:
    """Rows for agents out of ``with_totals``, with one query for the days of all of them."""
    days = _days([agent.pk for agent in agents])
    return [AgentRow(agent, Sums.from_row(_sums(agent)), days[agent.pk]) for agent in agents]


def running_here(workspace_id: UUID) -> QuerySet[Agent]:
    """Active agents whose turns are taken here, by name."""
    found = Agent.objects.filter(workspace_id=workspace_id, status=Agent.Status.ACTIVE)
    return found.exclude(runtime=Agent.Runtime.EXTERNAL).order_by("name")


def recent_chats(agent: Agent) -> QuerySet[Session]:
    """Sessions that people began with an agent, the latest first."""
    found = Session.objects.filter(agent=agent, origin=Session.Origin.CHAT).select_related("agent")
    return found.defer("source_record").order_by("-created_at", "-id")


def _sums(agent: Agent) -> dict[str, Any]:
    return {name: getattr(agent, f"sum_{name}") for name in SUMMED}


def _days(agents: list[UUID]) -> dict[UUID, list[int]]:
    today = timezone.now().date()
    first = today - timedelta(days=DAYS - 1)
    found = (
        Session.objects.filter(agent_id__in=agents, started_at__date__gte=first, started_at__date__lte=today)
        .values_list("agent_id", TruncDate("started_at")).annotate(Count("pk"))
    )  # fmt: skip
    days: defaultdict[UUID, list[int]] = defaultdict(lambda: [0] * DAYS)
    for agent_id, day, number in found:
        days[agent_id][_index(first, day)] = number
    return days


def _index(first: date, day: date) -> int:
    return (day - first).days
