"""Budgets and what was spent of them: the cost of turns and of tool calls, in the budget's present period."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from sessions_app.models import Budget, CallUsage, TurnUsage

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
    used: dict[str, UUID | datetime] = {"workspace": budget.workspace_id}
    if budget.session_id:
        used["session"] = budget.session_id
    elif budget.agent_id:
        used["agent"] = budget.agent_id
    if budget.period == Budget.Period.DAY:
        used["at__gte"] = midnight()
    return sum((rows.filter(**used).aggregate(spent=Sum("cost", default=ZERO))["spent"] for rows in _paid()), ZERO)


def budgets_of(workspace_id: UUID, **about: UUID | None) -> QuerySet[Budget]:
    """Budgets of a workspace, with what they are about: its own first, then those of agents and of sessions."""
    found = Budget.objects.filter(workspace_id=workspace_id, **about).select_related("agent", "session__agent")
    return found.order_by(F("session").asc(nulls_first=True), F("agent__name").asc(nulls_first=True), "period")


def budget_states(workspace_id: UUID, budgets: Iterable[Budget]) -> list[BudgetState]:
    """Budgets with what was spent of each, in six queries however many they are."""
    budgets = list(budgets)
    by_session = _sums(workspace_id, "session", {each.session_id for each in budgets if each.session_id})
    by_agent = _sums(workspace_id, "agent", {each.agent_id for each in budgets if each.agent_id})
    general = any(not each.session_id and not each.agent_id for each in budgets)
    whole = _sums(workspace_id, "workspace", {workspace_id} if general else set())

    def spent(budget: Budget) -> Decimal:
        sums, key = (whole, workspace_id)
        if budget.session_id:
            sums, key = by_session, budget.session_id
        elif budget.agent_id:
            sums, key = by_agent, budget.agent_id
        return sums.get((key, budget.period), ZERO)

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


def _sums(workspace_id: UUID, column: str, wanted: set[UUID]) -> dict[tuple[UUID, str], Decimal]:
    """Sums by id and period."""
    sums: dict[tuple[UUID, str], Decimal] = {}
    if not wanted:
        return sums
    for rows in _paid():
        rows = rows.filter(workspace=workspace_id, **{f"{column}__in": wanted}).order_by().values(column)
        rows = rows.annotate(
            in_all=Sum("cost", default=ZERO), in_day=Sum("cost", filter=Q(at__gte=midnight()), default=ZERO)
        )
        for key, in_all, in_day in rows.values_list(column, "in_all", "in_day"):
            sums[key, Budget.Period.ALL] = sums.get((key, Budget.Period.ALL), ZERO) + in_all
            sums[key, Budget.Period.DAY] = sums.get((key, Budget.Period.DAY), ZERO) + in_day
    return sums
