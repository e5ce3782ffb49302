"""Exports that only their recipients can read: signed first, and opened by our importer and by hand."""

from __future__ import annotations

import base64
import hmac
import json
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import padding as blocks
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from django.core.management import call_command
from django.core.management.base import CommandError

from sessions_app.models import AuditEntry, Session
from sessions_app.services import audit
from tests.places import DOCS
from vcon_app import registry
from vcon_app.formats import vcon
from vcon_app.formats.common.head import SIZES, Head
from vcon_app.models import Export
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.services.trust import anchors, recipients
from vcon_app.signing import jwe
from vcon_app.signing.keys import anchor_of

from ...signing.make import AT, VCON, ec_key, ed_key, owner, private_pem, public_pem, rsa_key

ANA, BO = rsa_key(4), rsa_key(5)


def trusted(*keys):
    return [anchor_of(public_pem(key), f"key {number}") for number, key in enumerate(keys)]


@pytest.fixture
def own(settings, tmp_path):
    """The key that signs here."""
    settings.SIGNING_KEY, settings.SIGNING_CERTIFICATES = tmp_path / "own.key", tmp_path / "own.pem"
    settings.SIGNING_KEY.write_text(private_pem(rsa_key()))
    settings.SIGNING_CERTIFICATES.write_text(owner("desk.example", rsa_key()).pem)


@pytest.fixture
def imported_session(workspace, import_document, own) -> Session:
    import_document(VCON)
    return Session.objects.get()


def sealed(session: Session, **options) -> bytes:
    made = export_jobs.start_export(session, "vcon", by=audit.COMMAND, options=options)
    assert (made.status, made.error) == (Export.Status.DONE, None)
    return export_jobs.open_file(made).read()


def unbase64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def opened(document: dict, key) -> bytes:
    """By hand, after RFC 7516 s5.2 and RFC 7518 s5.2, with nothing of ours."""
    [wrapped] = [one["encrypted_key"] for one in document["recipients"] if _is_for(one, key)]
    secret = key.decrypt(unbase64(wrapped), padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None))
    iv, text = unbase64(document["iv"]), unbase64(document["ciphertext"])
    aad = document["protected"].encode()
    tag = hmac.digest(secret[:32], aad + iv + text + (8 * len(aad)).to_bytes(8, "big"), "sha512")[:32]
    assert tag == unbase64(document["tag"])
    decryptor, unpadder = Cipher(algorithms.AES(secret[32:]), modes.CBC(iv)).decryptor(), blocks.PKCS7(128).unpadder()
    return unpadder.update(decryptor.update(text) + decryptor.finalize()) + unpadder.finalize()


def _is_for(recipient: dict, key) -> bool:
    try:
        key.decrypt(
            unbase64(recipient["encrypted_key"]), padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
        )
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("key", [ANA, BO], ids=["first", "second"])
def test_each_recipient_decrypts_the_export_to_the_signed_form(imported_session, key):
    document = json.loads(sealed(imported_session, encrypt_for=trusted(ANA, BO)))
    inside = json.loads(opened(document, key))

    assert inside.keys() == {"payload", "signatures"}
    uuid = json.loads(unbase64(inside["payload"]))["uuid"]
    assert document["unprotected"] == {"cty": "application/vcon", "uuid": uuid}
    assert [one["header"] for one in document["recipients"]] == [{"alg": "RSA-OAEP"}] * 2
    assert json.loads(unbase64(document["protected"])) == {"enc": "A256CBC-HS512"}


def test_header_names_of_an_encrypted_export_do_not_repeat():
    """RFC 7516 s7.2.1: strict libraries refuse the official example because of it."""
    made = jwe.encrypt(b"It does.", [ANA.public_key()], VCON["uuid"], "application/vcon")
    names = [*json.loads(unbase64(made["protected"])), *made["unprotected"], *made["recipients"][0]["header"]]
    assert len(names) == len(set(names)) == 4


