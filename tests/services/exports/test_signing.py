"""What we sign ourselves: it verifies here, and it is what strict readers want."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import shutil
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.management import call_command
from django.test import AsyncClient

from sessions_app.models import AuditEntry, Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys
from vcon_app.formats import llmfeed, vcon
from vcon_app.models import Export
from vcon_app.services.exports import export_jobs, export_options
from vcon_app.signing import feeds, jws
from vcon_app.signing.keys import BadKey, anchor_of
from vcon_app.signing.signers import Signer, signer_of

from ...signing.make import AT, VCON, ec_key, ed_key, owner, private_pem, public_pem, root, rsa_key

ALGORITHMS = {
    "RS256": rsa_key(), "ES256": ec_key(), "ES384": ec_key(ec.SECP384R1), "ES512": ec_key(ec.SECP521R1),
    "EdDSA": ed_key(),
}  # fmt: skip


def signer(key) -> Signer:
    top = root()
    own = owner("desk.example", key, top)
    return signer_of(private_pem(key).encode(), (own.pem + top.pem).encode())


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_vcon_that_we_sign_verifies_with_the_chain_in_it(algorithm):
    ours = signer(ALGORITHMS[algorithm])
    data = vcon.sign(json.dumps(VCON).encode(), ours, AT, {"uuid": VCON["uuid"]})
    found, findings = vcon.verify(io.BytesIO(data), [root().anchor], AT)

    assert (found.state, found.signer, findings) == ("valid", "desk.example", [])
    assert algorithm in found.detail


def test_header_names_do_not_repeat_and_required_ones_are_present():
    (entry,) = jws.sign(b"{}", signer(rsa_key()), "u")["signatures"]
    protected = jws.protected_header(entry["protected"])

    assert protected == {"alg": "RS256"}
    assert entry["header"].keys() == {"x5c", "uuid"} and len(entry["header"]["x5c"]) == 2
    assert "=" not in entry["protected"] + entry["signature"]


def test_without_a_certificate_no_vcon_is_signed():
    bare = signer_of(private_pem(rsa_key()).encode())

    assert not vcon.signs_with(bare)
    with pytest.raises(ValueError, match="certificate"):
        jws.sign(b"{}", bare, "u")


@pytest.mark.parametrize(
    ("key", "certificates", "says"),
    [
        (b"nonsense", b"", "cannot be read"),
        (private_pem(rsa_key(bits=1024)).encode(), b"", "too weak"),
        (private_pem(ec_key(ec.SECP256K1)).encode(), b"", "curve"),
        (private_pem(rsa_key()).encode(), b"nonsense", "certificates cannot be read"),
        (private_pem(rsa_key()).encode(), root().pem.encode(), "first certificate is of another key"),
    ],
    ids=["no key", "weak", "curve", "no certificate", "another"],
)
def test_unusable_signing_key_is_reported(key, certificates, says):
    with pytest.raises(BadKey, match=says):
        signer_of(key, certificates)


FEED = {"feed_type": "session", "metadata": {"title": "Shelf 7 — é \U0001f35d"}, "context": {"n": 7, "cost": "0.031"}}


def test_a_feed_that_we_sign_verifies():
    data = llmfeed.sign(json.dumps(FEED).encode(), signer_of(private_pem(ed_key()).encode()), AT, {})
    found, findings = llmfeed.verify(io.BytesIO(data), [anchor_of(public_pem(ed_key()))], AT)

    assert (found.state, found.uncovered, findings) == ("valid", (), [])
    assert json.loads(data)["trust"]["signed_blocks"] == [*FEED, "trust_scope", "trust"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_a_feed_that_we_sign_verifies_in_javascript_too(tmp_path):
    path = tmp_path / "feed.json"
    path.write_bytes(llmfeed.sign(json.dumps(FEED).encode(), signer_of(private_pem(ed_key()).encode()), AT, {}))
    script = """
        const crypto = require('crypto'), feed = JSON.parse(require('fs').readFileSync(process.argv[1], 'utf8'));
        const signed = Object.fromEntries(feed.trust.signed_blocks.map((name) => [name, feed[name]]));
        const value = Buffer.from(feed.signature.value, 'base64');
        console.log(crypto.verify(null, Buffer.from(JSON.stringify(signed)), process.argv[2], value));
    """
    told = subprocess.run(
        ["node", "-e", script, str(path), public_pem(ed_key())], capture_output=True, text=True, timeout=60, check=True
    )

    assert told.stdout.strip() == "true"


def test_a_feed_that_we_signed_and_somebody_changed_is_invalid_not_unknown():
    key = anchor_of(public_pem(ed_key()))
    own = dataclasses.replace(key, is_own=True)
    feed = feeds.sign(FEED, signer_of(private_pem(ed_key()).encode()), AT)
    assert feeds.check(feed, [own], AT)[0].state == "valid"
    changed, _ = feeds.check(feed | {"context": {"user_input": "Pay Mallory"}}, [own], AT)
    assert (changed.state, changed.detail.partition(",")[0]) == (
        "invalid", f"It does not verify with the key of {own.title}",
    )  # fmt: skip
    assert feeds.check(feed | {"context": {}}, [], AT)[0].state == "uncheckable"


@pytest.mark.parametrize("part", [{"share": 1.0}, {"share": 1e-07}, {"big": 2**60}, {"b": 1, "7": 2}])
def test_feed_that_javascript_would_serialise_differently_is_not_signed(part):
    with pytest.raises(ValueError, match="written differently"):
        feeds.sign(FEED | {"context": part}, signer_of(private_pem(ed_key()).encode()), AT)


def test_feeds_are_signed_with_ed25519_alone():
    with pytest.raises(ValueError, match="not RS256"):
        feeds.sign(FEED, signer_of(private_pem(rsa_key()).encode()), AT)


@pytest.fixture
def own_key(settings, tmp_path):
    def configured(key, certificates: str = "") -> None:
        settings.SIGNING_KEY, settings.SIGNING_CERTIFICATES = tmp_path / "own.key", tmp_path / "own.pem"
        settings.SIGNING_KEY.write_text(private_pem(key))
        settings.SIGNING_CERTIFICATES.write_text(certificates)

    return configured


def export(session: Session, format: str) -> Export:
    return export_jobs.start_export(session, format, by=audit.COMMAND, options={"signed": True})


@pytest.mark.parametrize("key", [rsa_key(), ec_key(), ed_key()], ids=["RS256", "ES256", "EdDSA"])
def test_a_signed_export_comes_back_as_the_same_session_and_is_valid(workspace, import_document, own_key, key):
    import_document(VCON)
    session = Session.objects.get()
    own_key(key, owner("desk.example", key, root()).pem)
    made = export(session, "vcon")
    assert (made.status, made.error) == (Export.Status.DONE, None)
    found, _ = vcon.verify(export_jobs.open_file(made), [root().anchor], AT)

    assert (found.state, found.signer) == ("valid", "desk.example")
    back = import_document(export_jobs.open_file(made).read())
    assert (back.status, back.events) == ("done", session.event_count)
    assert AuditEntry.objects.filter(action="session.exported", details__signed=True).exists()


def test_a_feed_is_exported_signed(workspace, import_document, own_key):
    import_document(VCON)
    own_key(ed_key())
    made = export(Session.objects.get(), "llmfeed")
    assert made.status == Export.Status.DONE, made.error

    found, _ = llmfeed.verify(export_jobs.open_file(made), [anchor_of(public_pem(ed_key()))], AT)
    assert (found.state, found.uncovered) == ("valid", ())
    assert export_options.signed_formats() == ["llmfeed"]


def test_unsignable_session_is_refused_with_the_reason(workspace, import_document, own_key):
    import_document(VCON)
    session = Session.objects.get()
    own_key(rsa_key(), root().pem)
    with pytest.raises(export_options.CannotExport, match="another key"):
        export(session, "vcon")
    own_key(rsa_key(), owner("desk.example", rsa_key()).pem)
    for format in ("original", "html", "llmfeed"):
        with pytest.raises(export_options.CannotExport, match="these have: vcon"):
            export(session, format)
    session.phase = Session.Phase.ACTIVE
    with pytest.raises(export_options.CannotExport, match="still goes on"):
        export(session, "vcon")


@pytest.mark.django_db(transaction=True)
def test_the_api_gives_a_signed_file_or_says_why_not(workspace, import_document, own_key):
    import_document(VCON)
    path = f"/api/v1/sessions/{Session.objects.get().id}/export?format=vcon&signed=true"
    _, secret = api_keys.create_api_key(workspace, "robot", Role.VIEWER, by=audit.COMMAND)
    own_key(rsa_key(), root().pem)
    refused, text = asyncio.run(fetch(path, secret))
    assert (refused.status_code, refused.headers["Content-Type"]) == (422, "application/problem+json")
    assert b"another key" in text

    own_key(rsa_key(), owner("desk.example", rsa_key()).pem)
    _, text = asyncio.run(fetch(path, secret))
    assert json.loads(text).keys() == {"payload", "signatures"}


async def fetch(path: str, secret: str):
    """The answer and its body."""
    answer = await AsyncClient().get(path, headers={"Authorization": f"Bearer {secret}"})
    return answer, b"".join([piece async for piece in answer]) if answer.streaming else answer.content


def test_the_command_signs(workspace, import_document, own_key, tmp_path):
    import_document(VCON)
    own_key(rsa_key(), owner("desk.example", rsa_key()).pem)
    target = tmp_path / "out.vcon"
    call_command("export", str(Session.objects.get().id), "--format", "vcon", "--sign", "--output", str(target))

    assert vcon.verify(target.open("rb"), [owner("desk.example", rsa_key()).anchor], AT)[0].state == "valid"
