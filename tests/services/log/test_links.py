"""Links: each append is chained to the one before, and what was changed, removed or put in afterwards is named."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Event, EventLink, Session, UnsealedHead
from sessions_app.queries.log import links as queries
from sessions_app.queries.log.links import origins, verify
from sessions_app.services.audit import Actor
from sessions_app.services.log import events, links
from tests.database_roles import as_owner
from tests.services.build import append, event, user

pytestmark = pytest.mark.django_db


@pytest.fixture
def tampered():
    """Statements that the log's triggers would refuse, as somebody who holds the database runs them."""

    def run(*statements: str) -> None:
        with as_owner() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            for statement in statements:
                cursor.execute(statement)
            cursor.execute("SET LOCAL session_replication_role = origin")

    return run


@pytest.fixture
def grown(session: Session) -> Session:
    """Five appends, of 1, 1, 3, 1 and 4 events."""
    for size in (1, 1, 3, 1, 4):
        append(session, *(event(text=f"text {number}", data={"n": 1.50, "b": 1, "a": 2}) for number in range(size)))
    return session


def test_an_untouched_log_is_verified_to_its_end(grown):
    assert verify(grown.pk).fault is None
    assert verify(grown.pk).events == 10
    assert EventLink.objects.filter(session=grown).count() == 5


def test_an_empty_session_has_nothing_to_verify(session):
    assert (verify(session.pk).events, verify(session.pk).fault) == (0, None)


@pytest.mark.parametrize("change", [
    "text = text || '.'", "at = coalesce(at, now()) + interval '1 microsecond'", "actor_name = 'admin'",
    "kind = 'error'", "turn = 7", "data = '{\"b\": 1}'", "cost = 0.0000000001", "document = 'x'", "parent_seq = 1",
    "id = gen_random_uuid()", "client_key = ''", "key = gen_random_uuid()",
])  # fmt: skip
def test_a_changed_event_is_named(grown, tampered, change):
    tampered(f"UPDATE sessions_app_event SET {change} WHERE seq = 4")
    fault = verify(grown.pk).fault
    assert fault.seq == 4 and "not what was written" in fault.reason


@pytest.mark.parametrize("seq", [1, 4, 5, 10])
def test_a_missing_event_is_named_the_last_one_included(grown, tampered, seq):
    tampered(f"DELETE FROM sessions_app_event WHERE seq = {seq}")
    assert verify(grown.pk).fault.seq == seq


@pytest.mark.parametrize("first", [1, 7])
def test_a_log_whose_events_are_all_missing_is_named_too(grown, tampered, monkeypatch, first):
    """Of no rows the server says at once that it has ended, which was taken for an error of the database."""
    monkeypatch.setattr(queries, "PAGE", 4)  # links: events from 7 on are those of a page
    tampered(f"DELETE FROM sessions_app_event WHERE seq >= {first}")
    assert verify(grown.pk).fault.seq == first
    assert list(queries.rows(grown.pk, 11, 20)) == [] and Event.objects.count() == first - 1  # which asks once more


def test_an_end_that_was_cut_off_with_its_links_is_noticed(grown, tampered):
    tampered("DELETE FROM sessions_app_event WHERE seq > 6", "DELETE FROM sessions_app_eventlink WHERE last_seq > 6")
    fault = verify(grown.pk).fault
    assert fault.seq == 7 and "had 10 events" in fault.reason


def test_an_event_that_was_put_in_without_a_link_is_named(grown, tampered):
    tampered(
        "INSERT INTO sessions_app_event SELECT (e).* FROM (SELECT jsonb_populate_record(e,"
        " jsonb_build_object('seq', 11, 'id', gen_random_uuid(), 'key', gen_random_uuid())) AS e"
        " FROM sessions_app_event e WHERE seq = 10) copied"
    )
    fault = verify(grown.pk).fault
    assert fault.seq == 11 and "no link" in fault.reason


@pytest.mark.parametrize("change", [
    "reported_by = 'somebody else'", "origin = 'file'", "received_at = now() - interval '1 day'", "hash = sha256('')",
])  # fmt: skip
def test_a_changed_link_is_noticed(grown, tampered, change):
    tampered(f"UPDATE sessions_app_eventlink SET {change} WHERE last_seq = 5")
    assert verify(grown.pk).fault.seq == 3  # the first event of the link


