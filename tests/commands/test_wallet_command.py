"""``wallet show``, ``wallet credit``, ``wallet expire``: what they print, and with which exit status."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import AuditEntry, LedgerEntry, TurnUsage
from sessions_app.services import agents, workspaces
from tests.views.money.spending import ran


def test_money_is_put_in_shown_and_expires(db, capsys):
    call_command("wallet", "credit", "ai", "12.50", "--source", "subscription", "--note", "November")
    call_command("wallet", "credit", "ai", "$5", "--source", "purchased")
    assert "ai    $17.5000  (subscription $12.5000, purchased $5.0000, trial $0.0000; empty stops new turns)" in (
        capsys.readouterr().out
    )
    call_command("wallet", "expire", "ai", "--once", "2026-11")
    call_command("wallet", "expire", "ai", "--once", "2026-11")
    assert capsys.readouterr().out.splitlines() == ["expired $12.5000", "expired $0.0000"]
    call_command("wallet", "show")
    assert "ai    $5.0000" in capsys.readouterr().out
    assert set(AuditEntry.objects.values_list("actor_kind", flat=True)) >= {"command"}


def test_an_empty_data_wallet_is_not_told_as_one_that_is_only_counted(db, capsys):
    """It pays for calls that have a price, so such a call is refused (``budgets.check_call``)."""
    call_command("wallet", "show")
    assert capsys.readouterr().out.count("; only counted)") == 2
    call_command("wallet", "credit", "data", "5", "--source", "trial")
    out = capsys.readouterr().out
    assert "trial $5.0000; empty refuses calls with a price)" in out and out.count("only counted") == 1


def test_a_credit_with_a_name_is_made_once(db):
    for _ in range(2):
        call_command("wallet", "credit", "data", "5", "--source", "trial", "--once", "invoice-77")
    assert LedgerEntry.objects.get().event == "credit:invoice-77"


@pytest.mark.parametrize(
    "arguments",
    [["ai", "0"], ["ai", "-3"], ["ai", "lots"], ["ai", "NaN"], ["gold", "5"], ["ai", "5", "--workspace", "nowhere"]],
)
def test_a_credit_that_cannot_be_is_refused(db, arguments):
    with pytest.raises(CommandError):
        call_command("wallet", "credit", *arguments, "--source", "trial")
    assert not LedgerEntry.objects.exists()


def test_show_names_what_was_not_paid_to_the_cent(db, capsys):
    session = ran(
        agents.get_or_create_agent(workspaces.default_workspace().id, "Refund agent"),
        "0.50",
        tool="lookup",
        price="0.02",
    )
    call_command("wallet", "show")
    assert "gap" not in capsys.readouterr().out
    TurnUsage.objects.update(cost=Decimal("0.75"))
    with pytest.raises(SystemExit) as stopped:
        call_command("wallet", "show")
    assert stopped.value.code == 1
    assert f"gap   turn:{session.pk}:1: cost $0.7500000000, taken $0.5000000000" in capsys.readouterr().out
