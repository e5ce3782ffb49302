"""Money over the API: balances, entries, credits and budgets, each behind its role and workspace."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from sessions_app.ids import uuid7
from sessions_app.models import Budget, LedgerEntry
from sessions_app.services import audit
from sessions_app.services.money import budgets, ledger
from tests.views.money.spending import ran

from .client import ok, pointers, refused

BY = audit.Actor("member", "m", "Ada")
CREDIT = {"source": "purchased", "amount": "50", "note": "invoice 77"}


def put(api, body):
    return api.send("PUT", "budgets", json.dumps(body))


def test_both_wallets_are_there_before_any_money(viewer):
    page = ok(viewer.get("wallets"))
    empty = {"subscription": "0.000000", "purchased": "0.000000", "trial": "0.000000"}
    assert page["items"] == [
        {"kind": kind, "limited": False, "balance": "0.000000", "by_source": empty} for kind in ("ai", "data")
    ]


def test_wallets_come_in_pages_as_every_list(viewer):
    first = ok(viewer.get("wallets?limit=1"))
    second = ok(viewer.get(f"wallets?limit=1&cursor={first['next_cursor']}"))
    assert [wallet["kind"] for page in (first, second) for wallet in page["items"]] == ["ai", "data"]
    assert second["next_cursor"] is None
    assert viewer.get("wallets?cursor=zzz").status_code == 422


def test_a_credit_is_made_once_per_key(admin, viewer):
    for _ in range(2):
        made = admin.post("wallets/ai/credits", CREDIT, **{"Idempotency-Key": "k1"})
        assert (made.status_code, made.json()["balance"], made.json()["limited"]) == (201, "50.000000", True)
    assert admin.post("wallets/ai/credits", CREDIT | {"amount": "51"}, **{"Idempotency-Key": "k1"}).status_code == 409
    (entry,) = ok(viewer.get("wallets/ai/entries"))["items"]
    assert (entry["amount"], entry["balance"], entry["kind"], entry["note"], entry["session_id"]) == (
        "50.000000", "50.000000", "credit", "invoice 77", None,
    )  # fmt: skip
    assert ok(viewer.get("wallets/data/entries"))["items"] == []


@pytest.mark.parametrize(
    ("wrong", "pointer"),
    [({"amount": "0"}, "/amount"), ({"amount": "-1"}, "/amount"), ({"amount": "1e99"}, "/amount"),
     ({"amount": "0.00001"}, "/amount"), ({"amount": None}, "/amount"), ({"source": "found"}, "/source"),
     ({"note": "x" * 1001}, "/note")],
)  # fmt: skip
def test_a_credit_that_is_none_is_refused(admin, wrong, pointer):
    assert pointers(refused(admin.post("wallets/ai/credits", CREDIT | wrong), 422)) == {pointer}
    assert not LedgerEntry.objects.exists()


def test_unknown_wallet_is_not_found(admin):
    refused(admin.get("wallets/gold/entries"), 422)
    refused(admin.post("wallets/gold/credits", CREDIT), 422)


def test_only_an_admin_changes_money(api, viewer, agent):
    budget = budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY)
    for client in (api, viewer):
        refused(client.post("wallets/ai/credits", CREDIT), 403)
        refused(put(client, {"amount": "1"}), 403)
        refused(client.send("DELETE", f"budgets/{budget.pk}", ""), 403)
        assert ok(client.get("budgets"))["items"][0]["amount"] == "5.000000"
    assert Budget.objects.count() == 1


def test_entries_are_paged_with_the_balance_after_each(admin, agent):
    for number in range(5):
        ledger.credit(ledger.wallet_of(agent.workspace_id, "ai"), "trial", Decimal(1), by=BY, event=f"credit:{number}")
    session = ran(agent, "0.50")
    balances, cursor = [], None
    while True:
        page = ok(admin.get("wallets/ai/entries", {"limit": 2} | ({"cursor": cursor} if cursor else {})))
        balances += [entry["balance"] for entry in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert balances == ["4.500000", "5.000000", "4.000000", "3.000000", "2.000000", "1.000000"]
    newest = ok(admin.get("wallets/ai/entries"))["items"][0]
    assert (newest["event"], newest["session_id"]) == (f"turn:{session.pk}:1", str(session.pk))


def test_a_budget_is_put_read_and_deleted(admin, agent):
    ran(agent, "0.75", tool="lookup", price="0.25")
    first = ok(put(admin, {"agent": str(agent.id), "amount": "1.5"}))
    assert first == {
        "id": first["id"], "agent": str(agent.id), "session": None, "period": "day", "amount": "1.500000",
        "spent": "1.000000", "used_up": False,
    }  # fmt: skip
    again = ok(put(admin, {"agent": str(agent.id), "amount": "0.5"}))
    assert (again["id"], again["used_up"]) == (first["id"], True)
    assert ok(admin.get("budgets"))["items"] == [again]
    assert ok(admin.get("budgets", {"session": str(uuid7())}))["items"] == []
    assert admin.send("DELETE", f"budgets/{first['id']}", "").status_code == 204
    refused(admin.send("DELETE", f"budgets/{first['id']}", ""), 404)


@pytest.mark.parametrize(
    "wrong", [{"amount": "-1"}, {"amount": "NaN"}, {"amount": "1e99"}, {"period": "year"}, {"agent": "x"}]
)
def test_a_budget_that_is_none_is_refused(admin, wrong):
    refused(put(admin, {"amount": "1"} | wrong), 422)
    assert not Budget.objects.exists()


def test_wallets_of_another_workspace_are_not_found(stranger, agent, session):
    budget = budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY)
    ledger.credit(ledger.wallet_of(agent.workspace_id, "ai"), "trial", Decimal(1), by=BY)
    ran(agent, tool="lookup", price="0.1")
    for path in ("budgets", "wallets/ai/entries", "wallets/data/entries", "calls"):
        assert ok(stranger.get(path))["items"] == []
    assert {wallet["balance"] for wallet in ok(stranger.get("wallets"))["items"]} == {"0.000000"}
    refused(stranger.send("DELETE", f"budgets/{budget.pk}", ""), 404)
    for about in ({"agent": str(agent.id)}, {"session": str(session.id)}):
        refused(put(stranger, {"amount": "1"} | about), 404)
    assert Budget.objects.count() == 1


def test_a_message_without_money_is_402(admin, workspace):
    from sessions_app.services import agents, sessions

    scripted = agents.create(workspace.id, by=BY, name="Echo", runtime="scripted")
    session = sessions.create(scripted, by=BY)
    ok(put(admin, {"amount": "0", "period": "all"}))
    address = f"/dashboard/agents/{scripted.id}/sessions/{session.id}/messages"
    problem = refused(admin.post(address, {"text": "Hello"}), 402)
    assert "is used up" in problem["detail"]


@pytest.mark.parametrize("amount", ["1000000.0001", "5000000", "10000000"])
def test_a_budget_larger_than_any_is_refused(admin, amount):
    assert pointers(refused(put(admin, {"amount": amount}), 422)) == {"/amount"}
    assert not Budget.objects.exists()