def test_encrypted_export_is_imported_again_with_the_configured_key(
    imported_session, import_document, settings, tmp_path
):
    settings.DECRYPTION_KEY = tmp_path / "ana.key"
    settings.DECRYPTION_KEY.write_text(private_pem(ANA))
    back = import_document(sealed(imported_session, encrypt_for=trusted(BO, ANA)), "sealed.vcon")

    assert (back.status, back.events) == ("done", imported_session.event_count)
    assert (back.signature["state"], back.signature["signer"]) == ("valid", "this installation")


def test_export_encrypted_for_somebody_else_fails_as_encrypted(imported_session, import_document):
    closed = import_document(sealed(imported_session, encrypt_for=trusted(ANA)))
    assert (closed.status, closed.signature["state"]) == ("failed", "encrypted")


def test_repeated_export_keeps_its_uuid_whether_encrypted_or_not(imported_session):
    plain = json.loads(sealed(imported_session))
    signed = json.loads(sealed(imported_session, signed=True))
    twice = [json.loads(sealed(imported_session, encrypt_for=trusted(ANA))) for _ in range(2)]

    uuids = {one["unprotected"]["uuid"] for one in twice} | {signed["signatures"][0]["header"]["uuid"], plain["uuid"]}
    assert len(uuids) == 1
    assert twice[0]["ciphertext"] != twice[1]["ciphertext"]


def test_one_key_given_twice_is_one_recipient(imported_session):
    assert len(json.loads(sealed(imported_session, encrypt_for=trusted(ANA, ANA)))["recipients"]) == 1


def expired():
    return owner("Former auditor", ANA, dates=(datetime(2020, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, tzinfo=UTC)))


def early():
    return owner("Next auditor", ANA, dates=(datetime(2098, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)))


@pytest.mark.parametrize(
    ("options", "says", "parameter"),
    [
        ({"encrypt_for": trusted(ec_key())}, '"key 0": its key is secp256r1, and RSA-OAEP needs an RSA', "encrypt_for"),
        ({"encrypt_for": trusted(ANA, ed_key())}, '"key 1": its key is Ed25519', "encrypt_for"),
        ({"encrypt_for": [expired().anchor]}, "its certificate expired on 1 January 2021", "encrypt_for"),
        ({"encrypt_for": [early().anchor]}, "its certificate is valid only from 1 January 2098", "encrypt_for"),
        ({"encrypt_for": trusted(ANA) * 51}, "51 recipients are too many", "encrypt_for"),
        ({"encrypt_for": trusted(ANA), "signed": "false"}, "is signed first", "signed"),
    ],
)
def test_recipient_whose_key_cannot_encrypt_is_refused(imported_session, options, says, parameter):
    with pytest.raises(export_options.CannotExport, match=says) as refused:
        export_jobs.start_export(imported_session, "vcon", by=audit.COMMAND, options=options)
    assert refused.value.parameter == parameter
    assert not Export.objects.exists()


@pytest.mark.parametrize("format", ["original", "html", "llmfeed"])
def test_a_format_without_an_encrypted_form_says_which_has_one(imported_session, format):
    with pytest.raises(export_options.CannotExport, match="has no encrypted form; these have: vcon"):
        export_jobs.start_export(imported_session, format, by=audit.COMMAND, options={"encrypt_for": trusted(ANA)})


def test_running_session_is_not_encrypted_because_it_cannot_be_signed(imported_session):
    imported_session.phase = Session.Phase.ACTIVE
    with pytest.raises(export_options.CannotExport, match="still goes on"):
        export_jobs.start_export(imported_session, "vcon", by=audit.COMMAND, options={"encrypt_for": trusted(ANA)})


def test_recipients_of_an_encrypted_export_are_in_the_audit_log(imported_session):
    sealed(imported_session, encrypt_for=trusted(ANA))
    details = AuditEntry.objects.get(action="session.exported").details
    assert (details["signed"], [name[:7] for name in details["encrypted_for"]]) == (True, ["key 0 ("])
    assert "BEGIN" not in json.dumps(details)


