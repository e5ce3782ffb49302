"""Receipts of a transparency service on the page, over the API and in the hands of somebody with the files alone."""

from __future__ import annotations

import base64

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from sessions_app.models import Session
from tests.api.client import Api, ok
from tests.fakes.transparency_service import later, says
from vcon_app.models import Registration
from vcon_app.services.exports import export_jobs
from vcon_app.signing import statement

from .conftest import export_of, tried

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
PROBLEM = b'{"title": "Rejected <b>", "detail": "by policy"}'


def rows_of(api: Api, session: Session) -> list[dict]:
    return ok(api.get(f"sessions/{session.pk}/registrations"))["items"]


def test_the_api_tells_what_was_checked_and_gives_the_proof(api, session, service):
    service.answers = [later(303)]
    export_of(session, signed=True)
    [waiting] = rows_of(api, session)
    assert (waiting["status"], waiting["statement"], waiting["checked_with"]) == ("waiting", None, None)
    assert tried().status == "pending" and tried().status == "registered"
    [row] = rows_of(api, session)
    assert (row["status"], row["fault"], row["service"]) == ("registered", None, service.url)
    proof = base64.b64decode(row["statement"])
    assert statement.digest_of(proof).hex() == row["sha256"] and row["checked_with"]


def test_the_source_page_says_who_says_so_and_what_went_wrong(viewer, session, service):
    service.answers = [says(400, PROBLEM, content_type="application/problem+json")]
    export_of(session, signed=True)
    tried()
    path = reverse("session-facts", args=[session.agent_id, session.pk])
    told = viewer.get(path).content.decode()
    assert "was refused, and is not tried again" in told
    assert "400: Rejected &lt;b&gt;: by policy" in told and "<b>: by policy" not in told
    Registration.objects.all().delete()
    service.answers = []
    export_of(session, signed=True)
    row = tried()
    told = viewer.get(path).content.decode()
    assert "says that this file is in its log" in " ".join(told.split())
    address = f"/sessions/{session.pk}/registrations/{row.pk}/receipt"
    assert f'href="{address}"' in told and row.sha256 in told
    given = viewer.get(address)
    assert given.headers["Content-Type"] == statement.MEDIA_TYPE
    assert statement.digest_of(given.content).hex() == row.sha256
    assert ".receipt.cose" in given.headers["Content-Disposition"]
    Registration.objects.update(receipt=None)
    assert viewer.get(address).status_code == 404


def test_whoever_has_the_files_and_the_key_of_the_service_checks_them(viewer, session, service, tmp_path, capsys):
    export = export_of(session, signed=True)
    row = tried()
    taken, proof = tmp_path / "export.vcon", tmp_path / "export.receipt.cose"
    taken.write_bytes(export_jobs.open_file(export).read())
    proof.write_bytes(viewer.get(f"/sessions/{session.pk}/registrations/{row.pk}/receipt").content)
    call_command("verify", proof, of=taken, key=service.keys)
    assert "valid: " in capsys.readouterr().out
    taken.write_bytes(b"another file")
    with pytest.raises(SystemExit):
        call_command("verify", proof, of=taken, key=service.keys)
    assert "about another file than export.vcon" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        call_command("verify", proof, of=taken)
    with pytest.raises(CommandError, match="no COSE_Sign1"):
        call_command("verify", taken, of=taken)
