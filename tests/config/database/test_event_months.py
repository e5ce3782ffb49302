"""Events lie in parts, by the month in which their session was made: which there are, and who makes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError, ProgrammingError

from config.database import roles
from sessions_app.ids import uuid7
from sessions_app.migrations import _partitions_0031
from sessions_app.models import Event, Session
from sessions_app.services.upkeep import event_months
from tests.database_roles import as_owner
from tests.services.build import append, user

pytestmark = pytest.mark.django_db
YEARS_AHEAD = datetime(2099, 5, 5, tzinfo=UTC)
INDEXES = "SELECT count(*) FROM pg_index WHERE indrelid = %s::regclass AND indisvalid"
PART = "SELECT DISTINCT tableoid::regclass::text FROM sessions_app_event WHERE session_id = %s"
PREPARE = "PREPARE one (uuid, uuid[]) AS SELECT seq FROM sessions_app_event WHERE session_id = $1 AND key = ANY($2)"
TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal ORDER BY 1"


@pytest.fixture(autouse=True)
def nothing_in_the_default_part():
    """What tests before have written to it and taken back still takes room in its file."""
    with as_owner() as cursor:
        cursor.execute("ALTER TABLE sessions_app_event_default DISABLE TRIGGER append_only_whole")
        cursor.execute("TRUNCATE sessions_app_event_default")
        cursor.execute("ALTER TABLE sessions_app_event_default ENABLE TRIGGER append_only_whole")


def parts() -> dict[str, tuple[UUID | None, UUID | None]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, first_id, end_id FROM countersign_event_parts()")
        return {name: (first, end) for name, first, end in cursor.fetchall()}


def part_of(session: Session) -> str:
    [part] = (
        Event.objects.filter(session=session).extra(select={"part": "tableoid::regclass::text"}).values_list("part")
    )
    return part[0]


def id_at(moment: datetime) -> UUID:
    """An id as one that is made at that moment."""
    return UUID(int=int(moment.timestamp() * 1_000) << 80 | uuid7().int & (1 << 80) - 1)


def month(ahead: int) -> datetime:
    """The middle of a month."""
    now = datetime.now(UTC)
    years, months = divmod(now.month - 1 + ahead, 12)
    return datetime(now.year + years, months + 1, 15, tzinfo=UTC)


def logged_at(moment: datetime, agent) -> Session:
    session = Session.objects.create(id=id_at(moment), workspace_id=agent.workspace_id, agent=agent)
    append(session, user("Hello"))
    return session


def drop_last() -> str:
    """Take the last month away, as if it had not been made."""
    last = max((end, name) for name, (_, end) in parts().items() if end)[1]
    with as_owner() as cursor:
        cursor.execute(f"DROP TABLE {last}")
    return last


def test_this_month_and_the_next_two_have_parts():
    found = [ends for name, ends in parts().items() if name != "sessions_app_event_default"]
    for ahead in range(3):
        wanted = id_at(month(ahead))
        assert [1 for first, end in found if (first is None or first <= wanted) and wanted < end] == [1], ahead
    assert parts()["sessions_app_event_default"] == (None, None)
    assert event_months.make() == 0
    assert event_months.notice() is None


def test_events_lie_in_the_month_in_which_their_session_was_made(agent):
    last = max((end, name) for name, (_, end) in parts().items() if end)[1]
    assert part_of(logged_at(month(2), agent)) == last == f"sessions_app_event_{month(2):%Y_%m}"
    assert part_of(logged_at(datetime(2020, 1, 1, tzinfo=UTC), agent)) == "sessions_app_event_first"


def test_a_month_that_is_missing_is_made_by_the_role_of_the_desk_like_the_others(agent):
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS, ["sessions_app_event_first"])
        triggers = cursor.fetchall()
        assert len(triggers) == 2
    missing = drop_last()
    assert event_months.make() == 1
    with connection.cursor() as cursor:
        cursor.execute(TRIGGERS, [missing])
        assert cursor.fetchall() == triggers
        cursor.execute(INDEXES, [missing])
        assert cursor.fetchone() == (6,)
        cursor.execute("SELECT relowner::regrole::text FROM pg_class WHERE oid = %s::regclass", [missing])
        [made_by] = cursor.fetchone()
        cursor.execute("SELECT relowner::regrole::text FROM pg_class WHERE oid = 'sessions_app_event'::regclass")
        assert cursor.fetchone() == (made_by,)
    assert part_of(logged_at(month(2), agent)) == missing


def test_doctor_tells_of_a_month_that_nobody_makes(monkeypatch):
    drop_last()
    assert event_months.notice() is None, "there is a month left for it"
    monkeypatch.setattr(event_months, "LATE", timedelta(days=365))
    assert "no part of its own" in event_months.notice()


def test_events_of_a_month_that_was_not_made_are_kept_and_stay_where_they_are(agent):
    missing = drop_last()
    late = logged_at(month(2), agent)
    assert part_of(late) == "sessions_app_event_default"
    assert "default part" in event_months.notice()
    assert event_months.make() == 0
    assert missing not in parts()
    append(late, user("And more"))
    assert list(Event.objects.filter(session=late).order_by("seq").values_list("seq", flat=True)) == [1, 2]


def test_events_of_a_clock_that_is_years_ahead_are_kept(agent):
    assert part_of(logged_at(YEARS_AHEAD, agent)) == "sessions_app_event_default"
    assert event_months.make() == 0


@pytest.mark.skipif(not roles.are_two(), reason="one role does everything")
@pytest.mark.parametrize(
    "statement",
    ["SELECT * FROM {}", "INSERT INTO {} (seq) VALUES (1)", "DELETE FROM {}", "TRUNCATE {}", "DROP TABLE {}",
     "ALTER TABLE sessions_app_event DETACH PARTITION {}"],
)  # fmt: skip
def test_the_role_of_the_desk_reaches_no_part_by_itself(statement):
    with as_owner():
        roles.prepare()
    for part in parts():
        with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement.format(part))


@pytest.mark.parametrize("statement", ["DELETE FROM {}", "TRUNCATE {}", "UPDATE {} SET seq = seq"])
def test_the_owner_is_refused_in_a_part_too(session, statement):
    append(session, user("Hello"))
    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), as_owner() as cursor:
        cursor.execute(statement.format("sessions_app_event_first"))


@pytest.mark.parametrize(
    "statement",
    ["DELETE FROM sessions_app_session WHERE id = %s", "UPDATE sessions_app_session SET id = uuidv7() WHERE id = %s"],
)
def test_a_session_with_events_stays_and_keeps_its_id(session, statement):
    append(session, user("Hello"))
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("DELETE FROM sessions_app_turn; DELETE FROM sessions_app_searchblock")
        cursor.execute(statement, [session.pk])
    assert Session.objects.filter(pk=session.pk).exists()


def test_a_prepared_statement_reads_one_part(session):
    """A plan for any session leaves the others out when it is run."""
    append(session, user("Hello"))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        cursor.execute(PREPARE)
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE one ('{session.pk}', '{{}}')")
        [(plan,)] = cursor.fetchall()
        cursor.execute("DEALLOCATE one")
    assert plan[0]["Plan"]["Subplans Removed"] == len(parts()) - 1


@pytest.mark.parametrize("step", ["KEEP_LOGS", "LIMIT", "VALIDATE", "SWAP", "MAKE", "ANALYZE"])
def test_a_migration_that_was_killed_before_it_was_written_down_does_nothing_again(session, step):
    append(session, user("Hello"))
    before = parts()
    with as_owner() as cursor:
        cursor.execute(getattr(_partitions_0031, step))
    assert parts() == before
    assert part_of(session) == "sessions_app_event_first"
