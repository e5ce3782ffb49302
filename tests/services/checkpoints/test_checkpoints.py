"""Checkpoints: a cut-off end, a rewritten chain and a checkpoint that does not follow are noticed, and named."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from django.core.management import call_command

from sessions_app.models import Checkpoint, CheckpointHead, CheckpointPublication, Role, UnsealedHead
from sessions_app.queries import checkpoints
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.money import ledger
from tests.database_roles import as_owner
from tests.services.build import append, event
from vcon_app.services.checkpoints import making, publishing
from vcon_app.services.checkpoints.verification import Outside, verify_all
from vcon_app.services.documents import storage

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
ADA = decisions.Decider(audit.Actor("member", "1", "Ada"), Role.REVIEWER, "web")


def tampered(*statements: str) -> None:
    """What somebody does who holds the database."""
    with as_owner() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            cursor.execute(statement)
        cursor.execute("SET LOCAL session_replication_role = origin")


def faults(witness=None) -> list[tuple[str, str]]:
    return [(one.what, one.detail) for one in verify_all(Outside.seen_now(witness)) if not one.ok]


def checkpointed() -> int:
    made = making.make_all()
    publishing.publish_due()
    return made


@pytest.fixture
def busy(session):
    """A session with a decision and money, and three checkpoints on the way."""
    for number in range(3):
        append(session, event(text=f"step {number}"), event(), event())
        approval = requests.request(session, requests.Question("shell", {"n": number}), by=audit.SYSTEM)
        decisions.decide(approval, ADA, decisions.Decision("approve", approval.version, approval.digest))
        ledger.credit(ledger.wallet_of(session.workspace_id, "ai"), "trial", Decimal(number + 1), by=ADA.actor)
        checkpointed()
    return session


def test_what_nobody_touched_is_whole(busy):
    assert faults() == []
    assert Checkpoint.objects.count() == 3


def test_nothing_happened_makes_no_checkpoint(busy):
    assert checkpointed() == 0
    assert not UnsealedHead.objects.exists()


def test_a_checkpoint_knows_the_head_of_every_chain_that_grew(busy):
    kinds = CheckpointHead.objects.filter(checkpoint=3).values_list("kind", flat=True)
    assert sorted(kinds) == ["audit", "session", "wallet"]


@pytest.mark.parametrize(("change", "named"), [
    ("DELETE FROM sessions_app_auditentry WHERE seq > (SELECT max(seq) - 5 FROM sessions_app_auditentry)", "audit of"),
    ("DELETE FROM sessions_app_auditentry", "audit of"),
    ("DELETE FROM sessions_app_event; DELETE FROM sessions_app_eventlink", "session"),
    ("DELETE FROM sessions_app_ledgerentry WHERE seq = 3", "wallet of"),
    ("DELETE FROM sessions_app_ledgerentry", "wallet of"),
    ("DELETE FROM sessions_app_vote", "decisions"),
    ("UPDATE sessions_app_checkpoint SET header = replace(header, '\"number\":2', '\"number\":7') WHERE number = 2",
     "checkpoint 2"),
    ("UPDATE sessions_app_checkpoint SET signature = (SELECT signature FROM sessions_app_checkpoint WHERE number = 1)"
     " WHERE number = 2", "checkpoint 2"),
    ("UPDATE sessions_app_checkpointhead SET seq = seq + 1 WHERE checkpoint_id = 2", "checkpoint 2"),
    ("DELETE FROM sessions_app_checkpointhead WHERE checkpoint_id = 3;"
     "DELETE FROM sessions_app_checkpointpublication WHERE checkpoint_id = 3;"
     "DELETE FROM sessions_app_checkpoint WHERE number = 3", "checkpoint 3"),
    ("DELETE FROM sessions_app_checkpointhead WHERE checkpoint_id = 2;"
     "DELETE FROM sessions_app_checkpointpublication WHERE checkpoint_id = 2;"
     "DELETE FROM sessions_app_checkpoint WHERE number = 2", "checkpoint 3"),
])  # fmt: skip
def test_what_was_cut_off_or_rewritten_is_named(busy, change, named):
    tampered(*change.split(";"))
    assert any(named in what for what, _ in faults()), faults()


def test_a_chain_that_was_rewritten_with_its_hashes_is_noticed(busy):
    """The audit log of the finding: unkeyed hashes are computed anew by whoever holds the database."""
    from sessions_app.models import AuditEntry

    rows = list(AuditEntry.objects.order_by("seq"))
    previous = rows[0].hash
    for row in rows[1:]:
        row.previous_hash = previous
        row.actor_name = "Eve" if row.seq == 2 else row.actor_name
        row.hash = previous = audit.hash_of(row)
        with as_owner() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(
                "UPDATE sessions_app_auditentry SET actor_name = %s, previous_hash = %s, hash = %s WHERE seq = %s",
                [row.actor_name, row.previous_hash, row.hash, row.seq],
            )
            cursor.execute("SET LOCAL session_replication_role = origin")
    assert next(audit.broken_rows(busy.workspace_id), None) is None  # the chain by itself shows nothing
    assert [what for what, _ in faults()] == [f"audit of {busy.workspace_id}"]


def test_a_checkpoint_that_was_made_again_with_another_key_is_not_ours(busy, settings, tmp_path):
    last = Checkpoint.objects.get(number=3)
    settings.DATA_DIR = tmp_path / "elsewhere"
    settings.DATA_DIR.mkdir()
    from vcon_app.services.trust import own_keys
    from vcon_app.signing import detached

    forged = detached.sign(last.header.encode(), own_keys.signer())
    settings.DATA_DIR = tmp_path
    tampered(f"UPDATE sessions_app_checkpoint SET signature = '{forged}' WHERE number = 3")
    assert faults()[0][0] == "checkpoint 3" and "not signed by this installation" in faults()[0][1]


def test_the_files_say_what_the_database_says(busy):
    kept = storage.of_checkpoints()
    assert sorted(kept.names()) == [publishing.file_name(number) for number in (1, 2, 3)]
    with kept.open(publishing.file_name(2)) as file:
        document = json.load(file)
    assert document["header"] == Checkpoint.objects.get(number=2).header
    assert len(document["heads"]) == 3 and "BEGIN CERTIFICATE" in document["key"]


def test_a_file_that_is_gone_or_changed_is_noticed(busy):
    kept = storage.of_checkpoints()
    path = kept.root / publishing.file_name(2)
    path.write_text(path.read_text().replace('\\"number\\":2', '\\"number\\":9'))
    assert faults() == [("checkpoint 2", "its file says something else than the database")]
    path.unlink()
    assert faults()[0][0] == "checkpoint 2" and "gone" in faults()[0][1]


def test_a_file_is_never_written_over(busy):
    kept = storage.of_checkpoints()
    path = kept.root / publishing.file_name(3)
    path.write_text("{}")
    CheckpointPublication.objects.filter(pk=3).update(stored_at=None, next_try_at="2026-01-01T00:00:00Z")
    publishing.publish_due()
    assert path.read_text() == "{}"


def test_a_session_that_is_being_appended_to_waits_for_the_next_checkpoint(session, django_db_blocker):
    append(session, event())
    assert making.make_all() == 1
    append(session, event())
    assert UnsealedHead.objects.filter(chain_id=session.pk).count() == 1


def test_more_chains_than_fit_are_in_several_checkpoints(session, monkeypatch):
    from sessions_app.models import Session

    monkeypatch.setattr(making, "MOST", 2)
    for _ in range(5):
        other = Session.objects.create(workspace=session.workspace, agent=session.agent)
        append(other, event())
    assert making.make_all() == 3
    assert faults() == []


def test_a_witness_remembers_what_the_installation_has_lost(busy, settings, tmp_path):
    """Somebody cuts off the end in the database and removes the files: the witness's copy still names it."""
    witness = tmp_path / "witness.jsonl"
    settings.WITNESS = witness.as_uri()
    CheckpointPublication.objects.update(next_try_at="2026-01-01T00:00:00Z")
    publishing.publish_due()
    assert len(witness.read_text().splitlines()) == 3 and faults() == []
    tampered(
        "DELETE FROM sessions_app_checkpointhead WHERE checkpoint_id = 3",
        "DELETE FROM sessions_app_checkpointpublication WHERE checkpoint_id = 3",
        "DELETE FROM sessions_app_checkpoint WHERE number = 3",
    )
    (storage.of_checkpoints().root / publishing.file_name(3)).unlink()
    assert faults() == [(f"witness {witness}", "line 3 is a checkpoint that the database has lost")]
    settings.WITNESS = None
    assert faults() == [] and faults(witness)[0][0] == f"witness {witness}"


