"""Trust anchors on the settings page, and what the page of a session says of its signature."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from sessions_app.models import AuditEntry, Role, Session
from sessions_app.services import audit, workspaces
from sessions_app.services.people import api_keys
from tests.views.build import words
from tests.views.conftest import member_of, signed_in
from vcon_app.models import ImportedSession, TrustAnchor
from vcon_app.services.trust import anchors, signatures

from ...signing.make import START, VCON, b64, ed_key, feed, private_pem, public_pem, recorder, rsa_key, signed

pytestmark = pytest.mark.usefixtures("document_storage")


def by():
    return recorder(dates=(START, timezone.now() + timedelta(days=400)))


@pytest.fixture
def admin(workspace) -> Client:
    return signed_in(member_of(workspace, Role.ADMIN, "Ada"))


def page_of(client: Client) -> str:
    session = Session.objects.get()
    answer = client.get(f"/dashboard/sub-agents/{session.agent_id}/chat/{session.id}")
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_certificate_is_pasted_shown_and_removed(admin, workspace):
    assert "There are none yet" in words(admin.get("/settings/"))
    assert admin.post("/settings/trust/", {"pem": by().pem, "name": "Our recorder"}).status_code == 302
    anchor = TrustAnchor.objects.get()
    page = words(admin.get("/settings/"))
    assert "Our recorder" in page and anchor.fingerprint in page and "by Ada" in page

    admin.post(f"/settings/trust/{anchor.id}/remove/")
    assert not TrustAnchor.objects.exists()
    assert list(AuditEntry.objects.order_by("seq").values_list("action", flat=True))[-2:] == [
        "trust.added",
        "trust.removed",
    ]


def test_a_key_may_come_as_a_file(admin):
    file = SimpleUploadedFile("desk.pub", public_pem(ed_key()).encode())
    admin.post("/settings/trust/", {"file": file, "name": "Desk", "origin": "https://desk.example"})

    assert TrustAnchor.objects.get().origin == "https://desk.example"
    assert "files of https://desk.example" in words(admin.get("/settings/"))


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({}, "Paste a certificate or a public key"),
        ({"pem": "hello"}, "This is not PEM"),
        ({"pem": public_pem(rsa_key()), "origin": "https://a.example"}, "An origin is for keys of llmfeed files"),
        ({"file": SimpleUploadedFile("x.crt", bytes(range(256)))}, "This is not PEM"),
    ],
)
def test_refused_trust_anchor_form_shows_the_reason_and_keeps_the_input(admin, form, says):
    answer = admin.post("/settings/trust/", form | {"name": "Typed"})

    assert answer.status_code == 422
    assert says in words(answer) and 'value="Typed"' in answer.content.decode()
    assert not TrustAnchor.objects.exists()


def test_a_private_key_is_refused_and_not_sent_back(admin):
    answer = admin.post("/settings/trust/", {"pem": private_pem(rsa_key())})

    assert answer.status_code == 422
    assert "must stay with its owner" in words(answer)
    assert "BEGIN PRIVATE" not in answer.content.decode()


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_only_admins_change_trust_anchors(workspace, role):
    anchor = anchors.add(workspace, by().pem, by=audit.COMMAND)
    client = signed_in(member_of(workspace, role, "Rosa"))

    assert client.post("/settings/trust/", {"pem": by().pem}).status_code == 403
    assert client.post(f"/settings/trust/{anchor.id}/remove/").status_code == 403
    assert "recorder.example" in words(client.get("/settings/"))
    assert "Add trust anchor" not in words(client.get("/settings/"))


def test_nobody_sees_or_removes_the_anchors_of_another_workspace(workspace, admin):
    elsewhere = workspaces.create_workspace("elsewhere")
    anchor = anchors.add(elsewhere, by().pem, name="Theirs", by=audit.COMMAND)
    charlie = signed_in(member_of(elsewhere, Role.ADMIN, "Charlie"))

    assert "Theirs" not in words(admin.get("/settings/"))
    assert admin.post(f"/settings/trust/{anchor.id}/remove/").status_code == 404
    assert "Theirs" in words(charlie.get("/settings/"))


def test_an_invalid_signature_cannot_be_overlooked(import_document, admin):
    jws = signed(VCON, by())
    jws["payload"] = b64(json.dumps(VCON | {"subject": "<b>x</b>"}).encode())
    import_document(jws)
    page = page_of(admin)

    assert "The signature of this file is invalid." in page
    assert 'role="alert"' in page and "does not verify" in page


def test_of_several_files_the_one_that_does_not_verify_is_named(import_document, admin):
    """The head names the newest file, and it is not this one that was changed."""
    import_document(VCON, "changed.vcon")
    changed = ImportedSession.objects.get()
    ImportedSession.objects.update(signature={"state": "invalid", "signer": None, "detail": "It was changed."})
    import_document(feed(ed_key()), "newer.json")
    newer = ImportedSession.objects.exclude(pk=changed.pk)
    newer.update(session=changed.session, events=0)
    one = changed.session
    page = " ".join(admin.get(f"/dashboard/sub-agents/{one.agent_id}/chat/{one.id}").content.decode().split())

    assert '<span class="untrusted">changed.vcon</span> is invalid.' in page
    assert "another file of it" in page


def test_blocks_that_nobody_signed_are_named_on_the_page(workspace, import_document, admin):
    anchors.add(workspace, public_pem(ed_key()), by=audit.COMMAND)
    import_document(feed(ed_key()) | {"outputs": [], "<script>": 1}, "shelf.json")
    page = page_of(admin)

    assert "leaves parts of this file out" in page
    assert "outputs, &lt;script&gt;" in page


def test_a_signature_that_is_valid_is_said_to_be_verified_once_its_signer_is_trusted(workspace, import_document, admin):
    import_document(signed(VCON, by()))
    assert "Valid, signer not trusted" in page_of(admin)
    anchors.add(workspace, by().pem, by=audit.COMMAND)
    signatures.check_again(workspace.pk)
    page = page_of(admin)

    assert "Verified" in page and "signature-banner" not in page


def test_the_api_gives_the_signature_of_import_and_session(workspace, import_document, client):
    anchors.add(workspace, by().pem, by=audit.COMMAND)
    imported = import_document(signed(VCON, by()))
    _, secret = api_keys.create_api_key(workspace, "robot", Role.VIEWER, by=audit.COMMAND)
    headers = {"Authorization": f"Bearer {secret}"}
    of_import = client.get(f"/api/v1/imports/{imported.id}", headers=headers).json()["signature"]
    of_session = client.get(f"/api/v1/sessions/{Session.objects.get().id}", headers=headers).json()["signature"]

    assert of_import == of_session
    assert (of_import["state"], of_import["signer"]) == ("valid", "recorder.example")
    assert set(of_import) == {"state", "signer", "detail", "covers"}
