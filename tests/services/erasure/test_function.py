"""The function in the database that deletes a session's log: it believes nobody who calls it."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.utils import DatabaseError, IntegrityError
from django.utils import timezone
from psycopg.conninfo import make_conninfo

from config.database import roles
from sessions_app.models import EventLink, Session, Tombstone
from sessions_app.services import audit
from tests.services.build import append, user
from vcon_app.services.checkpoints import verification
from vcon_app.services.trust import tombstones

pytestmark = pytest.mark.django_db
CALL = "SELECT countersign_erase_session(%s, %s)"


def tombstone_for(session: Session, **other: object) -> Tombstone:
    """A tombstone that tells the truth, but for what is given."""
    last = EventLink.objects.filter(session=session).latest("last_seq")
    fields = {
        "workspace_id": session.workspace_id, "kind": "session", "subject_id": session.pk, "by_kind": "member",
        "at": timezone.now(), "last_seq": session.last_seq, "last_link": bytes(last.hash).hex(),
        "counts": {"events": session.event_count},
    }  # fmt: skip
    return Tombstone.objects.create(**(fields | other))


def call(session_id: object, tombstone_id: object) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(CALL, [session_id, tombstone_id])


@pytest.fixture
def logged(session) -> Session:
    append(session, user("Hello"), user("And more"))
    return session


def test_a_session_goes_with_a_true_tombstone(logged):
    call(logged.pk, tombstone_for(logged).pk)
    assert not Session.objects.filter(pk=logged.pk).exists()


@pytest.mark.parametrize(
    "lie", [{"last_seq": 1}, {"last_link": "0" * 64}, {"counts": {"events": 1}}, {"counts": {}}, {"kind": "import"}]
)
def test_a_tombstone_that_lies_opens_nothing(logged, lie):
    tombstone = tombstone_for(logged, **lie)
    with pytest.raises(IntegrityError, match="true tombstone"):
        call(logged.pk, tombstone.pk)
    assert Session.objects.filter(pk=logged.pk).exists()


@pytest.mark.parametrize("is_told", [False, True], ids=["no entry", "an entry that means it"])
def test_a_tombstone_that_nobody_signed_is_found_before_any_checkpoint(logged, is_told):
    """As somebody writes one who has the desk's password to the database."""
    forged = tombstone_for(logged)
    if is_told:
        audit.record(
            logged.workspace_id, audit.SYSTEM, "session.erased", subject=("session", logged.pk),
            digest=tombstones.digest_of(forged),
        )  # fmt: skip
    call(logged.pk, forged.pk)
    [broken] = [one for one in verification.verify_workspace(logged.workspace) if not one.ok]
    fault = (
        "its tombstone is not signed by this installation: " if is_told else "not the one that the audit log tells of"
    )
    assert broken.what == "default: tombstones"
    assert f"session {logged.pk}: " in broken.detail and fault in broken.detail


def test_no_tombstone_and_that_of_another_session_open_nothing(logged, agent):
    other = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    append(other, user("Stays"), user("And more"))
    for tombstone_id in (uuid4(), tombstone_for(logged).pk):
        with pytest.raises(IntegrityError, match="true tombstone"):
            call(other.pk, tombstone_id)


def test_a_session_that_is_not_there_is_said_so(db):
    with pytest.raises(DatabaseError, match="there is no session"):
        call(uuid4(), uuid4())


@pytest.mark.django_db(transaction=True)
def test_the_tombstone_of_an_earlier_transaction_opens_nothing(logged):
    tombstone = tombstone_for(logged, transaction=2**40)
    with pytest.raises(IntegrityError, match="true tombstone"):
        call(logged.pk, tombstone.pk)
    tombstone.refresh_from_db()
    assert tombstone.transaction != 2**40  # which transaction it was says the database, whatever it is told


def test_nobody_changes_a_tombstone(logged):
    tombstone = tombstone_for(logged)
    with pytest.raises(DatabaseError), transaction.atomic():
        Tombstone.objects.filter(pk=tombstone.pk).update(reason="none")
    with pytest.raises(DatabaseError), transaction.atomic():
        Tombstone.objects.filter(pk=tombstone.pk).delete()


@pytest.fixture
def desk() -> Iterator[psycopg.Connection]:
    """A connection as web server and workers have one."""
    if not roles.are_two():
        pytest.skip("DATABASE_URL without DATABASE_OWNER_URL: one role does everything")
    place = {"dbname": connection.settings_dict["NAME"]}
    with psycopg.connect(make_conninfo(**settings.DATABASE_PARAMETERS | place)) as connected:
        yield connected


FORGED = """
CREATE TEMP TABLE sessions_app_tombstone AS
SELECT %(forged)s::uuid AS id, 'session'::text AS kind, s.id AS subject_id, s.last_seq,
       pg_current_xact_id()::text::bigint AS transaction, jsonb_build_object('events', s.event_count) AS counts,
       (SELECT encode(hash, 'hex') FROM sessions_app_eventlink l WHERE l.session_id = s.id
        ORDER BY last_seq DESC LIMIT 1) AS last_link
FROM sessions_app_session s WHERE s.id = %(session)s
"""


@pytest.mark.django_db(transaction=True)
def test_a_temporary_table_is_not_taken_for_the_tombstones(logged, desk):
    """Unnamed in the search path of the function, the caller's pg_temp would come first."""
    forged = uuid4()
    desk.execute(FORGED, {"forged": forged, "session": logged.pk})
    with pytest.raises(psycopg.errors.RestrictViolation):
        desk.execute(CALL, [logged.pk, forged])


@pytest.mark.django_db(transaction=True)
def test_other_roles_may_not_call_it(logged, desk):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.rolname FROM pg_roles r"
            " WHERE has_function_privilege(r.oid, 'countersign_erase_session(uuid, uuid)', 'EXECUTE')"
            " AND NOT r.rolsuper ORDER BY 1"
        )
        assert cursor.fetchall() == [(settings.DATABASE_PARAMETERS["user"],)]
