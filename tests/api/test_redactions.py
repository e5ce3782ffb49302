"""Redacted vCons over the API: made, held back, accepted and fetched; and who may do which of it."""

from __future__ import annotations

import asyncio
import io
import json

import pytest
from django.test import AsyncClient

from sessions_app.models import AuditEntry, Session
from sessions_app.services import audit
from sessions_app.services.log import events, links
from tests.services.build import user
from tests.services.files import vcon as vcon_file
from tests.services.imports.test_imports import drop
from tests.signing.make import public_pem, rsa_key
from vcon_app.formats import vcon
from vcon_app.services.trust import anchors

from .client import ok, pointers, refused

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("document_storage")]
SECRET = "My card is 4711 0815 2342"


@pytest.fixture
def session_with_secret(workspace) -> Session:
    drop(workspace, vcon_file(SECRET, "Thank you", f"So, {SECRET}?"), "chat.vcon")
    return Session.objects.get()


def fetch(api, path):
    async def run():
        answer = await AsyncClient().get(path, headers=api.headers)
        if answer.streaming:
            answer.file = b"".join([piece async for piece in answer])
        return answer

    return asyncio.run(run())


def test_a_redacted_vcon_is_made_and_fetched(api, session_with_secret):
    sent = {"type": "PII Redaction", "remove": [{"what": "containing", "words": "4711 0815"}]}
    made = ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 201)
    assert (made["status"], made["removed"], made["leaks"]) == ("ready", {"text": 2}, [])
    answer = fetch(api, made["download"])
    assert answer.headers["Content-Type"].startswith("application/vcon")
    assert json.loads(answer.file)["redacted"]["type"] == "PII Redaction"
    assert json.loads(answer.file)["uuid"] == made["uuid"]
    assert b"4711 0815" not in answer.file
    assert ok(api.get(f"sessions/{session_with_secret.pk}/redactions/{made['id']}")) == made
    assert api.all(f"sessions/{session_with_secret.pk}/redactions") == [made]


def test_redaction_with_leaks_is_not_fetched_until_accepted(api, session_with_secret):
    made = ok(
        api.post(
            f"sessions/{session_with_secret.pk}/redactions", {"type": "PII", "remove": [{"what": "text", "seq": 1}]}
        ),
        201,
    )
    assert (made["status"], made["download"], made["leak_count"]) == ("held", None, 1)
    [leak] = made["leaks"]
    assert (leak["pointer"], leak["seq"], leak["source"]) == ("/dialog/2/body", 3, "1")
    assert leak["rule"]["what"] == "text"
    path = f"sessions/{session_with_secret.pk}/redactions/{made['id']}"
    assert "still stand" in refused(fetch(api, f"/api/v1/{path}/file"), 409)["detail"]
    accepted = ok(api.post(f"{path}/accept"))
    assert (accepted["status"], accepted["accepted_by"]) == ("ready", "reviewer key")
    assert ok(api.post(f"{path}/accept")) == accepted
    assert fetch(api, accepted["download"]).status_code == 200


def test_leaks_can_be_accepted_in_the_request(api, session_with_secret):
    sent = {"type": "PII", "remove": [{"what": "text", "seq": 1}], "accept": True}
    assert ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 201)["status"] == "ready"
    assert AuditEntry.objects.filter(action="session.redaction_accepted").count() == 1


@pytest.mark.parametrize(
    ("sent", "where"),
    [
        ({"remove": [{"what": "title"}]}, "/type"),
        ({"type": " ", "remove": [{"what": "title"}]}, "/type"),
        ({"type": "PII", "remove": []}, "/remove"),
        ({"type": "PII", "remove": [{"what": "title"}, {"what": "event", "seq": 77}]}, "/remove/1/seq"),
        ({"type": "PII", "remove": [{"what": "event"}]}, "/remove/0/seq"),
        ({"type": "PII", "remove": [{"what": "event", "seq": "x"}]}, "/remove/0/seq"),
        ({"type": "PII", "remove": [{"what": "all"}]}, "/remove/0/what"),
        ({"type": "PII", "remove": [{"what": "title", "sec": 1}]}, "/remove/0/sec"),
        ({"type": "PII", "remove": [{"what": "containing", "words": " x "}]}, "/remove/0/words"),
        ({"type": "PII", "remove": [{"what": "analysis", "index": 0}]}, "/remove/0/index"),
    ],
)
def test_invalid_redaction_is_refused_with_json_pointers(api, session_with_secret, sent, where):
    assert pointers(refused(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 422)) == {where}


