"""Ledger and decisions: a changed, missing or added row is named, the last one included."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import Approval, LedgerEntry, Role, UnsealedHead, Vote
from sessions_app.queries import chains
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, endings, requests
from sessions_app.services.money import ledger
from tests.database_roles import as_owner

pytestmark = pytest.mark.django_db
ADA = decisions.Decider(audit.Actor("member", "1", "Ada"), Role.REVIEWER, "web")


def tampered(statement: str) -> None:
    with as_owner() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement)
        cursor.execute("SET LOCAL session_replication_role = origin")


@pytest.fixture
def wallet(workspace):
    wallet = ledger.wallet_of(workspace.pk, "ai")
    ledger.credit(wallet, "purchased", Decimal(10), by=ADA.actor)
    ledger.credit(wallet, "trial", Decimal("2.5"), by=ADA.actor, note="welcome")
    for turn in range(3):
        ledger.charge(workspace.pk, "ai", f"turn:x:{turn}", Decimal("1.25"))
    return wallet


def ledger_faults(wallet):
    return [(fault.what, fault.reason) for fault in chains.broken_ledger(wallet.workspace_id)]


def test_an_untouched_ledger_is_whole(wallet):
    assert ledger_faults(wallet) == []
    assert list(wallet.entries.order_by("seq").values_list("seq", flat=True)) == [1, 2, 3, 4, 5]
    assert UnsealedHead.objects.filter(kind="wallet", chain_id=wallet.pk).exists()


@pytest.mark.parametrize("change", [
    "amount = amount + 1", "by = 'somebody'", "note = 'x'", "at = at - interval '1 day'", "event = 'turn:y'",
    "source = 'trial'", "kind = 'correction'", "session_id = gen_random_uuid()",
])  # fmt: skip
def test_a_changed_entry_is_named(wallet, change):
    tampered(f"UPDATE sessions_app_ledgerentry SET {change} WHERE seq = 3")
    assert ledger_faults(wallet)[0][0] == "entry 3 of the wallet ai"


def test_a_missing_entry_is_named(wallet):
    tampered("DELETE FROM sessions_app_ledgerentry WHERE seq = 2")
    assert ledger_faults(wallet)[0] == ("entry 3 of the wallet ai", "entry 2 is missing before it")


def test_an_entry_that_was_put_in_is_named(wallet):
    LedgerEntry.objects.create(
        wallet=wallet, source="trial", amount=100, event="gift", kind="credit", at=wallet.entries.first().at, seq=6
    )
    assert ledger_faults(wallet)[0][0] == "entry 6 of the wallet ai"


def asked(session):
    return requests.request(
        session, requests.Question("shell", {"command": "rm x"}), by=audit.Actor("api_key", "2", "k")
    )


def decided(session, verdict="approve"):
    approval = asked(session)
    shown = decisions.Decision(verdict, approval.version, approval.digest, reason="as agreed")
    return decisions.decide(approval, ADA, shown)


def decision_faults(session):
    return [fault.reason for fault in chains.broken_decisions(session.workspace_id)]


def test_untouched_decisions_are_whole(session):
    decided(session)
    decided(session, "deny")
    asked(session)
    endings.cancel_all(session.pk, reason="enough", by=ADA.actor)
    asked(session)
    assert decision_faults(session) == []


@pytest.mark.parametrize("change", [
    "sessions_app_approval SET status = 'denied'", "sessions_app_approval SET status = 'pending'",
    "sessions_app_approval SET decision = jsonb_set(decision, '{by}', '\"Eve\"')",
    "sessions_app_vote SET verdict = 'deny'", "sessions_app_vote SET by = 'Eve'", "sessions_app_vote SET reason = ''",
])  # fmt: skip
def test_a_changed_decision_is_named(session, change):
    approval = decided(session)
    tampered(f"UPDATE {change}")
    assert decision_faults(session) != []
    assert next(chains.broken_decisions(session.workspace_id)).what == f"approval {approval.pk}"


def test_a_vote_that_was_added_or_removed_is_noticed(session):
    approval = decided(session)
    Vote.objects.create(approval=approval, by="Eve", verdict="approve", channel="web", at=approval.decided_at)
    assert decision_faults(session) == ["the decision or a vote is not what was written"]
    tampered("DELETE FROM sessions_app_vote")
    assert decision_faults(session) == ["the decision or a vote is not what was written"]


def test_a_question_that_was_changed_after_the_decision_is_noticed(session):
    decided(session)
    tampered('UPDATE sessions_app_approval SET arguments = \'{"command": "rm -rf /"}\'')
    assert decision_faults(session) == ["it does not ask what the audit log says was asked"]


def test_an_approval_that_nobody_asked_for_is_noticed(session):
    real = decided(session)
    Approval.objects.create(
        workspace=session.workspace, session=session, tool_name="shell", status="approved", digest=real.digest,
        requested_at=real.requested_at,
    )  # fmt: skip
    assert decision_faults(session) == ["it does not ask what the audit log says was asked"]


def test_an_approval_that_is_gone_is_noticed_unless_its_session_was_erased(session):
    approval = decided(session)
    with as_owner() as cursor:
        cursor.execute("SET LOCAL countersign.erase = 'on'")
        approval.delete()
    faults = list(chains.missing_approvals(session.workspace_id, erased=set()))
    assert [fault.what for fault in faults] == [f"approval {faults[0].what.split()[1]}"]
    assert list(chains.missing_approvals(session.workspace_id, erased={str(session.pk)})) == []


def test_a_member_who_goes_leaves_the_decision_whole(session):
    decided(session)
    with as_owner():
        Vote.objects.update(member=None)
    assert decision_faults(session) == []
