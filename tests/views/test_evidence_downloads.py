"""Downloads of the audit page: for admins, and nobody else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.models import AuditEntry
from tests.views.build import words

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("document_storage"),
    pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators"),
]
TODAY = datetime.now(UTC).date()
DAYS = {"from": TODAY.isoformat(), "to": (TODAY + timedelta(days=1)).isoformat()}
"""A test that was read before midnight may run after it."""


def test_an_admin_downloads_the_evidence_pack(admin):
    assert "Evidence pack" in words(admin.get("/audit/"))
    answer = admin.get("/audit/evidence", DAYS)
    assert b"".join(answer).startswith(b"PK")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="evidence-default-')
    assert AuditEntry.objects.filter(action="evidence.exported", actor_kind="member").count() == 1


@pytest.mark.parametrize("format", ["jsonl", "csv", "agent-audit-trail"])
def test_an_admin_downloads_the_entries(admin, format):
    assert b"member.added" in b"".join(admin.get("/audit/export", DAYS | {"format": format}))


@pytest.mark.parametrize("path", ["/audit/evidence", "/audit/export"])
def test_nobody_else_does(reviewer, viewer, path):
    assert {one.get(path, DAYS).status_code for one in (reviewer, viewer)} == {403}
    assert not AuditEntry.objects.filter(action="evidence.exported").exists()


@pytest.mark.parametrize(
    ("path", "query", "says"),
    [
        ("/audit/evidence", {}, "choose the first and the last day"),
        ("/audit/evidence", {"from": "2026-03-02", "to": "2026-03-01"}, "before it begins"),
        ("/audit/evidence", DAYS | {"agent": "nobody"}, "there is no agent"),
        ("/audit/export", DAYS | {"format": "xml"}, "there is no format"),
    ],
)
def test_what_is_chosen_wrongly_is_said(admin, path, query, says):
    assert says in words(admin.get(path, query, follow=True))


def test_what_was_entered_stands_in_the_form_again(admin):
    entered = {"from": "2026-03-02", "to": "2026-03-01", "agent": "no-body"}
    page = admin.get("/audit/evidence", entered, follow=True).content.decode()
    form = page.partition("audit-export")[2].partition("</form>")[0]
    assert form.partition(">")[0].endswith(" open") and all(f'value="{value}"' in form for value in entered.values())
    assert 'name="from" value=""' in page.partition("</form>")[2], "the filter of the page is left as it is"
