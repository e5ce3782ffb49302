"""Signed exports get receipts of a transparency service, whatever it answers; a wrong receipt is never kept."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from cbor2 import dumps as cbor
from cryptography.hazmat.primitives.asymmetric import ec
from django.utils import timezone

from sessions_app.services import audit
from tests.fakes.transparency_service import COSE, later, says, slowly
from tests.signing.make import public_pem
from vcon_app import tasks
from vcon_app.models import Export, Registration
from vcon_app.queries import registrations
from vcon_app.services.erasure import erasing
from vcon_app.services.exports import export_jobs
from vcon_app.services.transparency import registering, scrapi
from vcon_app.services.trust import own_keys
from vcon_app.signing import cose, statement, transparency

from .conftest import export_of, tried

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]


def test_a_signed_export_is_registered_by_its_hash_alone(session, service):
    export = export_of(session, signed=True)
    row = tried()
    content = export_jobs.open_file(export).read()
    assert (row.status, row.fault, row.sha256) == ("registered", "", hashlib.sha256(content).hexdigest())
    sent = service.log[-1]
    said = cose.parse(sent)
    assert statement.digest_of(sent) == hashlib.sha256(content).digest() and len(sent) < 2_000
    assert said.header[cose.CLAIMS] == {1: "Countersign", 2: f"urn:uuid:{export.identity['uuid']}"}
    assert cose.check(said, [own_keys.own_anchor()], timezone.now())[0].state == "valid"
    assert service.headers[0]["Content-Type"] == "application/cose"
    assert tried().receipt and len(service.asked) == 1, "it is asked once"


def test_the_statement_with_its_receipt_is_checked_offline_by_others(session, service):
    export_of(session, signed=True)
    carried = registrations.transparent_statement(tried())
    bare, [receipt] = transparency.receipts_of(carried)
    assert bare == service.log[-1]
    assert transparency.check(receipt, [bare], registering.service_keys(), timezone.now()).state == "valid"


def test_what_is_not_signed_is_not_registered_nor_anything_without_the_setting(session, service, settings):
    export_of(session)
    settings.TRANSPARENCY_URL = None
    export_of(session, signed=True)
    assert not Registration.objects.exists() and tasks.take_receipts() == 0


def test_the_same_file_taken_twice_is_registered_once(session, service):
    export_of(session, signed=True)
    export_of(session, signed=True)
    assert tried().status == "registered" and Export.objects.count() == 2


@pytest.mark.parametrize("status", [202, 302, 303, 201])
def test_a_receipt_that_is_not_ready_is_asked_for_where_the_service_says(session, service, status):
    service.answers = [later(status), later(302), later(303, location="/entries/7"), later(202, location="")]
    export_of(session, signed=True)
    assert (tried().status, tried(3).status) == ("pending", "pending")
    assert tried().status == "registered"
    places = ["/entries", "/entries/operation-1", "/entries/operation-1", "/entries/7", "/entries/7"]
    assert [place for _, place in service.asked] == places


def test_the_service_says_when_to_ask_again_and_is_not_asked_before(session, service):
    service.answers = [later(303, wait="120")]
    export_of(session, signed=True)
    tasks.take_receipts()
    due = Registration.objects.get().next_try_at - timezone.now()
    assert timedelta(seconds=60) < due <= timedelta(seconds=120)
    assert tasks.take_receipts() == 0 and len(service.asked) == 1


@pytest.mark.parametrize("said", ["Wed, 01 Jan 2200 00:00:00 GMT", "9" * 400, "99999999"])
def test_no_service_makes_anybody_wait_longer_than_an_hour(said):
    assert scrapi._wait(said) == timedelta(hours=1)


@pytest.mark.parametrize("said", ["", "soon", "-5", "²", "Wed, 01 Jan 1200 00:00:00 GMT"])
def test_a_time_to_wait_that_means_nothing_is_none_of_ours(said):
    assert scrapi._wait(said) in (None, timedelta(0))


def test_a_killed_worker_leaves_a_pending_registration_that_goes_on(session, service):
    service.answers = [later(303)]
    export_of(session, signed=True)
    tried()
    Registration.objects.update(next_try_at=timezone.now() + registering.CLAIMED_FOR)  # claimed, then killed
    assert tasks.take_receipts() == 0
    assert tried().status == "registered"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says(400, cbor({-1: "Rejected", -2: "Not accepted\nby policy"}), content_type=scrapi.PROBLEM_CBOR),
         "400: Rejected: Not accepted by policy"),
        (says(403, b'{"title": "No", "detail": "key unknown"}', content_type=scrapi.PROBLEM_JSON),
         "403: No: key unknown"),
        (says(422, b"\xff\x00 garbage", content_type=scrapi.PROBLEM_CBOR), "answers 422"),
        (says(404), "answers 404"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_the_service_s_words_and_not_tried_again(session, service, reply, words):
    service.answers = [reply]
    export_of(session, signed=True)
    row = tried()
    assert (row.status, row.next_try_at) == ("refused", None) and words in row.fault
    assert tried().status == "refused" and len(service.asked) == 1
    assert words in registering.notice()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (says(500), "answers 500"),
        (says(503, retry_after="0"), "answers 503"),
        (says(429), "answers 429"),
        (says(418 + 200), "answers 618"),
        (says(201), "without a place"),
        (says(303), "without a place"),
        (later(303, location="http://169.254.169.254/latest"), "another host"),
        (later(302, location="http://[::1"), "another host"),
        (says(201, b"<html>Welcome</html>"), "cannot be read"),
        (says(201, b"\xd2\x84"), "cannot be read"),
        (says(201, b"x" * (scrapi.MOST_BYTES + 1)), "more than"),
        (lambda service, sent: (201, COSE, service.receipt(b"another statement")), "invalid"),
        (lambda service, sent: (201, COSE, service.receipt(sent, ec.generate_private_key(ec.SECP256R1()))), "invalid"),
        (lambda service, sent: (201, COSE, sent), "not kept"),
    ],
)  # fmt: skip
def test_what_is_no_receipt_is_not_kept_and_asked_for_again(session, service, reply, words):
    service.answers = [reply]
    export_of(session, signed=True)
    row = tried()
    assert (row.status, row.receipt, row.failures) == ("waiting", None, 1) and words in row.fault
    assert words in registering.notice()
    assert tried().status == "registered" and registering.notice() is None


def test_waits_grow_with_each_failure_up_to_an_hour(session, service):
    service.answers = [says(500)] * 3
    export_of(session, signed=True)
    assert tried(3).next_try_at - timezone.now() > timedelta(seconds=45)
    Registration.objects.update(failures=40)
    service.answers = [says(500)]
    assert timedelta(minutes=59) < tried().next_try_at - timezone.now() <= timedelta(hours=1)


def test_a_registration_that_the_service_forgot_is_made_anew(session, service):
    service.answers = [later(303), says(404)]
    export_of(session, signed=True)
    assert (tried(2).status, Registration.objects.get().location) == ("waiting", "")
    assert tried().status == "registered"
    assert [method for method, _ in service.asked] == ["POST", "GET", "POST"]


def test_a_registration_that_failed_while_it_ran_is_refused(session, service):
    service.answers = [later(303), says(400, b'{"detail": "policy"}', content_type=scrapi.PROBLEM_JSON)]
    export_of(session, signed=True)
    assert tried(2).status == "refused"


def test_a_slow_or_absent_service_holds_nobody(session, service, settings, monkeypatch):
    monkeypatch.setattr(scrapi, "SECONDS", 0.2)
    service.answers = [slowly(1)]
    export = export_of(session, signed=True)
    assert export.status == "done"
    assert "ReadTimeout" in tried().fault
    Registration.objects.update(service="http://127.0.0.1:9")
    assert "ConnectError" in tried().fault


def test_keys_that_are_put_right_let_the_receipt_in(session, service):
    right = service.keys.read_text()
    service.keys.write_text(public_pem(ec.generate_private_key(ec.SECP256R1())))
    export_of(session, signed=True)
    assert "not kept" in tried().fault
    service.keys.write_text("nonsense")
    assert "COUNTERSIGN_TRANSPARENCY_KEYS" in tried().fault and "cannot be used" in registering.notice()
    other = public_pem(ec.generate_private_key(ec.SECP256R1()))
    service.keys.write_text(other + right)
    assert tried().status == "registered"


def test_a_registration_goes_with_its_session(session, service):
    export_of(session, signed=True)
    erasing.erase_session(session, by=audit.COMMAND)
    assert not Registration.objects.exists() and tasks.take_receipts() == 0
