"""What was spent of a budget: turns and calls that were paid for, in its period, by whom it is of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from sessions_app.models import Budget, CallUsage, TurnUsage
from sessions_app.queries.money import budgets as queries
from sessions_app.services import agents, audit
from sessions_app.services.money import budgets
from tests.views.money.spending import ran

BY = audit.Actor("member", "m", "Ada")
MIDNIGHT = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture
def spending_of_two_days(workspace):
    """Of one agent $0.52 and, the day before, $1.00; of another $0.25; a failed call of $9 that nobody paid."""
    one, other = (agents.get_or_create_agent(workspace.id, name) for name in ("One", "Other"))
    today, before = ran(one, "0.50", tool="lookup", price="0.02"), ran(one, "1")
    ran(other, "0.25", tool="lookup", price="9", status="error")
    TurnUsage.objects.update(at=MIDNIGHT)
    CallUsage.objects.update(at=MIDNIGHT)
    TurnUsage.objects.filter(session=before).update(at=MIDNIGHT - timedelta(microseconds=1))
    return one, today, before


@pytest.mark.parametrize(
    ("amount", "spent", "said"),
    [("0.0001", "0.0001380000", "$0.000138 of $0.0001"), ("12", "12.3456", "$12.35 of $12.00"), ("0", "0", "$0.00 of")],
)
def test_spending_is_shown_with_the_digits_it_needs(workspace, amount, spent, said):
    session = ran(agents.get_or_create_agent(workspace.id, "One"), spent)
    budgets.set_budget(workspace.id, Decimal(amount), "all", by=BY)
    with pytest.raises(budgets.Spent) as why:
        budgets.check(session)
    assert said in str(why.value)


def test_each_budget_counts_its_own_spending_in_its_period(workspace, spending_of_two_days, monkeypatch):
    monkeypatch.setattr(queries, "midnight", lambda: MIDNIGHT)
    one, today, before = spending_of_two_days
    about = {"workspace": {}, "agent": {"agent": one}, "today": {"session": today}, "before": {"session": before}}
    for of in about.values():
        for period in ("day", "all"):
            budgets.set_budget(workspace.id, Decimal(1), period, by=BY, **of)
    expected = {
        (None, None, "day"): "0.77", (None, None, "all"): "1.77",
        (one, None, "day"): "0.52", (one, None, "all"): "1.52",
        (None, today, "day"): "0.52", (None, today, "all"): "0.52", (None, before, "day"): "0",
        (None, before, "all"): "1",
    }  # fmt: skip
    found = queries.budget_states(workspace.id, queries.budgets_of(workspace.id))
    assert {(each.budget.agent, each.budget.session, each.budget.period): each.spent for each in found} == {
        key: Decimal(amount) for key, amount in expected.items()
    }
    assert all(queries.spent_of(each.budget) == each.spent for each in found)


def test_a_budget_of_nothing_is_used_up(workspace):
    budget = budgets.set_budget(workspace.id, Decimal(0), "day", by=BY)
    state = queries.BudgetState(budget, queries.spent_of(budget))
    assert (state.used_up, state.percent) == (True, 100)


@pytest.mark.parametrize("amount", ["-0.01", "NaN", "Infinity", "10000001"])
def test_invalid_budget_amount_is_refused(workspace, amount):
    with pytest.raises(budgets.NotABudget, match="0 or more"):
        budgets.set_budget(workspace.id, Decimal(amount), "day", by=BY)
    assert not Budget.objects.exists()