def test_signing_a_redaction_of_a_running_session_is_refused(api, session_with_secret):
    Session.objects.update(phase=Session.Phase.ACTIVE)
    sent = {"type": "PII", "remove": [{"what": "title"}], "signed": True}
    assert pointers(refused(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 422)) == {"/signed"}


def test_a_viewer_may_fetch_what_is_ready_and_nothing_else(api, viewer, session_with_secret):
    sent = {"type": "PII", "remove": [{"what": "title"}]}
    refused(viewer.post(f"sessions/{session_with_secret.pk}/redactions", sent), 403)
    refused(viewer.get(f"sessions/{session_with_secret.pk}/redactions"), 403)
    made = ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 201)
    refused(viewer.get(f"sessions/{session_with_secret.pk}/redactions/{made['id']}"), 403)
    refused(viewer.post(f"sessions/{session_with_secret.pk}/redactions/{made['id']}/accept"), 403)
    assert fetch(viewer, made["download"]).status_code == 200


def test_api_key_of_another_workspace_finds_nothing(api, stranger, session_with_secret):
    sent = {"type": "PII", "remove": [{"what": "title"}]}
    made = ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent), 201)
    path = f"sessions/{session_with_secret.pk}/redactions"
    refused(stranger.post(path, sent), 404)
    refused(stranger.get(path), 404)
    refused(stranger.get(f"{path}/{made['id']}"), 404)
    refused(stranger.post(f"{path}/{made['id']}/accept"), 404)
    refused(fetch(stranger, made["download"]), 404)


def test_redaction_can_be_encrypted_for_trust_anchors(api, session_with_secret, tmp_path):
    key = rsa_key()
    pinned = anchors.add(session_with_secret.workspace, public_pem(key), name="Court", by=audit.COMMAND)
    rules = {"type": "PII", "remove": [{"what": "containing", "words": "4711 0815"}]}
    for named in (str(pinned.pk), pinned.fingerprint):
        made = ok(api.post(f"sessions/{session_with_secret.pk}/redactions", {**rules, "encrypt_for": [named]}), 201)
        assert (made["status"], made["error"]) == ("ready", None)
        sealed = fetch(api, made["download"]).file
        assert json.loads(sealed).keys() >= {"ciphertext", "recipients"}
        opened = json.loads(vcon.unseal(io.BytesIO(sealed), [key]).read())
        assert opened.keys() == {"payload", "signatures"}
    problem = refused(
        api.post(f"sessions/{session_with_secret.pk}/redactions", {**rules, "encrypt_for": ["nobody"]}), 422
    )
    assert pointers(problem) == {"/encrypt_for"}


def test_redaction_with_the_same_idempotency_key_is_made_once(api, session_with_secret):
    sent = {"type": "PII", "remove": [{"what": "title"}]}
    first = ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent, **{"Idempotency-Key": "a"}), 201)
    assert ok(api.post(f"sessions/{session_with_secret.pk}/redactions", sent, **{"Idempotency-Key": "a"}), 201) == first
    assert len(api.all(f"sessions/{session_with_secret.pk}/redactions")) == 1


def test_a_session_that_is_no_import_is_redacted_too(api, session):
    events.append(session.pk, [user("Only this"), user("and that secret")], origin=links.RUNTIME)
    sent = {"type": "PII", "remove": [{"what": "event", "seq": 2}]}
    made = ok(api.post(f"sessions/{session.pk}/redactions", sent), 201)
    assert json.loads(fetch(api, made["download"]).file)["redacted"] == {"type": "PII"}
    assert made["filename"].startswith("redacted-")