def test_a_link_that_was_removed_is_noticed(grown, tampered):
    tampered("DELETE FROM sessions_app_eventlink WHERE last_seq = 5")
    assert verify(grown.pk).fault.seq == 3


def test_two_links_that_were_swapped_are_noticed(grown, tampered):
    tampered(
        "UPDATE sessions_app_eventlink a SET hash = b.hash FROM sessions_app_eventlink b"
        " WHERE a.session_id = b.session_id AND (a.last_seq, b.last_seq) IN ((1, 2), (2, 1))"
    )
    assert verify(grown.pk).fault.seq == 1


@pytest.mark.parametrize("page", [1, 2, 5, 5_000])
def test_links_are_read_in_pages(grown, tampered, page, monkeypatch):
    monkeypatch.setattr("sessions_app.queries.log.links.PAGE", page)
    assert verify(grown.pk).fault is None
    tampered("UPDATE sessions_app_event SET text = 'x' WHERE seq = 9")
    assert verify(grown.pk).fault.seq == 9


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_a_long_append_is_chained_in_parts(session, batch, monkeypatch):
    monkeypatch.setattr(events, "BATCH", batch)
    append(session, *(event() for _ in range(7)))
    assert verify(session.pk).events == 7 and verify(session.pk).fault is None


def test_a_log_without_links_takes_no_more_events(grown, tampered):
    tampered("DELETE FROM sessions_app_eventlink")
    with pytest.raises(LookupError, match="no link"):
        append(grown, event())


def test_what_was_there_already_adds_no_link(session):
    same = event()
    append(session, same)
    append(session, same)
    assert EventLink.objects.filter(session=session).count() == 1


def test_links_are_append_only(grown):
    for statement in ("UPDATE sessions_app_eventlink SET origin = 'desk'", "DELETE FROM sessions_app_eventlink"):
        with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), as_owner() as cursor:
            cursor.execute(statement)


def test_each_event_knows_who_sent_it(session):
    ada = Actor("member", "7", "Ada")
    events.append(session.pk, [user("Go")], origin=links.sent_by(ada))
    events.append(session.pk, [event(), event()], origin=links.RUNTIME)
    events.append(session.pk, [event("status")], origin=links.desk_for(ada))
    found = origins(session.pk, [1, 3, 4])
    assert [(found[seq].kind, found[seq].reported_by) for seq in (1, 3, 4)] == [
        ("api", "Ada"), ("runtime", ""), ("desk", "Ada"),
    ]  # fmt: skip
    assert all(origin.received_at for origin in found.values())


def test_a_session_that_grew_is_marked_for_the_next_checkpoint(session):
    append(session, event())
    append(session, event())
    assert list(UnsealedHead.objects.values_list("kind", "chain_id")) == [("session", session.pk)]


def test_a_mark_that_is_there_is_locked_and_not_written_again(session):
    def place() -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT ctid::text FROM sessions_app_unsealedhead WHERE chain_id = %s", [session.pk])
            return cursor.fetchone()[0]

    append(session, event(text="one"))
    first = place()
    append(session, event(text="two"))
    assert place() == first
    UnsealedHead.objects.all().delete()
    append(session, event(text="three"))
    assert place()


def test_the_chain_does_not_depend_on_how_a_connection_writes_values(grown):
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL datestyle = 'ISO, DMY'; SET LOCAL bytea_output = 'escape'")
    assert verify(grown.pk).fault is None


def test_every_column_of_an_event_is_hashed():
    """A column that is added needs a new version of the link: this fails until somebody decides."""
    from sessions_app.event_chain import COLUMNS

    own = {field.column for field in Event._meta.concrete_fields if field.column}
    assert {name.strip('"') for name in COLUMNS} == own


def test_a_log_grows_and_is_verified_with_debug_cursors(session):
    """DEBUG and tests that count queries wrap the cursor in one whose ``copy`` takes no parameters."""
    with CaptureQueriesContext(connection):
        append(session, event())
        assert verify(session.pk).fault is None
