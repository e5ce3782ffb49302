"""Balances are sums of entries that are never changed, and no step is paid for twice."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import AuditEntry, LedgerEntry, Wallet
from sessions_app.queries.money import ledger as queries
from sessions_app.services import audit
from sessions_app.services.money import ledger

from ..build import at_once

pytestmark = pytest.mark.django_db
BY = audit.Actor("member", "m", "Ines")
AMOUNTS = st.decimals("0.01", "5", places=4)


@pytest.fixture
def wallet(workspace) -> Wallet:
    return ledger.wallet_of(workspace.id, "ai")


def put(wallet: Wallet, **amounts: str) -> None:
    for source, amount in amounts.items():
        ledger.credit(wallet, source, Decimal(amount), by=BY)


def left(wallet: Wallet) -> dict[str, str]:
    return {source: f"{amount:.2f}" for source, amount in ledger.balances(wallet).items()}


def test_expiring_credit_is_spent_first(wallet, workspace):
    put(wallet, trial="1", purchased="2", subscription="0.5")
    ledger.charge(workspace.id, "ai", "turn:a:1", Decimal("1"))
    assert left(wallet) == {"subscription": "0.00", "purchased": "1.50", "trial": "1.00"}
    ledger.charge(workspace.id, "ai", "turn:a:2", Decimal("2"))
    assert left(wallet) == {"subscription": "0.00", "purchased": "0.00", "trial": "0.50"}


def test_spending_beyond_the_balance_is_owed(wallet, workspace):
    put(wallet, trial="1")
    ledger.charge(workspace.id, "ai", "turn:a:1", Decimal("1.25"))
    assert left(wallet) == {"subscription": "0.00", "purchased": "-0.25", "trial": "0.00"}


def test_a_step_that_is_retried_is_paid_once_and_one_that_goes_on_pays_the_rest(wallet, workspace):
    put(wallet, purchased="5")
    taken = [ledger.charge(workspace.id, "ai", "turn:a:1", Decimal(total)) for total in ("1", "1", "1.5", "1.5")]
    assert taken == [Decimal("1"), 0, Decimal("0.5"), 0]
    assert ledger.balance(wallet) == Decimal("3.5")


def test_charges_of_turn_1_and_turn_10_are_separate(wallet, workspace):
    for turn in (1, 10, 11):
        ledger.charge(workspace.id, "ai", f"turn:a:{turn}", Decimal("1"))
    assert ledger.balance(wallet) == -3


def test_one_wallet_cannot_drain_the_other(wallet, workspace):
    put(wallet, purchased="5")
    ledger.charge(workspace.id, "data", "call:a:1", Decimal("2"))
    assert ledger.balance(wallet) == 5
    assert ledger.balance(ledger.wallet_of(workspace.id, "data")) == -2


def test_the_same_credit_again_changes_nothing(wallet):
    for _ in range(2):
        ledger.credit(wallet, "purchased", Decimal("3"), by=BY, event="invoice:77")
    assert ledger.balance(wallet) == 3
    assert AuditEntry.objects.filter(action="wallet.credited").count() == 1


@pytest.mark.parametrize("amount", ["0", "-1", "NaN", "Infinity"])
def test_credit_of_zero_is_refused(wallet, amount):
    with pytest.raises(ledger.NotMoney, match="above 0"):
        ledger.credit(wallet, "purchased", Decimal(amount), by=BY)


@settings(max_examples=30, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(st.sampled_from(["credit", "charge"]), st.sampled_from("abc"), AMOUNTS), max_size=12))
def test_the_balance_is_what_went_in_less_what_each_step_cost_most(workspace, steps):
    wallet = Wallet.objects.create(workspace=make_workspace(), kind="ai")
    credits, costs = Decimal(0), {}
    for number, (step, event, amount) in enumerate(steps):
        if step == "credit":
            ledger.credit(wallet, "purchased", amount, by=BY, event=f"c{number}")
            credits += amount
        else:
            ledger.charge(wallet.workspace_id, "ai", event, amount)
            costs[event] = max(costs.get(event, Decimal(0)), amount)
        assert ledger.balance(wallet) == credits - sum(costs.values())
    assert sum(ledger.balances(wallet).values()) == ledger.balance(wallet)


def make_workspace():
    from sessions_app.ids import uuid7
    from sessions_app.models import Workspace

    return Workspace.objects.create(slug=f"w-{uuid7()}", name="w")


@pytest.mark.django_db(transaction=True)
def test_two_charges_for_one_step_at_once_are_one(workspace):
    wallet = ledger.wallet_of(workspace.id, "ai")
    put(wallet, purchased="5")
    at_once(*[lambda: ledger.charge(workspace.id, "ai", "turn:a:1", Decimal("1"))] * 4)
    assert ledger.balance(wallet) == 4
    assert LedgerEntry.objects.filter(kind="usage").count() == 1


def test_an_allowance_expires_once_and_nothing_else_does(wallet, workspace):
    put(wallet, subscription="5", purchased="2", trial="1")
    ledger.charge(workspace.id, "ai", "turn:a:1", Decimal("1.5"))
    taken = [ledger.expire(wallet, by=BY, event="expiry:2026-11") for _ in range(2)]
    assert taken == [Decimal("3.5"), 0]
    assert left(wallet) == {"subscription": "0.00", "purchased": "2.00", "trial": "1.00"}
    assert AuditEntry.objects.filter(action="wallet.expired").count() == 1


def test_the_allowance_of_the_next_month_expires_by_itself(wallet):
    put(wallet, subscription="5")
    ledger.expire(wallet, by=BY, event="expiry:2026-11")
    put(wallet, subscription="4")
    assert ledger.expire(wallet, by=BY, event="expiry:2026-11") == 0
    assert ledger.expire(wallet, by=BY, event="expiry:2026-12") == 4


@pytest.mark.parametrize("amount", ["10000001", "0.00000000001", "1E+400"])
def test_credit_out_of_range_is_refused(wallet, amount):
    with pytest.raises(ledger.NotMoney, match="give"):
        ledger.credit(wallet, "purchased", Decimal(amount), by=BY)


def test_entries_add_up_to_the_balance_at_any_moment(wallet, workspace):
    put(wallet, subscription="3", purchased="2")
    for turn in range(1, 8):
        ledger.charge(workspace.id, "ai", f"turn:a:{turn}", Decimal("0.8"))
    ledger.expire(wallet, by=BY)
    found = queries.entries(workspace.id, "ai")
    rows = queries.with_balance(found, list(found))
    running = Decimal(0)
    for row in reversed(rows):
        running += row.amount
        assert row.balance == running
    assert rows[0].balance == ledger.balance(wallet) == Decimal("-0.6")
    assert [row.balance for row in queries.every_balance(found, 100)] == [row.balance for row in rows]
    (state, _) = queries.wallets(workspace.id)
    assert (state.balance, state.by_source) == (running, ledger.balances(wallet))
