"""The audit log of a period as a file: chained as it is, safe in a spreadsheet, and as an agent audit trail."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import tracemalloc
from datetime import UTC, date, datetime, timedelta

import pytest
import rfc8785
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import AuditEntry
from sessions_app.services import audit, workspaces
from tests.database_roles import as_owner
from tests.services.receipts.test_receipts import asked, decided
from vcon_app.formats.evidence import aat
from vcon_app.services.evidence import audit_export, period
from vcon_app.services.evidence.period import NoPeriod, Period, of_days

pytestmark = pytest.mark.django_db
ALWAYS = Period()
HOSTILE = '=HYPERLINK("http://evil")'


def exported(format: str, workspace, when: Period = ALWAYS) -> bytes:
    return b"".join(audit_export.chunks(format, workspace.pk, when))


def records(workspace, when: Period = ALWAYS) -> list[dict]:
    return [json.loads(line) for line in exported("agent-audit-trail", workspace, when).splitlines()]


def test_jsonl_has_the_text_that_each_hash_is_of(workspace, session):
    decided(session)
    rows = [json.loads(line) for line in exported("jsonl", workspace).splitlines()]
    assert [row["seq"] for row in rows] == list(range(1, len(rows) + 1)) and len(rows) >= 2
    before = "0" * 64
    for row in rows:
        assert row["previous_hash"] == before
        before = hashlib.sha256((row["previous_hash"] + row["entry"]).encode()).hexdigest()
        assert row["hash"] == before


def test_csv_cannot_run_in_a_spreadsheet(workspace):
    for name in (HOSTILE, " +1", "-1", "@SUM(1)", "\tx", "\rx"):
        audit.record(workspace.pk, audit.Actor("member", "1", name), "member.added", name=name)
    rows = list(csv.DictReader(io.StringIO(exported("csv", workspace).decode(), newline="")))
    assert all(row["actor_name"].startswith("'") for row in rows[-6:])
    assert json.loads(rows[-6]["details"]) == {"name": HOSTILE}
    assert not any(
        cell.lstrip(" ").startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows for cell in row.values()
    )


def test_a_period_has_its_entries_and_no_others(workspace, elsewhere_too):
    day = date(2026, 3, 1)
    for number in range(3):
        entry = audit.record(workspace.pk, audit.SYSTEM, "note.made", number=number)
        at = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=number - 1, hours=23, minutes=59, seconds=59)
        with as_owner() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            where = [at, entry.seq, workspace.pk]
            cursor.execute("UPDATE sessions_app_auditentry SET at = %s WHERE seq = %s AND workspace_id = %s", where)
            cursor.execute("SET LOCAL session_replication_role = origin")
    (row,) = exported("jsonl", workspace, of_days(day, day)).splitlines()
    assert json.loads(json.loads(row)["entry"])["details"] == {"number": 1}
    assert exported("jsonl", workspace, of_days(date(2020, 1, 1), date(2020, 1, 2))) == b""


@pytest.fixture
def elsewhere_too(db):
    other = workspaces.create_workspace("elsewhere")
    audit.record(other.pk, audit.SYSTEM, "hush.hush")
    return other


def test_another_workspaces_entries_are_in_none(workspace, elsewhere_too):
    audit.record(workspace.pk, audit.SYSTEM, "note.made")
    assert not any(b"hush" in exported(format, workspace) for format in audit_export.MEDIA_TYPES)


@pytest.mark.parametrize(("first", "last"), [(date(2026, 3, 2), date(2026, 3, 1))])
def test_a_period_that_ends_before_it_begins_is_refused(first, last):
    with pytest.raises(NoPeriod, match="before it begins"):
        of_days(first, last)


def test_the_trail_has_the_twelve_members_and_the_hash_of_the_record_before(workspace, session):
    decided(session, "deny", reason="Zoë \u202e 😀")
    found = records(workspace)
    assert all(set(record) == set(aat.MANDATORY) for record in found) and len(aat.MANDATORY) == 12
    assert (found[0]["prev_hash"], found[0]["parent_record_id"], found[0]["record_phase"]) == (None, None, "concurrent")
    for before, record in zip(found, found[1:], strict=False):
        # by RFC 8785 itself, not by what wrote it
        assert record["prev_hash"] == hashlib.sha256(rfc8785.dumps(before)).hexdigest()
        assert record["parent_record_id"] == before["record_id"]
    assert len({record["record_id"] for record in found}) == len(found)


def test_questions_and_decisions_are_told_in_the_words_of_the_draft(workspace, session):
    decided(session, "deny", reason="No")
    asked(session)
    by_event = {record["action_detail"]["event"]: record for record in records(workspace)}
    question, decision = by_event["approval.requested"], by_event["approval.decided"]
    assert [question[name] for name in ("action_type", "outcome", "record_phase")] == [
        "tool_call", "escalated", "pre_execution",
    ]  # fmt: skip
    assert (decision["action_type"], decision["outcome"]) == ("decision", "denied")
    assert (decision["agent_id"], decision["agent_version"]) == ("refund-agent", "1")
    last = AuditEntry.objects.filter(action="approval.decided").get()
    assert decision["action_detail"]["audit_hash"] == last.hash


def test_an_empty_period_is_a_trail_of_its_genesis(workspace):
    (genesis,) = records(workspace, of_days(date(2020, 1, 1), date(2020, 1, 2)))
    assert genesis["action_detail"]["event"] == "session_start"


def many(workspace, number: int, at: datetime) -> None:
    """Entries as they are, without the lock of each: what is measured is reading them."""
    first = AuditEntry.objects.filter(workspace=workspace).count() + 1
    AuditEntry.objects.bulk_create(
        [
            AuditEntry(
                workspace=workspace, seq=first + seq, at=at, actor_kind="system", actor_name="x" * 50,
                action="note.made", details={"note": "y" * 200}, previous_hash="0" * 64, hash="0" * 64,
            )
            for seq in range(number)
        ]
    )  # fmt: skip


def test_memory_does_not_grow_with_the_entries(workspace, monkeypatch):
    monkeypatch.setattr(period, "PAGE", 200)
    monkeypatch.setattr(audit_export, "AT_ONCE", 100)
    many(workspace, 300, datetime(2026, 3, 1, tzinfo=UTC))
    many(workspace, 600, datetime(2026, 3, 2, tzinfo=UTC))

    def peak(format: str, when: Period) -> int:
        tracemalloc.start()
        for _ in audit_export.chunks(format, workspace.pk, when):
            pass
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few = of_days(date(2026, 3, 1), date(2026, 3, 1))
    for format in audit_export.MEDIA_TYPES:
        peak(format, few)  # caches are filled
        assert peak(format, ALWAYS) < 1.5 * peak(format, few), format


def test_queries_grow_with_pages_only(workspace, session):
    decided(session)
    with CaptureQueriesContext(connection) as captured:
        exported("agent-audit-trail", workspace)
    assert len(captured) <= 6
    assert period.PAGE >= 1_000
