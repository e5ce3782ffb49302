"""The audit log: nobody changes it by accident, and whoever forces it is shown."""

from __future__ import annotations

import pytest
from django.db import transaction

from sessions_app.models import AuditEntry
from sessions_app.services import audit, workspaces
from tests.database_roles import as_owner

from .build import at_once

pytestmark = pytest.mark.django_db
ACTOR = audit.Actor("member", "m1", "Ines")


@pytest.fixture
def chain(workspace) -> list[AuditEntry]:
    return [audit.record(workspace.id, ACTOR, "thing.done", subject=("thing", n), number=n) for n in range(5)]


def forced(statement: str, *params: object) -> None:
    """Run a statement as somebody who owns the database would: without the triggers."""
    with as_owner() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE sessions_app_auditentry DISABLE TRIGGER append_only")
        cursor.execute(statement, params)
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE sessions_app_auditentry ENABLE TRIGGER append_only")


def broken(workspace) -> list[tuple[int, str]]:
    return list(audit.broken_rows(workspace.id))


def test_entries_are_numbered_and_chained(workspace, chain):
    assert [entry.seq for entry in chain] == [1, 2, 3, 4, 5]
    assert [entry.previous_hash for entry in chain] == [audit.GENESIS, *(entry.hash for entry in chain[:-1])]
    assert broken(workspace) == []


@pytest.mark.parametrize(
    "column, value",
    [("actor_name", "Mallory"), ("action", "thing.undone"), ("details", '{"number": 7}'),
     ("at", "2020-01-01"), ("subject_id", "9"),
     ("actor_id", "m2"), ("hash", "f" * 64)],
)  # fmt: skip
def test_a_changed_entry_is_named(workspace, chain, column, value):
    forced(f"UPDATE sessions_app_auditentry SET {column} = %s WHERE seq = 3", value)
    assert broken(workspace)[0] == (3, "its content was changed")


def test_a_removed_entry_is_named_by_the_next(workspace, chain):
    forced("DELETE FROM sessions_app_auditentry WHERE seq = 3")
    assert broken(workspace) == [(4, "entry 3 is missing before it")]


def test_an_entry_that_was_made_to_fit_itself_still_breaks_the_chain(workspace, chain):
    fake = chain[2]
    fake.actor_name = "Mallory"
    forced("UPDATE sessions_app_auditentry SET actor_name = 'Mallory', hash = %s WHERE seq = 3", audit.hash_of(fake))
    assert broken(workspace) == [(4, "does not follow the entry before it")]


def test_a_first_entry_that_was_removed_is_missed(workspace, chain):
    forced("DELETE FROM sessions_app_auditentry WHERE seq = 1")
    assert broken(workspace) == [(2, "entry 1 is missing before it")]


@pytest.mark.parametrize(
    "details",
    [{"reason": "a\0b\ud800"}, {"n": 2**70}, {"x": 1e16, "y": 1e22, "z": 0.1, "w": 1.0, "v": -0.0, "u": 1e-7},
     {"nan": float("nan")},
     {"é": "日本 🙂", "b": {"z": 1, "a": [None, True]}}, {"deep": [[[["x"]]]]}],
)  # fmt: skip
def test_whatever_the_details_are_the_chain_verifies(workspace, details):
    audit.record(workspace.id, audit.Actor("api_key", "k", "a\0"), "thing.done", **details)
    audit.record(workspace.id, ACTOR, "thing.done")
    assert broken(workspace) == []


def test_workspaces_have_chains_of_their_own(workspace, chain):
    other = workspaces.create_workspace("other")
    assert [entry.seq for entry in AuditEntry.objects.filter(workspace=other)] == [1]
    forced("UPDATE sessions_app_auditentry SET action = 'x' WHERE seq = 3 AND workspace_id = %s", workspace.id)
    assert broken(other) == []


@pytest.mark.django_db(transaction=True)
def test_entries_at_once_follow_one_another(workspace):
    many = [lambda: [audit.record(workspace.id, ACTOR, "thing.done") for _ in range(20)] for _ in range(3)]
    at_once(*many)
    assert AuditEntry.objects.filter(workspace=workspace).count() == 60
    assert broken(workspace) == []


@pytest.mark.django_db(transaction=True)
def test_rolled_back_transaction_leaves_no_audit_entry_and_no_gap(workspace):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record(workspace.id, ACTOR, "thing.done")
        1 / 0  # noqa: B018
    assert audit.record(workspace.id, ACTOR, "thing.done").seq == 1
