"""Deletion of what was kept for long enough: the part of its events goes whole, with a tombstone of each session."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.utils import DatabaseError, IntegrityError
from django.utils import timezone

from sessions_app.ids import first_id, uuid7
from sessions_app.models import Event, EventLink, Session, Tombstone, Workspace
from sessions_app.services import audit
from sessions_app.services.retention import keeping, policies
from tests.database_roles import as_owner
from tests.services.build import append, user
from vcon_app.services.erasure import erasing, months, over
from vcon_app.services.trust import anchors, tombstones

pytestmark = pytest.mark.django_db
BY = audit.Actor("command", "", "Keeper")
JANUARY, FEBRUARY = datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 2, 1, tzinfo=UTC)
PART = "sessions_app_event_2020_01"
DAY = date(2020, 2, 1)
# As it is in an installation of years: the first part ends before a month that is over.
DIVIDE = """
ALTER TABLE sessions_app_event DETACH PARTITION sessions_app_event_first;
CREATE TABLE {part} (LIKE sessions_app_event INCLUDING DEFAULTS);
ALTER TABLE sessions_app_event ATTACH PARTITION {part} FOR VALUES FROM ('{january}') TO ('{february}');
ALTER TABLE sessions_app_event ATTACH PARTITION sessions_app_event_first FOR VALUES FROM ('{february}') TO ('{end}');
"""


def part_names() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM countersign_event_parts()")
        return {name for (name,) in cursor.fetchall()}


@pytest.fixture
def january(agent) -> list[Session]:
    """Three sessions of a month that is over, in a part of its own, and unchanged since."""
    with as_owner() as cursor:
        cursor.execute("SELECT end_id FROM countersign_event_parts() WHERE name = 'sessions_app_event_first'")
        [end] = cursor.fetchone()
        cursor.execute(DIVIDE.format(part=PART, january=first_id(JANUARY), february=first_id(FEBRUARY), end=end))
    return [made(agent, day) for day in (3, 14, 31)]


def made(agent, day: int) -> Session:
    moment = JANUARY.replace(day=day)
    number = first_id(moment).int | uuid7().int & (1 << 80) - 1
    session = Session.objects.create(id=UUID(int=number), workspace_id=agent.workspace_id, agent=agent)
    append(session, user("Hello"), user("And more"))
    Session.objects.filter(pk=session.pk).update(updated_at=moment)
    return session


def test_a_month_with_a_session_on_hold_loses_the_others_alone(january):
    held, *others = january
    policies.set_policy(held.pk, {"immutable": True}, by=BY)
    Session.objects.filter(pk=held.pk).update(updated_at=JANUARY)
    erased = months.erase_before(DAY, by=BY, reason="for a year")
    assert (erased.sessions, erased.parts, list(erased.stays)) == (len(others), [], [held.pk])
    months.sweep()
    assert PART in part_names() and list(Session.objects.all()) == [held]
    assert set(Event.objects.values_list("session_id", flat=True)) == {held.pk}


def test_a_month_goes_whole_with_a_tombstone_of_each_session(january, session):
    append(session, user("Stays"))
    ends = {each.pk: bytes(EventLink.objects.get(session=each).hash).hex() for each in january}
    erased = months.erase_before(DAY, by=BY, reason="for a year")
    assert (erased.sessions, erased.parts, erased.stays, erased.held) == (3, [PART], {}, [])
    assert PART not in part_names()
    assert list(Session.objects.all()) == [session]
    assert set(Event.objects.values_list("session_id", flat=True)) == {session.pk}
    found = {each.subject_id: each for each in Tombstone.objects.all()}
    assert {key: one.last_link for key, one in found.items()} == ends
    assert {(one.counts["events"], one.reason, one.by_kind) for one in found.values()} == {(2, "for a year", "command")}
    trusted = anchors.keyring(session.workspace_id).anchors
    assert {tombstones.check(one, trusted).state for one in found.values()} == {"valid"}


def test_nothing_is_deleted_row_by_row(january):
    """The whole is what a deletion saves: PostgreSQL counts the rows that a transaction deletes."""
    deleted = "SELECT pg_stat_get_xact_tuples_deleted(%s::regclass)"
    with connection.cursor() as cursor:
        cursor.execute(deleted, [PART])
        before = cursor.fetchone()
        erasing.erase_session(january[0], by=BY, leave_events=True)
        cursor.execute(deleted, [PART])
        assert cursor.fetchone() == before
    assert Event.objects.filter(session_id=january[0].pk).count() == 2, "until the part goes"


def test_a_session_that_was_used_since_stays_with_its_events(january, agent):
    used = january[1]
    Session.objects.filter(pk=used.pk).update(updated_at=timezone.now())
    erased = months.erase_before(DAY, by=BY, reason="x")
    assert (erased.sessions, erased.parts) == (2, [])
    assert PART in part_names()
    assert list(Event.objects.order_by("seq").values_list("session_id", "seq")) == [(used.pk, 1), (used.pk, 2)]


def test_a_session_whose_agent_is_at_a_turn_stays_and_is_named(january, capsys):
    busy = january[2]
    Session.objects.filter(pk=busy.pk).update(status=Session.Status.RUNNING)
    with pytest.raises(CommandError, match="1 sessions stay"):
        call_command("erase", "before", "2020-02-01", reason="x")
    told = capsys.readouterr()
    assert f"{busy.pk} stays: its agent is at a turn" in told.err
    assert "deleted 2 sessions from before 2020-02-01\n" in told.out
    assert set(Event.objects.values_list("session_id", flat=True)) == {busy.pk}, "the others' were deleted by rows"


def test_a_day_in_the_middle_deletes_row_by_row(january):
    erased = months.erase_before(date(2020, 1, 15), by=BY, reason="x")
    assert (erased.sessions, erased.parts) == (2, [])
    assert set(Event.objects.values_list("session_id", flat=True)) == {january[2].pk}


@pytest.fixture
def over_at_once(agent, monkeypatch):
    """The workspace keeps its sessions for a day, and three have gone by since."""
    keeping.set_days(agent.workspace_id, 1, by=BY)
    now = timezone.now() + timedelta(days=3)
    monkeypatch.setattr(timezone, "now", lambda: now)


def test_a_month_whose_days_are_over_goes_whole(january, session, over_at_once):
    append(session, user("Is of today"))
    assert over.sweep() == 3
    assert PART not in part_names() and list(Session.objects.all()) == [session]
    assert over.sweep() == 0


def test_a_month_in_which_one_is_on_hold_goes_row_by_row(january, over_at_once):
    policies.set_policy(january[1].pk, {"immutable": True}, by=BY)
    assert over.sweep() == 2
    assert PART in part_names()
    assert set(Event.objects.values_list("session_id", flat=True)) == {january[1].pk}


def test_a_month_of_two_workspaces_goes_whole_where_both_say_so(january, over_at_once):
    other = Workspace.objects.create(slug="other")
    Session.objects.filter(pk=january[0].pk).update(workspace=other)
    keeping.set_days(other.pk, 1, by=BY)
    assert over.sweep() == 2 and PART in part_names(), "the other one's day is not over"
    Workspace.objects.update(deletes_from=timezone.now())
    assert over.sweep() == 1 and PART not in part_names()


@pytest.mark.parametrize("left", [2, 3])
def test_what_a_killed_run_has_left_goes_with_the_sweep(january, left, monkeypatch):
    for session in january[:left]:
        erasing.erase_session(session, by=BY, leave_events=True)
    assert Event.objects.count() == 6
    assert months.sweep() == 0, "the run may still be at it"
    monkeypatch.setattr(months, "LEFT", months.LEFT.replace("interval '1 hour'", "interval '-1 hour'"))
    assert months.sweep() == 1
    assert Event.objects.count() == 6 - 2 * left
    assert (PART in part_names()) == (left == 2)
    assert months.sweep() == 0


def clear(part: str) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT countersign_clear_event_month(%s)", [part])


STRAY = """
INSERT INTO sessions_app_event SELECT (jsonb_populate_record(e, jsonb_build_object('session_id', %s::uuid))).*
FROM sessions_app_event e WHERE session_id = %s AND seq = 1
"""


def test_a_part_with_a_log_that_has_no_true_tombstone_is_not_dropped(january):
    """Erasure leaves a tombstone with the number of events; whoever writes SQL of theirs gets no part dropped."""
    stray = UUID(int=january[0].pk.int + 1)
    with connection.cursor() as cursor:
        cursor.execute(STRAY, [stray, january[0].pk])
    for session in january:
        erasing.erase_session(session, by=BY, leave_events=True)
    with pytest.raises(IntegrityError, match="neither a row nor a true tombstone"):
        clear(PART)
    Tombstone.objects.create(
        workspace_id=january[0].workspace_id, kind="session", subject_id=stray, by_kind="member", at=timezone.now(),
        last_seq=1, counts={"events": 7},
    )  # fmt: skip
    with pytest.raises(IntegrityError, match="neither a row nor a true tombstone"):
        clear(PART)
    assert PART in part_names() and Event.objects.count() == 7


@pytest.mark.parametrize("part", ["sessions_app_event_first", "sessions_app_event_default", "sessions_app_vote", ""])
def test_what_is_no_month_that_is_over_is_refused(january, part):
    with pytest.raises(DatabaseError, match="no part of the events whose months are over"):
        clear(part)


@pytest.mark.parametrize(("day", "said"), [("2020", "is no day"), ("2999-01-01", "is yet to come")])
def test_what_is_no_day_is_said(db, day, said):
    with pytest.raises(CommandError, match=said):
        call_command("erase", "before", day, reason="x")
