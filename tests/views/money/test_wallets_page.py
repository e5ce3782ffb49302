"""Balances, the ledger behind them, and budgets: everybody reads, admins change."""

from __future__ import annotations

import csv
import io
import re
from decimal import Decimal
from html import unescape

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.ids import uuid7
from sessions_app.models import AuditEntry, Budget, LedgerEntry, Session
from sessions_app.services import agents, audit
from sessions_app.services.money import budgets, ledger

from ..build import words
from .spending import ran

BY = audit.Actor("member", "m", "Ada")
CREDIT = {"source": "purchased", "amount": "50", "note": "invoice 77"}


def put(workspace, amount: str, source: str = "purchased", kind: str = "ai", note: str = "") -> None:
    ledger.credit(ledger.wallet_of(workspace.id, kind), source, Decimal(amount), by=BY, note=note)


def token_of(page) -> str:
    return re.search(r'name="confirmed" value="([^"]+)"', page.content.decode()).group(1)


def test_balances_stand_by_source(viewer, workspace):
    put(workspace, "3", "subscription")
    put(workspace, "2", "trial")
    put(workspace, "7", kind="data")
    page = words(viewer.get("/usage/wallets/"))
    assert "AI wallet $5.00 balance Subscription $3.00 Purchased $0.00 Trial $2.00" in page
    assert "Data wallet $7.00 balance" in page


def test_money_is_put_in_once_after_a_question(admin, workspace):
    asked = admin.post("/usage/wallets/ai/credit/", CREDIT)
    assert "Add $50.00 to the AI wallet?" in words(asked)
    assert "Balance then $50.00" in words(asked) and "From now on an empty AI wallet stops new turns" in words(asked)
    assert not LedgerEntry.objects.exists()
    for _ in range(2):
        assert admin.post("/usage/wallets/ai/credit/", CREDIT | {"confirmed": token_of(asked)}).status_code == 302
    entry = LedgerEntry.objects.get()
    assert (entry.amount, entry.source, entry.note, entry.kind) == (50, "purchased", "invoice 77", "credit")
    assert AuditEntry.objects.filter(action="wallet.credited").count() == 1


@pytest.mark.parametrize(
    "wrong", [{"amount": "0"}, {"amount": "-1"}, {"amount": "x"}, {"amount": "NaN"}, {"amount": "1e9"},
              {"amount": "0.00001"}, {"source": "found"}, {"note": "x" * 1001}],
)  # fmt: skip
def test_invalid_credit_amount_is_refused(admin, wrong):
    answer = admin.post("/usage/wallets/data/credit/", CREDIT | wrong | {"confirmed": str(uuid7())})
    assert answer.status_code == 422
    assert "field-error" in answer.content.decode()
    assert not LedgerEntry.objects.exists()


def test_what_was_typed_for_a_credit_stays_when_it_is_refused(admin):
    answer = admin.post("/usage/wallets/data/credit/", CREDIT | {"source": "trial", "amount": "x"})
    assert '<option value="trial" selected>' in answer.content.decode() and "invoice 77" in answer.content.decode()


def test_unknown_wallet_is_not_found(admin):
    assert admin.post("/usage/wallets/gold/credit/", CREDIT).status_code == 404
    assert admin.get("/usage/wallets/gold.csv").status_code == 404


def test_only_an_admin_changes_money(reviewer, viewer, agent):
    budget = budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY)
    for path, form in (
        ("/usage/wallets/ai/credit/", CREDIT | {"confirmed": str(uuid7())}),
        ("/usage/budgets/", {"amount": "1", "period": "day"}),
        (f"/usage/budgets/{budget.pk}/remove/", {}),
    ):
        assert reviewer.post(path, form).status_code == 403
    assert not LedgerEntry.objects.exists()
    assert Budget.objects.get().amount == 5
    for path in ("/usage/", "/usage/wallets/", "/usage/calls/"):
        page = viewer.get(path)
        assert page.status_code == 200 and 'method="post"' not in page.content.decode().split("<main", 1)[1]


