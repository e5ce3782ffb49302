"""Budgets: set, removed, and checked before a turn, a model request or a tool call spends more."""

from __future__ import annotations

from datetime import UTC, date
from decimal import Decimal
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from sessions_app.models import Agent, Budget, Session, Turn, TurnUsage, Wallet
from sessions_app.queries.money.budgets import spent_of

from .. import audit, task_queue
from . import ledger

ZERO = Decimal(0)
MOST = 1_000_000
"""US dollars of one budget."""


class NotABudget(ValueError):
    """An amount that no budget can have."""


class Spent(ValueError):
    """A budget or a wallet allows no new turn; the message says which, how much, and what now."""


def check(session: Session, *, running: int | None = None) -> None:
    """Check that a turn may begin. Raises ``Spent`` when one of its budgets is used up or the AI wallet is empty.

    ``running`` is a turn in flight, whose cost so far counts although it is not booked yet.
    """
    so_far = _cost_of(session, running) if running is not None else ZERO
    for budget in _budgets_over(session):
        spent = spent_of(budget) + so_far
        if spent >= budget.amount:
            raise Spent(_why(budget, spent))
    wallet = Wallet.objects.filter(workspace_id=session.workspace_id, kind=Wallet.Kind.AI, limited=True).first()
    if wallet and ledger.balance(wallet) - so_far <= 0:
        raise Spent("the AI wallet of this workspace is empty; an admin can put money in under Usage")


def check_call(session: Session, price: Decimal | None) -> None:
    """Raises ``Spent`` when the data wallet cannot pay for a tool call of this price; a call without one is free."""
    wallet = Wallet.objects.filter(workspace_id=session.workspace_id, kind=Wallet.Kind.DATA, limited=True).first()
    if price and wallet and ledger.balance(wallet) < price:
        raise Spent("the data wallet of this workspace cannot pay for this call; an admin can put money in under Usage")


def record_reached(session: Session) -> None:
    """An audit entry for each budget that the turn just booked used up, once in its period."""
    for budget in _budgets_over(session):
        if (spent := spent_of(budget)) >= budget.amount:
            _record_reached_once(budget, spent)


@transaction.atomic
def set_budget(
    workspace_id: UUID, amount: Decimal, period: str, *, by: audit.Actor, agent: Agent | None = None,
    session: Session | None = None,
) -> Budget:  # fmt: skip
    """Set the budget of a session, an agent, or (neither) the workspace; 0 stops every new turn.

    ``agent`` and ``session`` are of the workspace. Raises ``NotABudget``.
    """
    if not amount.is_finite() or not 0 <= amount <= MOST:
        raise NotABudget(f"{amount} is no budget; give 0 or more, up to {MOST:,} US dollars")
    budget, _ = Budget.objects.update_or_create(
        workspace_id=workspace_id, agent=None if session else agent, session=session, period=period,
        defaults={"amount": amount, "told_for": ""},
    )  # fmt: skip
    audit.record(
        workspace_id, by, "budget.set", subject=("budget", budget.pk), of=_owner_of(budget), amount=str(amount),
        period=period,
    )  # fmt: skip
    return budget


@transaction.atomic
def remove(budget: Budget, *, by: audit.Actor) -> None:
    """Delete a budget; spending is no longer stopped by it. A second time changes nothing."""
    about = {"of": _owner_of(budget), "amount": str(budget.amount), "period": budget.period}
    if Budget.objects.filter(pk=budget.pk).delete()[0]:
        audit.record(budget.workspace_id, by, "budget.removed", subject=("budget", budget.pk), **about)


def _cost_of(session: Session, index: int) -> Decimal:
    """What a turn cost beyond what is booked of it: a turn that is taken up again was booked before."""
    turn = Turn.objects.filter(session=session, index=index).first()
    booked = TurnUsage.objects.filter(session=session, turn=index).values_list("cost", flat=True).first()
    return max((turn.cost_amount or ZERO) - (booked or ZERO), ZERO) if turn else ZERO


def _budgets_over(session: Session) -> list[Budget]:
    about = Q(session=session) | Q(agent=session.agent_id, session=None) | Q(agent=None, session=None)
    return list(Budget.objects.filter(about, workspace_id=session.workspace_id).select_related("agent"))


def _record_reached_once(budget: Budget, spent: Decimal) -> None:
    period = str(_today()) if budget.period == Budget.Period.DAY else "all"
    if Budget.objects.filter(pk=budget.pk).exclude(told_for=period).update(told_for=period):
        audit.record(
            budget.workspace_id, audit.SYSTEM, "budget.reached", subject=("budget", budget.pk), of=_owner_of(budget),
            spent=str(spent), amount=str(budget.amount), period=period,
        )  # fmt: skip
        task_queue.enqueue(task_queue.TELL_OF_BUDGET, budget.pk)


def _why(budget: Budget, spent: Decimal) -> str:
    until = "today (UTC)" if budget.period == Budget.Period.DAY else "in all"
    used = f"{_dollars(spent)} of {_dollars(budget.amount)}"
    return f"the budget of {_owner_of(budget)} is used up: {used} {until}; an admin can raise it"


def _dollars(amount: Decimal) -> str:
    """Amount to the cent; below a dollar more exactly, as a budget of a hundredth of a cent is not $0.00."""
    whole, _, part = f"{amount:.{2 if amount >= 1 else 6}f}".partition(".")
    return f"${whole}.{part.rstrip('0'):0<2}"


def _owner_of(budget: Budget) -> str:
    if budget.session_id:
        return "this session"
    return budget.agent.name if budget.agent else "this workspace"


def _today() -> date:
    return timezone.now().astimezone(UTC).date()
