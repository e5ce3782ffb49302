"""The audit log of a period over the API and at the command line, for admins alone."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.services import audit
from tests.api.client import pointers, refused

pytestmark = pytest.mark.django_db(transaction=True)


def read(answer) -> bytes:
    assert answer.status_code == 200, answer.content
    return b"".join(answer)


@pytest.mark.parametrize("format", ["jsonl", "csv", "agent-audit-trail"])
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_an_admin_takes_the_audit_log_away(admin, workspace, format):
    audit.record(workspace.pk, audit.SYSTEM, "note.made", text="Zoë")
    answer = admin.get("audit/export", {"format": format})
    assert "Zoë".encode() in read(answer)
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="audit-default.')


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({"format": "xml"}, "/format"),
        ({"from": "yesterday"}, "/from"),
        ({"from": "2026-03-02", "to": "2026-03-01"}, "/to"),
    ],
)
def test_what_is_asked_wrongly_is_named(admin, query, named):
    assert named in {error["pointer"] for error in refused(admin.get("audit/export", query), 422)["errors"]}


def test_it_is_for_admins(api, viewer):
    for one in (api, viewer):
        refused(one.get("audit/export"), 403)


def test_the_command_writes_a_file_whole_or_not_at_all(workspace, tmp_path):
    audit.record(workspace.pk, audit.SYSTEM, "note.made")
    target = tmp_path / "audit.jsonl"
    call_command("audit", "export", "--output", str(target))
    assert json.loads(target.read_bytes().splitlines()[-1])["entry"]
    with pytest.raises(CommandError, match="is no date"):
        call_command("audit", "export", "--from", "soon")
    with pytest.raises(CommandError, match="before it begins"):
        call_command("audit", "export", "--from", "2026-03-02", "--to", "2026-03-01")
    with pytest.raises(CommandError, match="No such file"):
        call_command("audit", "export", "--output", str(tmp_path / "gone" / "audit.jsonl"))
    assert [path.name for path in tmp_path.iterdir()] == ["audit.jsonl"]


@pytest.mark.usefixtures("document_storage")
@pytest.mark.filterwarnings("ignore:StreamingHttpResponse must consume asynchronous iterators")
def test_an_admin_takes_the_evidence_pack_of_a_period(admin, api, workspace):
    days = {"from": "2026-01-01", "to": "2027-01-01"}
    refused(api.get("evidence", days), 403)
    assert read(admin.get("evidence", days)).startswith(b"PK")
    assert pointers(refused(admin.get("evidence", {"to": "2026-01-01"}), 422)) == {"/from"}
    refused(admin.get("evidence", days | {"agent": "nobody"}), 422)
    refused(admin.get("evidence", {"from": "2026-03-02", "to": "2026-03-01"}), 422)