def test_each_entry_leads_to_its_turn_or_call_and_has_the_balance_after_it(viewer, agent):
    put(agent.workspace, "5")
    session = ran(agent, "0.50", tool="lookup", price="0.02")
    html = viewer.get("/usage/wallets/").content.decode()
    path = f"/dashboard/sub-agents/{agent.id}/chat/{session.id}"
    assert f'href="{path}?turn=1#t-1"' in html
    page = words(viewer.get("/usage/wallets/?wallet=ai"))
    assert "−$0.50 $4.50" in page and "+ $5.00 $5.00" in page
    seq = session.events.get(kind="tool_call").seq
    assert f'href="{path}?event={seq}"' in viewer.get("/usage/wallets/?wallet=data").content.decode()


def test_an_entry_outlives_its_session(viewer, agent):
    session = ran(agent, "0.50")
    ids = {"session_id": uuid7(), "event": f"turn:{uuid7()}:1"}
    entry = LedgerEntry.objects.get(session_id=session.pk)
    LedgerEntry.objects.create(wallet=entry.wallet, source="trial", amount=-1, kind="usage", at=entry.at, **ids)
    assert "turn 1 of a session that was erased" in words(viewer.get("/usage/wallets/"))


def test_the_ledger_is_read_in_pages_that_fit_together(viewer, workspace):
    for number in range(1, 121):
        put(workspace, "1", note=f"note {number}.")
    seen, path = [], "/usage/wallets/?wallet=ai"
    while path:
        html = viewer.get(path).content.decode()
        rows = re.findall(r"<tr>\s*<td class=\"cell-when\".*?</tr>", html, re.S)
        seen += [(re.search(r"note \d+\.", row).group(0), re.findall(r"\$([\d,]+\.\d\d)<", row)[1]) for row in rows]
        following = re.search(r'class="more".*?hx-get="([^"]+)"', html, re.S)
        path = following and f"/usage/wallets/{unescape(following.group(1))}"
    assert seen == [(f"note {number}.", f"{number}.00") for number in range(120, 0, -1)]


def test_the_csv_has_the_same_balances_and_no_formula(viewer, workspace, agent):
    put(workspace, "5", note="=cmd()")
    ran(agent, "0.50")
    answer = viewer.get("/usage/wallets/ai.csv")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [(row["amount USD"], row["balance USD"], row["note"]) for row in rows] == [
        ("-0.5000000000", "4.5000000000", ""), ("5.0000000000", "5.0000000000", "'=cmd()"),
    ]  # fmt: skip


@pytest.mark.parametrize("before", ["x", "%00", "1"])
def test_invalid_ledger_cursor_is_not_found(viewer, workspace, before):
    assert viewer.get(f"/usage/wallets/?before={before}").status_code == 404
    assert viewer.get(f"/usage/calls/?before={before}").status_code == 404


def test_a_budget_is_set_changed_and_removed(admin, agent):
    for amount in ("2", "3.5"):
        admin.post("/usage/budgets/", {"amount": amount, "period": "day", "agent": agent.slug})
    ran(agent, "3.40", tool="lookup", price="0.10")
    budget = Budget.objects.get()
    assert (budget.agent, budget.session, budget.amount) == (agent, None, Decimal("3.5"))
    assert "Refund agent agent day $3.50 $3.50 100 % Used up" in words(admin.get("/usage/wallets/"))
    admin.post(f"/usage/budgets/{budget.pk}/remove/")
    assert not Budget.objects.exists()
    told = AuditEntry.objects.filter(action__startswith="budget.").order_by("seq")
    assert list(told.values_list("action", flat=True)) == [
        "budget.set", "budget.set", "budget.removed",
    ]  # fmt: skip


def test_a_budget_of_a_session_and_the_way_back(admin, agent):
    session = ran(agent)
    form = {"amount": "1", "period": "all", "session": str(session.pk)}
    assert admin.post("/usage/budgets/", form | {"next": "/agents/"}).url == "/agents/"
    assert admin.post("/usage/budgets/", form | {"next": "https://evil.example/"}).url == "/usage/wallets/#budgets"
    assert admin.post("/usage/budgets/", form | {"next": "nowhere"}).url == "/usage/wallets/#budgets"
    assert Budget.objects.get().session == session


