"""A session that was erased is no fault of the record; one that was cut away is, whatever somebody wrote beside it."""

from __future__ import annotations

import pytest

from sessions_app.models import AuditEntry, Session, Tombstone
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from tests.services.build import append, event
from vcon_app.services.erasure import erasing
from vcon_app.services.trust import tombstones

from .test_checkpoints import checkpointed, faults, tampered

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
CUT = "DELETE FROM sessions_app_{} WHERE session_id = '{}'"
LOG = ("event", "eventlink", "turn", "toolcall", "modelrequest", "eventtext", "searchblock", "approval", "runsummary")


@pytest.fixture
def sealed(session) -> Session:
    """A session with a question, which a checkpoint knows."""
    append(session, event(), event())
    requests.request(session, requests.Question("shell", {}), by=audit.SYSTEM)
    checkpointed()
    return session


def cut_away(session: Session) -> None:
    tampered(
        *(CUT.format(table, session.pk) for table in LOG),
        f"DELETE FROM sessions_app_session WHERE id = '{session.pk}'",
    )


def test_an_erased_session_is_no_fault(sealed):
    erasing.erase_session(sealed, by=audit.COMMAND, reason="they asked")
    assert faults() == []
    checkpointed()
    assert faults() == []


def test_one_that_was_cut_away_is(sealed):
    cut_away(sealed)
    assert f"session {sealed.pk}" in dict(faults())


def test_an_audit_entry_that_says_so_is_not_enough(sealed):
    cut_away(sealed)
    audit.record(sealed.workspace_id, audit.COMMAND, "session.erased", subject=("session", sealed.pk))
    assert f"session {sealed.pk}" in dict(faults())


def test_a_tombstone_that_nobody_signed_is_not_enough(sealed):
    cut_away(sealed)
    forged = Tombstone(
        workspace_id=sealed.workspace_id, kind="session", subject_id=sealed.pk, last_seq=99, by_kind="member",
        at=sealed.created_at, signature="e30..e30",
    )  # fmt: skip
    forged.save(force_insert=True)
    audit.record(
        sealed.workspace_id, audit.COMMAND, "session.erased", subject=("session", sealed.pk),
        digest=tombstones.digest_of(forged),
    )  # fmt: skip
    assert f"session {sealed.pk}" in dict(faults())


def test_a_tombstone_that_was_changed_is_noticed(sealed):
    erasing.erase_session(sealed, by=audit.COMMAND, reason="they asked")
    tampered("UPDATE sessions_app_tombstone SET reason = 'a mistake'")
    assert f"session {sealed.pk}" in dict(faults())
    assert AuditEntry.objects.filter(action="session.erased").exists()
