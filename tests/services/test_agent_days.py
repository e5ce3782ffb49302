"""Kept numbers of agents and wallets are what their rows add up to, whatever happens to these."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Sum

from sessions_app.models import (
    Agent,
    AgentDay,
    AgentDayChange,
    CallUsage,
    LedgerEntry,
    Session,
    SessionMeasures,
    TurnUsage,
    UsageTotal,
    Wallet,
)
from sessions_app.models.usage import EVER, NOT_STARTED
from sessions_app.queries import chains
from sessions_app.queries.agents import agents as queries
from sessions_app.queries.money import ledger as ledger_queries
from sessions_app.services import agent_days, agents, audit
from sessions_app.services.money import ledger, totals
from tests.services.build import append, at_once, call, result
from tests.views.money.spending import ran
from vcon_app.services.erasure import erasing

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
BY = audit.Actor("member", "somebody", "Somebody")
COUNTED = """
SELECT agent_id, day, sum(sessions), sum(failing), sum(spent) FROM (
    SELECT agent_id, coalesce((started_at AT TIME ZONE 'UTC')::date, '0001-01-02') AS day,
           1 AS sessions, (error_count > 0)::int AS failing, 0 AS spent FROM sessions_app_session
    UNION ALL SELECT agent_id, (at AT TIME ZONE 'UTC')::date, 0, 0, coalesce(cost, 0) FROM sessions_app_turnusage
    UNION ALL SELECT agent_id, (at AT TIME ZONE 'UTC')::date, 0, 0, coalesce(cost, 0) FROM sessions_app_callusage
              WHERE status = 'ok'
) AS counted GROUP BY 1, 2 HAVING (sum(sessions), sum(failing), sum(spent)) <> (0, 0, 0)
"""
KEPT = """
SELECT agent_id, day, sum(sessions), sum(failing), sum(spent) FROM (
    SELECT agent_id, day, sessions, failing, spent FROM sessions_app_agentday WHERE day <> '0001-01-01'
    UNION ALL SELECT agent_id, day, sessions, failing, spent FROM sessions_app_agentdaychange
) AS kept GROUP BY 1, 2 HAVING (sum(sessions), sum(failing), sum(spent)) <> (0, 0, 0)
"""


def rows(statement: str) -> set[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return set(cursor.fetchall())


def check() -> None:
    """What is kept is what can be counted, before and after changes are taken in; of ever and of wallets, too."""
    counted = rows(COUNTED)
    assert counted and rows(KEPT) == counted
    agent_days.fold()
    assert not AgentDayChange.objects.exists() and rows(KEPT) == counted
    ever = AgentDay.objects.filter(day=EVER).values_list("agent_id", "sessions", "failing", "spent")
    added: dict[Any, list[Any]] = {}
    for agent_id, _, *numbers in counted:
        added[agent_id] = [a + b for a, b in zip(added.get(agent_id, [0, 0, 0]), numbers, strict=True)]
    assert {row[0]: list(row[1:]) for row in ever if any(row[1:])} == added
    for wallet in Wallet.objects.all():
        sums = dict(wallet.entries.values_list("source").annotate(Sum("amount")))
        assert ledger.balances(wallet) == {source: sums.get(source, 0) for source in ledger_queries.SOURCES}
    for measures in SessionMeasures.objects.select_related("session"):
        session = measures.session
        seen = session.ended_at or session.started_at or session.created_at
        assert (measures.agent_id, measures.seen) == (session.agent_id, seen.replace(second=0, microsecond=0))
        paid = CallUsage.objects.filter(session=session, status="ok").aggregate(paid=Sum("cost", default=Decimal(0)))
        assert measures.data == paid["paid"]


@pytest.fixture
def work(agent) -> list[Session]:
    """Sessions of two agents over some days, with paid turns and calls, failed ones, and one that never began."""
    other = agents.get_or_create_agent(agent.workspace_id, "Another")
    found = [
        ran(agent, "0.5", at=NOON, tool="search", price="0.25"), ran(agent, "0.1", at=NOON - DAY),
        ran(other, "0.2", at=NOON, tool="search", price="0.5", status="error"), ran(other, None, at=NOON + 40 * DAY),
    ]  # fmt: skip
    append(found[2], call("e"), result("e", "error"))
    return [*found, Session.objects.create(workspace_id=agent.workspace_id, agent=other)]


@pytest.mark.django_db
def test_what_is_kept_follows_every_change(agent, work, document_storage):
    check()
    first, second, third, *_ = work
    append(second, call("c"), result("c", "error"))
    Session.objects.filter(pk=first.pk).update(started_at=None)
    Session.objects.filter(pk=third.pk).update(agent=agent, started_at=NOON - 9 * DAY)
    TurnUsage.objects.filter(session=first).update(cost=Decimal("7.5"), at=NOON + DAY)
    CallUsage.objects.filter(session=third).update(status="ok")
    check()
    assert AgentDay.objects.get(agent=agent, day=NOT_STARTED).sessions == 1
    erasing.erase_session(first, by=BY)
    erasing.erase_session(work[3], by=BY)
    TurnUsage.objects.filter(session=second).delete()
    CallUsage.objects.filter(session=third).delete()
    check()


@pytest.mark.django_db
def test_the_page_of_agents_shows_what_is_kept_before_it_is_taken_in(agent, work):
    def shown() -> dict[str, tuple[Any, ...]]:
        found = queries.rows(agent.workspace_id, list(queries.by_last_seen(agent.workspace_id)))
        return {row.agent.name: (row.session_count, row.failing, row.sums.cost_amount, sum(row.days)) for row in found}

    Session.objects.filter(pk=work[0].pk).update(started_at=datetime.now(UTC))
    before = shown()
    assert before["Refund agent"] == (2, 0, Decimal("0.6"), 1) and before["Another"][:3] == (3, 1, Decimal("0.2"))
    agent_days.fold()
    totals.fold()
    assert shown() == before
    erasing.erase_session(work[0], by=BY)
    assert shown()["Refund agent"] == (1, 0, Decimal("0.1"), 0), "what it took from the wallets is not the agent's now"


@pytest.mark.django_db
def test_the_agent_that_was_seen_last_comes_first(agent, work):
    assert [one.name for one in queries.by_last_seen(agent.workspace_id)] == ["Another", "Refund agent"]
    Session.objects.filter(pk=work[1].pk).update(ended_at=datetime.now(UTC) + DAY)
    first = queries.by_last_seen(agent.workspace_id)[0]
    work[1].refresh_from_db()
    assert (first.name, first.last_seen) == ("Refund agent", work[1].ended_at)
    Session.objects.update(agent=agent)
    assert [one.last_seen is None for one in queries.by_last_seen(agent.workspace_id)] == [False, True]


@pytest.mark.django_db
def test_usage_ever_is_the_months_together_also_when_it_is_made_anew(agent, work):
    def sums(span: str) -> set[tuple[Any, ...]]:
        found = UsageTotal.objects.filter(span=span, tag="00000000-0000-0000-0000-000000000000").order_by()
        found = found.values_list("workspace", "kind", "agent", "origin", "key")
        named = ("turns", "first_sessions", "here_recorded", "elsewhere_priced", "data", "output_tokens")
        return set(found.annotate(**{f"sum_{name}": Sum(name) for name in named}))

    totals.fold()
    append(work[0], call("d"), result("d"))
    totals.fold()
    assert sums("ever") == sums("month") and len(sums("ever")) > 5
    totals.rebuild()
    totals.fold()
    assert sums("ever") == sums("month") and len(sums("ever")) > 5


@pytest.mark.django_db
def test_usage_of_whole_days_is_that_of_their_origins_together_also_when_it_is_made_anew(agent, work):
    def sums(span: str) -> set[tuple[Any, ...]]:
        found = UsageTotal.objects.filter(span=span, tag="00000000-0000-0000-0000-000000000000").order_by()
        found = found.values_list("workspace", "kind", "agent", "start", "key")
        named = ("sessions", "turns", "first_sessions", "here_recorded", "elsewhere_priced", "data", "output_tokens")
        return set(found.annotate(**{f"sum_{name}": Sum(name) for name in named}))

    def origins(span: str) -> int:
        return UsageTotal.objects.filter(span=span).values("origin").distinct().count()

    Session.objects.filter(pk=work[0].pk).update(origin="chat")
    totals.fold()
    append(work[0], call("d"), result("d"))
    totals.fold()
    assert sums("whole") == sums("day") and len(sums("whole")) > 5
    assert (origins("day"), origins("whole")) == (2, 1)
    totals.rebuild()
    totals.fold()
    assert sums("whole") == sums("day") and len(sums("whole")) > 5


@pytest.mark.django_db
def test_changes_that_nobody_takes_in_are_noticed(agent, work, monkeypatch):
    monkeypatch.setattr(agent_days, "LATE_CHANGES", AgentDayChange.objects.count() - 1)
    assert "changes of agents wait" in agent_days.late_notice()
    agent_days.fold()
    assert agent_days.late_notice() is None


@pytest.mark.django_db
def test_rebuilding_counts_again(agent, work):
    agent_days.fold()
    AgentDay.objects.update(sessions=99, spent=99)
    ids = {"workspace_id": agent.workspace_id, "agent": agent}
    AgentDayChange.objects.create(**ids, day=EVER, sessions=1, failing=0, spent=0)
    agent_days.rebuild()
    check()


@pytest.mark.django_db
def test_every_entry_of_a_wallet_knows_what_was_left_after_it(workspace):
    wallet = ledger.wallet_of(workspace.id, "ai")
    for amount in (5, 3, 2):
        ledger.credit(wallet, "purchased", Decimal(amount), by=BY)
    ledger.charge(workspace.id, "ai", "turn:x:1", Decimal("4.5"))
    found = ledger_queries.entries(workspace.id, "ai")
    for begin in range(4):
        shown = ledger_queries.with_balance(found, list(found[begin : begin + 2]))
        assert [row.balance for row in shown] == [Decimal("5.5"), 10, 8, 5][begin : begin + 2]


@pytest.mark.django_db
def test_a_balance_that_is_not_what_the_ledger_says_is_noticed_and_mended(workspace):
    wallet = ledger.wallet_of(workspace.id, "ai")
    ledger.credit(wallet, "trial", Decimal(5), by=BY)
    assert list(chains.broken_ledger(workspace.id)) == []
    Wallet.objects.filter(pk=wallet.pk).update(trial=1_000)
    (broken,) = chains.broken_ledger(workspace.id)
    assert broken.what == "the balance of the wallet ai" and "not the sum of its entries" in broken.reason
    ledger.rebuild()
    assert list(chains.broken_ledger(workspace.id)) == [] and ledger.balance(wallet) == 5


@pytest.mark.django_db(transaction=True)
def test_two_at_once_are_both_counted(agent):
    other = agents.get_or_create_agent(agent.workspace_id, "Another")

    def begin(of: Agent) -> None:
        with transaction.atomic():
            for _ in range(5):
                Session.objects.create(workspace_id=agent.workspace_id, agent=of, started_at=NOON)
        ledger.charge(agent.workspace_id, "ai", f"turn:{of.pk}:1", Decimal(1))

    at_once(lambda: begin(agent), lambda: begin(other), lambda: begin(agent), agent_days.fold)
    check()
    assert LedgerEntry.objects.aggregate(sum=Sum("amount"))["sum"] == -2, "the same turn is paid for once"
