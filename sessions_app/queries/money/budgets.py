"""Budgets and what was spent of them: the cost of turns and of tool calls, in the budget's present period."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from sessions_app.models import Budget, CallUsage, TurnUsage
from sessions_app.models.usage import EVER

ZERO = Decimal(0)
SHOWN = 100


@dataclass(frozen=True, slots=True)
class BudgetState:
    """A budget and what was spent of it, in US dollars."""

    budget: Budget
    spent: Decimal

    @property
    def used_up(self) -> bool:
        return self.spent >= self.budget.amount

    @property
    def percent(self) -> int:
        """Percent of the amount that is spent, rounded down; 100 at most."""
        return 100 if self.used_up else int(100 * self.spent / self.budget.amount)


def midnight() -> datetime:
    """The beginning of today in UTC, where the budgets of a day begin."""
    return timezone.now().replace(hour=0, minute=0, second=0, microsecond=0)


def spent_of(budget: Budget) -> Decimal:
    """US dollars that booked turns and calls took out of it in its present period."""
    return budget_states(budget.workspace_id, [budget])[0].spent


def budgets_of(workspace_id: UUID, **about: UUID | None) -> QuerySet[Budget]:
    """Budgets of a workspace, with what they are about: its own first, then those of agents and of sessions."""
    found = Budget.objects.filter(workspace_id=workspace_id, **about).select_related("agent", "session__agent")
    return found.order_by(F("session").asc(nulls_first=True), F("agent__name").asc(nulls_first=True), "period")


def budget_states(workspace_id: UUID, budgets: Iterable[Budget]) -> list[BudgetState]:
    """Budgets with what was spent of each, in three queries however many they are."""
    budgets = list(budgets)
    by_session = _of_sessions(workspace_id, {each.session_id for each in budgets if each.session_id})
    others = [each for each in budgets if not each.session_id]
    agents = [each.agent_id for each in others if each.agent_id]
    by_agent = _of_agents(workspace_id, agents if len(agents) == len(others) else None) if others else {}

    def spent(budget: Budget) -> Decimal:
        if budget.session_id:
            return by_session.get((budget.session_id, budget.period), ZERO)
        of_agents = (amount for (_, period), amount in by_agent.items() if period == budget.period)
        return by_agent.get((budget.agent_id, budget.period), ZERO) if budget.agent_id else sum(of_agents, ZERO)

    return [BudgetState(budget, spent(budget)) for budget in budgets]


@dataclass(frozen=True, slots=True)
class Today:
    """The budget of the whole workspace for a day, if there is one, and how many budgets stop somebody now."""

    of_workspace: BudgetState | None
    used_up: int


def today(workspace_id: UUID) -> Today:
    """Today's budget of a workspace, without those of single sessions: who looks after one sees it there."""
    known = budget_states(workspace_id, budgets_of(workspace_id, session=None))
    days = (each for each in known if not each.budget.agent_id and each.budget.period == Budget.Period.DAY)
    return Today(next(days, None), sum(each.used_up for each in known))


def _paid() -> tuple[QuerySet[TurnUsage], QuerySet[CallUsage]]:
    """Costs that wallets pay: of turns, and of tool calls that succeeded."""
    return TurnUsage.objects.all(), CallUsage.objects.filter(status="ok")


OF_AGENTS = """
SELECT agent_id, coalesce(sum(spent) FILTER (WHERE day = %(ever)s), 0),
       coalesce(sum(spent) FILTER (WHERE day <> %(ever)s), 0)
FROM (
    SELECT agent_id, day, spent FROM sessions_app_agentday WHERE workspace_id = %(workspace)s AND day = %(ever)s
    UNION ALL
    SELECT agent_id, day, spent FROM sessions_app_agentday WHERE workspace_id = %(workspace)s AND day >= %(today)s
    UNION ALL
    SELECT c.agent_id, d.day, c.spent FROM sessions_app_agentdaychange c
    CROSS JOIN LATERAL (VALUES (c.day), (%(ever)s::date)) AS d (day)
    WHERE c.workspace_id = %(workspace)s AND (d.day = %(ever)s OR d.day >= %(today)s)
) AS days WHERE %(agents)s::uuid[] IS NULL OR agent_id = ANY(%(agents)s) GROUP BY 1
"""


def _of_agents(workspace_id: UUID, agents: list[UUID] | None) -> dict[tuple[UUID | None, str], Decimal]:
    """Sums by agent (None: those that are gone) and period, from what is kept of days; of all agents for None."""
    values = {"workspace": workspace_id, "agents": agents, "ever": EVER, "today": midnight().date()}
    with connection.cursor() as cursor:
        cursor.execute(OF_AGENTS, values)
        return {
            (agent_id, period): amount
            for agent_id, in_all, in_day in cursor.fetchall()
            for period, amount in ((Budget.Period.ALL, in_all), (Budget.Period.DAY, in_day))
        }


def _of_sessions(workspace_id: UUID, wanted: set[UUID]) -> dict[tuple[UUID, str], Decimal]:
    """Sums by session and period."""
    sums: dict[tuple[UUID, str], Decimal] = {}
    if not wanted:
        return sums
    for rows in _paid():
        found = rows.filter(workspace=workspace_id, session__in=wanted).order_by().values("session")
        summed = found.annotate(
            in_all=Sum("cost", default=ZERO), in_day=Sum("cost", filter=Q(at__gte=midnight()), default=ZERO)
        )
        for key, in_all, in_day in summed.values_list("session", "in_all", "in_day"):
            sums[key, Budget.Period.ALL] = sums.get((key, Budget.Period.ALL), ZERO) + in_all
            sums[key, Budget.Period.DAY] = sums.get((key, Budget.Period.DAY), ZERO) + in_day
    return sums
