"""Turns are paid for as they end, and begin only while there is money."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import AuditEntry, Budget, CallUsage, LedgerEntry, QueuedMessage, Session, TurnUsage
from sessions_app.queries.money import paid_calls
from sessions_app.services.money import budgets, ledger
from tests.fakes.managed_agents_steps import Pause, Say

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)


def budget(of, amount: str, **about) -> Budget:
    return Budget.objects.create(workspace_id=of.workspace_id, amount=Decimal(amount), **about)


def test_a_turn_is_paid_from_the_ai_wallet(scripted_session):
    say(scripted_session, "Hello there")
    work(scripted_session)
    entry = LedgerEntry.objects.get()
    assert (entry.wallet.kind, -entry.amount, entry.session_id) == (
        "ai",
        scripted_session.cost_recorded,
        scripted_session.pk,
    )
    assert entry.event == f"turn:{scripted_session.pk}:1"


def test_each_call_leaves_a_row(make_session):
    session = make_session("Bold", policy={"default": "allow"})
    say(session, "/tool shop/refund\n/tool ls")
    work(session)
    rows = CallUsage.objects.filter(session=session).order_by("seq").values_list("provider", "tool", "status")
    assert list(rows) == [("shop", "refund", "ok"), ("builtin", "ls", "ok")]


@pytest.mark.parametrize("of", ["session", "agent", "workspace"])
def test_a_budget_that_is_used_up_stops_new_turns_and_is_told_once(make_session, of):
    session = make_session()
    about = {"session": {"session": session}, "agent": {"agent": session.agent}, "workspace": {}}[of]
    budget(session, "0.00001", **about)
    say(session, "Hello there")
    work(session)
    for _ in range(2):
        with pytest.raises(budgets.Spent, match=r"is used up: \$0\.0000\d+ of \$0\.00001 today"):
            say(session, "Again")
    assert AuditEntry.objects.filter(action="budget.reached").count() == 1
    assert not QueuedMessage.objects.exists()


def test_queued_messages_wait_for_money_with_one_notice(scripted_session):
    budget(scripted_session, "0.00001", period="all")
    say(scripted_session, "one")
    say(scripted_session, "two")
    work(scripted_session)
    assert scripted_session.status == "idle"
    assert told(scripted_session)[-1][1].startswith("the budget of this workspace is used up")
    assert QueuedMessage.objects.count() == 1
    assert AuditEntry.objects.filter(action="budget.reached").count() == 1


def test_budgets_of_others_do_not_stop_it(make_session):
    session, other = make_session(), make_session("Other")
    budget(other, "0", agent=other.agent)
    say(session, "Hello")
    assert work(session).status == "idle"


def test_an_empty_wallet_stops_new_turns_once_money_was_ever_put_in(scripted_session):
    wallet = ledger.wallet_of(scripted_session.workspace_id, "ai")
    ledger.credit(wallet, "trial", Decimal("0.00001"), by=BY)
    say(scripted_session, "Hello there")
    work(scripted_session)
    with pytest.raises(budgets.Spent, match="AI wallet of this workspace is empty"):
        say(scripted_session, "Again")
    ledger.credit(wallet, "purchased", Decimal("1"), by=BY)
    assert not say(scripted_session, "Again").queued


def test_a_wallet_that_runs_empty_in_the_middle_of_a_turn_ends_it_and_loses_nothing(scripted_session):
    ledger.credit(ledger.wallet_of(scripted_session.workspace_id, "ai"), "trial", Decimal("0.00001"), by=BY)
    say(scripted_session, "/think well\n/think well again\nNever said")
    work(scripted_session)
    assert [kind for kind, _ in told(scripted_session)] == ["user_message", "reasoning", "error"]
    assert told(scripted_session)[-1][1].startswith("the AI wallet of this workspace is empty")
    assert TurnUsage.objects.get().cost == scripted_session.cost_recorded


def test_a_turn_elsewhere_is_stopped_when_the_money_is_gone(managed, fake):
    """Before the runtime states its cost the tokens count, at their price."""
    budgets.set_budget(managed.workspace_id, Decimal("0.0010"), "all", by=BY, session=managed)
    fake.world.scripts.append([Say("One"), Say("Two"), Pause(5), Say("Never said")])
    say(managed, "Go")
    work(managed)
    assert [text for kind, text in told(managed) if kind == "agent_message"] in (["One"], ["One", "Two"])
    assert told(managed)[-1][0] == "error" and "the budget of this session is used up" in told(managed)[-1][1]
    assert "user.interrupt" in [event["type"] for event in fake.session.sent]
    assert (managed.status, fake.session.status) == ("idle", "idle")
    assert TurnUsage.objects.get().cost == managed.cost_recorded == Decimal(fake.session.cents) / 100


def test_a_call_with_a_price_is_paid_from_the_data_wallet_and_an_empty_one_refuses_it(make_session):
    tools = [{"type": "mcp", "server": "shop", "url": "https://shop.example", "price": "0.25"}]
    session = make_session("Buyer", policy={"default": "allow"}, tools=tools)
    wallet = ledger.wallet_of(session.workspace_id, "data")
    ledger.credit(wallet, "purchased", Decimal("0.40"), by=BY)
    say(session, "/tool shop/buy\n/tool shop/buy\n/tool look")
    work(session)
    results = session.events.filter(kind="tool_result").order_by("seq").values_list("tool_status", flat=True)
    assert list(results) == ["ok", "denied", "ok"]
    assert ledger.balance(wallet) == Decimal("0.15")
    assert LedgerEntry.objects.filter(wallet__kind="ai").exists()
    rows = CallUsage.objects.filter(session=session).order_by("seq").values_list("tool", "status")
    assert list(rows) == [("buy", "ok"), ("buy", "denied"), ("look", "ok")]


def test_what_tool_calls_cost_is_part_of_the_cost_of_session_turn_and_call_as_in_the_ledger(make_session):
    tools = [{"type": "mcp", "server": "shop", "url": "https://shop.example", "price": "0.25"}]
    session = make_session("Buyer", policy={"default": "allow"}, tools=tools)
    say(session, "/tool shop/buy\n/tool look")
    work(session)
    say(session, "Hello")
    work(session)
    session.refresh_from_db()
    turns, calls = list(session.turns.order_by("index")), list(session.tool_calls.order_by("seq"))
    paid_calls.note_costs_in(session, turns, calls)
    taken = [-entry.amount for entry in LedgerEntry.objects.filter(wallet__kind="data")]

    assert taken == [Decimal("0.25")] == [session.tool_cost]
    assert session.whole_cost == session.cost_amount + Decimal("0.25")
    assert [turn.tool_cost for turn in turns if turn.index] == [Decimal("0.25"), None]
    assert [call.tool_cost for call in calls] == [Decimal("0.25"), None]
    again = Session.objects.select_related("agent").get(pk=session.pk)
    paid_calls.note_costs_of([again])
    assert again.tool_cost == Decimal("0.25")