def test_a_recipient_stays_one_when_the_anchor_is_removed_before_a_worker_writes(
    workspace, imported_session, monkeypatch, django_capture_on_commit_callbacks
):
    row = anchors.add(workspace, public_pem(ANA), name="Ana", by=audit.COMMAND)
    monkeypatch.setattr(export_jobs, "INLINE_EVENTS", 0)
    with django_capture_on_commit_callbacks():
        waiting = export_jobs.start_export(
            imported_session,
            "vcon",
            by=audit.COMMAND,
            options={"encrypt_for": recipients.recipients_named(workspace.pk, [str(row.pk)])},
        )
        anchors.remove(row, by=audit.COMMAND)
    export_jobs.run(waiting.pk)
    assert opened(json.loads(export_jobs.open_file(waiting).read()), ANA)


def test_recipients_are_listed_with_the_reason_why_one_cannot_receive(workspace, own):
    anchors.add(workspace, public_pem(ANA), name="Ana", by=audit.COMMAND)
    anchors.add(workspace, public_pem(ec_key()), name="Recorder", by=audit.COMMAND)
    told = {one.row.name: one.reason for one in recipients.candidates(workspace.pk)}
    assert told == {"Ana": "", "Recorder": "its key is secp256r1, and RSA-OAEP needs an RSA key"}


def test_the_command_encrypts_for_several(imported_session, tmp_path):
    for name, key in (("ana", ANA), ("bo", BO)):
        (tmp_path / f"{name}.pem").write_text(owner(name, key).pem)
    target = tmp_path / "out.vcon"
    call_command(
        "export", str(imported_session.id), "--format", "vcon", "--output", str(target),
        "--encrypt-for", str(tmp_path / "ana.pem"), "--encrypt-for", str(tmp_path / "bo.pem"),
    )  # fmt: skip

    document = json.loads(target.read_bytes())
    assert opened(document, ANA) == opened(document, BO)
    (tmp_path / "inside.vcon").write_bytes(opened(document, ANA))
    signer = owner("desk.example", rsa_key()).anchor
    assert vcon.verify((tmp_path / "inside.vcon").open("rb"), [signer], AT)[0].state == "valid"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "No such file"),
        ("no key", "This is not PEM"),
        (private_pem(ANA), "private key"),
        (public_pem(ec_key()), "RSA"),
    ],
)
def test_export_command_refuses_an_invalid_recipient_key(imported_session, tmp_path, content, says):
    path = tmp_path / "one.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(CommandError, match=says):
        call_command("export", str(imported_session.id), "--format", "vcon", "--encrypt-for", str(path))


def test_only_formats_that_can_be_signed_can_be_encrypted():
    assert export_options.encrypting_formats() == ["vcon"]


def test_large_encrypted_file_is_recognised_by_its_head():
    document = jwe.encrypt(bytes(2_000_000), [ANA.public_key()], VCON["uuid"], "application/vcon")
    data = json.dumps(document).encode()
    for size in SIZES[:2]:
        assert registry.claims(Head(data[:size], size), registry.readers()) == ["vcon"]


def test_a_recipient_opens_it_by_what_the_docs_say(imported_session, tmp_path):
    said = (DOCS / "bundle.md").read_text(encoding="utf-8").partition("## For certain readers alone")[2]
    script = re.search(r"```python\n(.+?)```", said, re.DOTALL)
    assert script
    names = ("open.py", "session.vcon", "ana.key", "bo.key", "opened.vcon")
    program, sealed_file, ana, bo, target = (tmp_path / name for name in names)
    program.write_text(script[1])
    ana.write_text(private_pem(ANA))
    bo.write_text(private_pem(BO))
    sealed_file.write_bytes(sealed(imported_session, encrypt_for=trusted(ANA)))
    for key, status in ((bo, 1), (ana, 0)):
        ran = subprocess.run([sys.executable, program, sealed_file, key, target], capture_output=True, check=False)
        assert (ran.returncode, target.exists()) == (status, status == 0), ran.stderr
    assert {"payload", "signatures"} <= set(json.loads(target.read_bytes()))