def test_the_page_of_a_session_has_its_budgets_and_the_form_of_an_admin(admin, viewer, workspace):
    ours = agents.create(workspace.id, by=BY, name="Ours", runtime="scripted")
    session = ran(ours, "0.50")
    budgets.set_budget(workspace.id, Decimal(2), "all", by=BY, session=session)
    path = f"/dashboard/sub-agents/{ours.id}/chat/{session.id}"
    page = admin.get(f"{path}/facts")
    assert "total $2.00 $0.50 25 %" in words(page)
    assert f'name="session" value="{session.pk}"' in page.content.decode()
    form = {"amount": "3", "period": "day", "session": str(session.pk), "next": path}
    assert admin.post("/usage/budgets/", form).url == path
    assert "Set the budget" not in words(viewer.get(f"{path}/facts"))


@pytest.mark.parametrize(
    "wrong", [{"amount": "-1"}, {"amount": "x"}, {"amount": ""}, {"period": "year"}, {"session": "x"}]
)
def test_a_budget_that_is_none_is_refused(admin, wrong):
    assert admin.post("/usage/budgets/", {"amount": "1", "period": "day"} | wrong).status_code == 422
    assert not Budget.objects.exists()


def test_a_budget_that_is_changed_is_told_of_again(agent):
    budget = budgets.set_budget(agent.workspace_id, Decimal(1), "day", by=BY)
    Budget.objects.update(told_for="2026-03-02")
    budgets.set_budget(agent.workspace_id, Decimal(2), "day", by=BY)
    budget.refresh_from_db()
    assert budget.told_for == ""


def test_wallets_of_another_workspace_are_not_found(charlie, agent):
    session = ran(agent, title="Secret")
    put(agent.workspace, "5", note="secret note")
    budget = budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY, agent=agent)
    assert charlie.post(f"/usage/budgets/{budget.pk}/remove/").status_code == 404
    for about in ({"agent": agent.slug}, {"session": str(session.pk)}):
        assert charlie.post("/usage/budgets/", {"amount": "1", "period": "day"} | about).status_code == 404
    for path in ("/usage/wallets/", "/usage/calls/", "/usage/wallets/ai.csv", "/usage/calls.csv"):
        page = words(charlie.get(path)).lower()
        assert "secret" not in page and "refund agent" not in page
    assert Budget.objects.get().amount == 5


def test_queries_do_not_grow(admin, agent):
    def count(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin.get(path).status_code == 200
        return len(captured)

    def more(start: int, stop: int) -> None:
        for number in range(start, stop):
            other = agents.get_or_create_agent(agent.workspace_id, f"A{number}")
            session = ran(other, tool="lookup", price="0.01")
            budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY, agent=other)
            budgets.set_budget(agent.workspace_id, Decimal(5), "all", by=BY, session=session)

    budgets.set_budget(agent.workspace_id, Decimal(5), "day", by=BY)
    more(0, 2)
    paths = ("/usage/wallets/", "/usage/wallets/?wallet=data", "/usage/calls/", "/")
    count("/")  # the first page of a process asks whether totals are kept of all sessions
    before = {path: count(path) for path in paths}
    more(2, 12)
    assert {path: count(path) for path in paths} == before
    assert max(before.values()) <= 22  # of Home: what is stuck is one more


def test_home_shows_the_budget_of_today_and_what_is_used_up(viewer, agent):
    ran(agent, "1.50")
    assert "$1.50 of" not in words(viewer.get("/"))
    budgets.set_budget(agent.workspace_id, Decimal(3), "day", by=BY)
    assert "$1.50 of $3.00 a day spent by agents that run here, 50 %" in words(viewer.get("/"))
    budgets.set_budget(agent.workspace_id, Decimal(1), "all", by=BY, agent=agent)
    assert "1 budget used up" in words(viewer.get("/"))


def test_hostile_notes_stay_text(viewer, agent):
    put(agent.workspace, "1", note="<script>alert(1)</script>\u202e")
    Session.objects.filter(pk=ran(agent).pk).update(title="<img src=x>")
    html = viewer.get("/usage/wallets/").content.decode()
    assert "<script>alert" not in html and "<img" not in html and "\u202e" not in html
