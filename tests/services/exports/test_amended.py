"""A session from a signed or encrypted vCon leaves as a vCon of its own, which says what it amends (core s4.1.9)."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest

from sessions_app.models import Session
from sessions_app.services import audit
from vcon_app.services.exports import export_jobs

from ...signing.make import VCON, private_pem, recorder, rsa_key, signed
from ...signing.test_encrypted import encrypted

KEY = rsa_key(4)
REDACTED = {"uuid": "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "type": "Secrets"}


@pytest.fixture
def key_file(settings, tmp_path) -> None:
    settings.DECRYPTION_KEY = tmp_path / "ours.key"
    settings.DECRYPTION_KEY.write_text(private_pem(KEY))


def rebuilt(**options: Any) -> tuple[dict[str, Any], set[str]]:
    """What the session is exported as, and what the report says is lost."""
    session = Session.objects.order_by("-created_at").first()
    Session.objects.filter(pk=session.pk).update(phase=Session.Phase.COMPLETED)
    session.refresh_from_db()
    export = export_jobs.start_export(session, "vcon", by=audit.COMMAND, options=options)
    assert export.error is None
    return json.loads(export_jobs.open_file(export).read()), {row["what"] for row in export.losses}


def test_export_of_a_signed_vcon_amends_it_and_reports_the_lost_signature(import_document):
    import_document(signed(VCON, recorder()))
    written, lost = rebuilt()
    assert written["amended"] == {"uuid": VCON["uuid"]}
    assert written["uuid"] != VCON["uuid"]
    assert {"redacted", "signatures"} & written.keys() == set()
    assert "signature" in lost


def test_export_signed_by_us_amends_the_signed_original(import_document):
    import_document(signed(VCON, recorder()))
    sealed, lost = rebuilt(signed=True)
    payload = json.loads(urlsafe_b64decode(sealed["payload"] + "=="))
    assert payload["amended"] == {"uuid": VCON["uuid"]}
    assert sealed["signatures"][0]["header"]["uuid"] == payload["uuid"] != VCON["uuid"]
    assert "signature" in lost


def test_report_on_an_encrypted_original_warns_that_the_export_is_readable(import_document, key_file):
    import_document(encrypted(json.dumps(signed(VCON, recorder())).encode(), key=KEY))
    written, lost = rebuilt()
    assert written["amended"] == {"uuid": VCON["uuid"]}
    assert {"signature", "encryption"} <= lost


def test_redacted_vcon_stays_redacted_and_is_not_also_amended(import_document):
    import_document(signed(VCON | {"redacted": REDACTED}, recorder()))
    written, lost = rebuilt()
    assert written["redacted"] == REDACTED
    assert "amended" not in written
    assert "link to the vCon this was made from" in lost


def test_original_without_uuid_is_reported_as_not_amendable(import_document):
    import_document(signed({name: value for name, value in VCON.items() if name != "uuid"}, recorder()))
    written, lost = rebuilt()
    assert "amended" not in written
    assert "link to the vCon this was made from" in lost


def test_the_amended_copy_is_another_version_of_the_session_when_it_comes_back(import_document):
    import_document(signed(VCON, recorder()))
    first = Session.objects.get()
    written, _ = rebuilt()
    again = import_document(written, "again.vcon").session_links.get().session
    assert again != first
    assert again.metadata["vcon"]["amended"] == {"uuid": VCON["uuid"]}
    assert again.metadata["version_of"] == str(first.pk)