def test_a_witness_that_is_away_is_asked_again(busy, settings, tmp_path):
    settings.WITNESS = (tmp_path / "not there" / "witness.jsonl").as_uri()
    CheckpointPublication.objects.filter(pk=1).update(next_try_at="2026-01-01T00:00:00Z")
    publishing.publish_due()
    row = CheckpointPublication.objects.get(pk=1)
    assert row.fault and row.next_try_at and row.stored_at and "checkpoint 1 " in (publishing.first_fault() or "")


def test_the_command_names_the_first_fault_with_exit_status_1(busy, capsys):
    call_command("audit", "verify", "--all")
    assert "broken" not in capsys.readouterr().out
    tampered("UPDATE sessions_app_event SET text = 'other' WHERE seq = 5")
    with pytest.raises(SystemExit) as ended:
        call_command("audit", "verify")
    assert ended.value.code == 1
    assert f"broken  session {busy.pk}: event 5: it is not what was written" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call_command("audit", "verify", "--session", str(busy.pk))


def test_events_that_no_checkpoint_takes_in_are_told_to_the_doctor(session):
    append(session, event())
    assert checkpoints.unsealed_for_long() == 0
    tampered("UPDATE sessions_app_eventlink SET received_at = now() - interval '6 minutes'")
    assert checkpoints.unsealed_for_long() == 1
    making.make_all()
    assert checkpoints.unsealed_for_long() == 0
