"""The role of web server and workers: what was written down stays, whatever SQL somebody makes them run."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.utils import IntegrityError, NotSupportedError
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from config import broker, doctor, prepare
from config.database import roles
from config.env import ConfigError
from sessions_app.models import APPEND_ONLY, Checkpoint, CheckpointHead, Member, Vote
from sessions_app.services import audit
from tests.database_roles import as_owner
from tests.services.build import append, event

TABLES = sorted(model._meta.db_table for model in APPEND_ONLY)
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not roles.are_two(), reason="DATABASE_URL without DATABASE_OWNER_URL: one role does everything"),
]

CHANGES = ["UPDATE {} SET id = id", "DELETE FROM {}", "TRUNCATE {}", "TRUNCATE {} CASCADE"]
ERASES = "SET LOCAL countersign.erase = 'on'; "
TAMPERS = [
    *(f"{begin}{change}" for begin in ("", ERASES) for change in CHANGES),
    "ALTER TABLE {} DISABLE TRIGGER append_only",
    "ALTER TABLE {} DISABLE TRIGGER ALL",
    "DROP TRIGGER append_only ON {}",
    "DROP TABLE {} CASCADE",
    "ALTER TABLE {} OWNER TO CURRENT_USER",
    "CREATE RULE quietly AS ON INSERT TO {} DO INSTEAD NOTHING",
    "CREATE TRIGGER mine BEFORE INSERT ON {} FOR EACH ROW EXECUTE FUNCTION countersign_append_only('x')",
    "MERGE INTO {0} USING (SELECT 1) AS one ON true WHEN MATCHED THEN DELETE",
]
ESCAPES = [
    "SET session_replication_role = replica",
    "SELECT set_config('session_replication_role', 'replica', false)",
    "COPY (SELECT 1) TO PROGRAM 'id'",
    "COPY (SELECT 1) TO '/tmp/countersign-test'",
    "CREATE TEMP TABLE lines (line text); COPY lines FROM '/etc/passwd'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "ALTER SYSTEM SET archive_command = 'id'",
    "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE TABLE mine (n int)",
    "CREATE OR REPLACE FUNCTION countersign_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN OLD; END'",
    "DROP FUNCTION countersign_append_only() CASCADE",
    "SET ROLE countersign",
    "SET SESSION AUTHORIZATION countersign",
    "CREATE ROLE mine SUPERUSER",
    "ALTER ROLE countersign_desk SUPERUSER",
    "ALTER ROLE countersign_desk SET session_replication_role = replica",
    "DELETE FROM django_migrations",
    "ALTER TABLE sessions_app_session DISABLE TRIGGER ALL",
]


@pytest.fixture
def desk() -> Iterator[psycopg.Connection]:
    """A connection as web server and workers have one: as the role itself, not as an owner who set it."""
    place = {"dbname": connection.settings_dict["NAME"]}
    with psycopg.connect(make_conninfo(**settings.DATABASE_PARAMETERS | place), autocommit=True) as connected:
        yield connected


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", TAMPERS)
def test_the_desks_role_cannot_tamper_with_what_was_written_down(desk, table, statement):
    statement = statement.format(table).replace(" SET id = id", f" SET {_column(table)} = {_column(table)}")
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.SyntaxError)) as refused:
        desk.execute(statement)
    assert isinstance(refused.value, psycopg.errors.InsufficientPrivilege), refused.value


def _column(table: str) -> str:
    """A column that each append-only table has under its own name."""
    model = next(model for model in APPEND_ONLY if model._meta.db_table == table)
    return next(field.column for field in model._meta.concrete_fields if field.column not in (None, "pk"))


@pytest.mark.parametrize("statement", ESCAPES)
def test_the_desks_role_cannot_reach_files_programs_or_more_rights(desk, statement):
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        desk.execute(statement)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("statement", [*CHANGES, ERASES + "UPDATE {} SET id = id"])
def test_the_owner_is_refused_too_unless_it_says_that_it_erases(session, table, statement):
    _fill(session)
    statement = statement.format(table).replace(" SET id = id", f" SET {_column(table)} = DEFAULT")
    said = "append-only|referenced in a foreign key"
    with (
        pytest.raises((IntegrityError, NotSupportedError), match=said),
        transaction.atomic(),
        as_owner() as cursor,
    ):
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(statement)


@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {} CASCADE"])
@pytest.mark.parametrize("table", TABLES)
def test_the_owner_may_erase(session, table, change):
    _fill(session)
    with as_owner() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        heads_first = "DELETE FROM sessions_app_checkpointhead; " if table == "sessions_app_checkpoint" else ""
        cursor.execute(ERASES + heads_first + change.format(table))
        cursor.execute(f"SELECT count(*) FROM {table}")
        assert cursor.fetchone() == (0,)


def _fill(session) -> Vote:
    """A row in each append-only table."""
    from decimal import Decimal

    from django.contrib.auth import get_user_model

    from sessions_app.models import Approval, PolicyVersion, Role, Tombstone, Wallet
    from sessions_app.services.money import ledger

    append(session, event())
    checkpoint = Checkpoint.objects.create(number=1, at=timezone.now(), heads_count=1)
    CheckpointHead.objects.create(
        checkpoint=checkpoint, position=0, kind="session", chain_id=session.pk, seq=1, hash="0"
    )
    audit.record(session.workspace_id, audit.SYSTEM, "thing.done")
    wallet, _ = Wallet.objects.get_or_create(workspace_id=session.workspace_id, kind="ai")
    ledger.credit(wallet, "purchased", Decimal(1), by=audit.SYSTEM)
    Tombstone.objects.create(
        workspace_id=session.workspace_id, kind="import", subject_id=session.pk, by_kind="member", at=timezone.now()
    )
    user = get_user_model().objects.create_user(username="ines")
    member = Member.objects.create(workspace_id=session.workspace_id, user=user, role=Role.REVIEWER)
    now = timezone.now()
    PolicyVersion.objects.create(workspace_id=session.workspace_id, number=1, rules=[], made_at=now)
    approval = Approval.objects.create(
        workspace_id=session.workspace_id, session=session, expires_at=now, requested_at=now
    )
    return Vote.objects.create(approval=approval, member=member, by="Ines", verdict="approve", channel="web", at=now)


def test_a_vote_outlives_its_member(session):
    vote = _fill(session)
    Member.objects.get(pk=vote.member_id).delete()
    vote.refresh_from_db()
    assert (vote.member_id, vote.by, vote.verdict) == (None, "Ines", "approve")


def test_nobody_gives_a_vote_to_another_member(session):
    vote = _fill(session)
    with pytest.raises(IntegrityError, match="votes are append-only"), transaction.atomic(), as_owner() as cursor:
        cursor.execute("UPDATE sessions_app_vote SET member_id = gen_random_uuid() WHERE id = %s", [vote.id])


def test_the_list_of_append_only_tables_is_that_of_the_triggers():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(whole.relname, part.relname), tgname, tgenabled::text, count(*) FROM pg_trigger"
            " JOIN pg_class part ON part.oid = tgrelid LEFT JOIN pg_inherits ON inhrelid = tgrelid"
            " LEFT JOIN pg_class whole ON whole.oid = inhparent"
            " WHERE tgfoid = 'countersign_append_only'::regproc GROUP BY 1, 2, 3 ORDER BY 1, 2"
        )
        counted = cursor.fetchall()
        cursor.execute("SELECT count(*) FROM pg_partition_tree('sessions_app_event')")
        [of_events] = cursor.fetchone()
    assert {count for table, *_, count in counted if table == "sessions_app_event"} == {of_events}
    found = [(table, name, enabled) for table, name, enabled, _ in counted]
    assert found == [(table, name, "O") for table in TABLES for name in ("append_only", "append_only_whole")]


def test_prepare_takes_back_what_was_given_too_much(desk):
    with as_owner() as cursor:
        cursor.execute("GRANT ALL ON sessions_app_event, django_migrations TO countersign_desk")
        assert roles.excess(cursor, "countersign_desk") == "may change append-only tables"
        roles.prepare()
        assert roles.excess(cursor, "countersign_desk") is None


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("ALTER ROLE countersign_desk SUPERUSER", "superuser"),
        ("ALTER ROLE countersign_desk CREATEROLE", "make roles"),
        ("ALTER TABLE sessions_app_event OWNER TO countersign_desk", "owns tables"),
        ("GRANT countersign TO countersign_desk", "member of the owner"),
        ("GRANT pg_read_server_files TO countersign_desk", "server's files"),
        ("GRANT UPDATE (text) ON sessions_app_event TO PUBLIC", "append-only"),
        ("GRANT SET ON PARAMETER session_replication_role TO countersign_desk", "session_replication_role"),
    ],
)
def test_a_role_that_may_do_too_much_is_refused_and_reported(statement, fault):
    with as_owner() as cursor:
        cursor.execute(statement)
        with pytest.raises(ConfigError, match=fault):
            roles.prepare()
        assert fault in doctor.roles_fault()


def test_prepare_writes_nothing_when_all_is_as_it_should_be():
    with as_owner(), connection.execute_wrapper(_refuse_grants):
        roles.prepare()


def _refuse_grants(execute, statement, params, many, context):
    words = statement if isinstance(statement, str) else statement.as_string()
    assert "REVOKE" not in words, words
    return execute(statement, params, many, context)


def test_queues_are_made_by_prepare_and_used_without_more_rights(desk):
    for queue in broker.QUEUES:
        desk.execute("SELECT pgmq.send(%s, '{}'::jsonb)", [queue])
        desk.execute("SELECT * FROM pgmq.read(%s, 30, 1)", [queue])
        desk.execute("SELECT * FROM pgmq.metrics(%s)", [queue])
        desk.execute("SELECT pgmq.delete(%s, 1::bigint)", [queue])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        desk.execute("SELECT pgmq.drop_queue(%s)", [broker.QUEUE])


def test_the_desks_role_may_do_what_a_large_import_needs(desk):
    for table in roles.ANALYZED:
        notices: list[str] = []
        desk.add_notice_handler(lambda notice, notices=notices: notices.append(notice.message_primary))
        desk.execute(f"ANALYZE {table}")
        assert notices == []


def test_a_command_for_owners_connects_as_the_owner(monkeypatch):
    from config import commands

    assert {"migrate", "rebuild"} <= commands.OWNERS
    assert prepare.connection_parameters()["user"] == "countersign"
