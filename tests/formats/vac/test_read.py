"""Bare VAC records in every form they come in, and files made to hurt."""

import gzip
import hashlib
import io
import json

import pytest

from vcon_app.drafts import Finding, FormatError, Signature
from vcon_app.formats import vac
from vcon_app.formats.common.head import SIZES, Head
from vcon_app.signing.keys import anchor_of

from ...signing.make import AT, ed_key, public_pem, sign
from ..reads import assert_sound, mutants
from ..vcon_tools import SAMPLES as VCONS
from ..vcon_tools import model
from .tools import SAMPLE, cbor, drafts, record, session_and_events, sign1

CLAIMS = {1: "keeper", 2: "harbour-7"}


def told(document):
    session, events = session_and_events(document)
    return session.external_id, session.model, session.started_at, session.ended_at, list(map(model, events))


def metadata_for(payload):
    return {
        "session-id": "harbour-7",
        "trace-format": "ietf-vac-v3.0",
        "content-hash": hashlib.sha256(payload).hexdigest(),
    }


def forms():
    plain = SAMPLE.read_bytes()
    binary = cbor(record())
    return {
        "gzip": (gzip.compress(plain), ["gzip"]),
        "cbor": (binary, ["cbor"]),
        "tagged cbor": (b"\xd9\x10\x35" + binary, ["cbor"]),
        "gzipped cbor": (gzip.compress(binary), ["gzip", "cbor"]),
        "signed json": (sign1(plain, CLAIMS, metadata_for(plain)), ["cose"]),
        "signed cbor": (sign1(binary, CLAIMS, metadata_for(binary)), ["cose", "cbor"]),
        "bom": (b"\xef\xbb\xbf" + plain, None),
    }


@pytest.mark.parametrize("name", forms())
def test_every_form_of_a_record_tells_the_same(name):
    data, chain = forms()[name]
    assert vac.detect(Head(data, SIZES[0]))
    assert told(data) == told(record())
    assert session_and_events(data)[0].metadata["vac"].get("forms") == chain


def test_a_signature_is_told_and_called_unchecked_with_what_it_claims():
    payload = SAMPLE.read_bytes()
    found = drafts(sign1(payload, CLAIMS, metadata_for(payload)))
    (signature,) = [draft for draft in found if isinstance(draft, Signature)]
    assert signature.state == "uncheckable" and signature.signer is None
    assert "'keeper'" in signature.detail and signature.uncovered
    assert [draft.severity for draft in found if isinstance(draft, Finding) and draft.rule == "R97"] == ["info"]
    assert session_and_events(sign1(payload, CLAIMS, {"agent-vendor": "x"}))[0].metadata["vac"]["claims"] == {
        "agent-vendor": "x"
    }


def test_only_what_is_signed_has_a_signature_to_be_verified():
    payload, key = SAMPLE.read_bytes(), ed_key()
    protected = cbor({1: -8, 15: CLAIMS})
    value = sign("EdDSA", key, cbor(["Signature1", protected, b"", payload]))
    whole = b"\xd2" + cbor([protected, {100: {}}, payload, value])
    known = [anchor_of(public_pem(key), "keeper")]

    assert vac.verify(io.BytesIO(payload), known, AT) == (Signature(), [])
    assert vac.verify(io.BytesIO(whole), known, AT)[0].state == "valid"
    assert vac.verify(io.BytesIO(whole), known, AT)[0].uncovered
    assert vac.verify(io.BytesIO(gzip.compress(whole)), [], AT)[0].state == "uncheckable"
    changed = whole.replace(b"blinks twice", b"blinks often")
    assert vac.verify(io.BytesIO(changed), known, AT)[0].state != "valid"
    with pytest.raises(FormatError, match="no COSE_Sign1"):
        vac.verify(io.BytesIO(b"\xd2\x84"), [], AT)


def test_a_payload_of_another_hash_is_noticed():
    found = drafts(sign1(SAMPLE.read_bytes(), CLAIMS, metadata_for(b"another")))
    assert "changed or exchanged" in next(
        f.message for f in found if isinstance(f, Finding) and f.severity == "warning"
    )


def test_a_session_id_of_bytes_is_kept_as_text():
    changed = record()
    changed["session"]["session-id"] = b"\x01\xff"
    assert session_and_events(cbor(changed))[0].external_id == "Af8"


def test_numbers_below_epoch_milliseconds_are_seconds_and_complained_about():
    changed = record()
    changed["session"]["entries"][1]["timestamp"] = 1772528402
    _, events = session_and_events(changed)
    assert events[1].at == session_and_events(record())[1][1].at
    assert any(isinstance(draft, Finding) and draft.rule == "R65" for draft in drafts(changed))


def test_without_a_session_id_the_record_id_names_the_session():
    changed = record()
    del changed["session"]["session-id"]
    assert session_and_events(changed)[0].external_id == "harbour-record-1"
    del changed["id"]
    name = session_and_events(changed)[0].external_id
    changed["session"]["entries"].pop()
    assert name.startswith("sha256:") and session_and_events(changed)[0].external_id != name


REFUSED = [
    (b"", "empty"),
    (b"{", "not JSON"),
    (b"[]", "not a map"),
    (b"{}", "no session with entries"),
    (b'{"version":"1","id":"x","session":{"session-id":"s"}}', "no session with entries"),
    (b"\xa1", "CBOR"),
    (b"\xbf" * 1000, "deeper"),
    (b"\xd2" + cbor([b"", {}, None, b""]), "detached"),
    (b"\xd2" + cbor([b"", {}, "!", b""]), "no byte string"),
    (sign1(b"nonsense", CLAIMS, {}), "not JSON"),
    (gzip.compress(b" " * 80_000_000), "decompression bomb"),
    (b'{"session":' * 100_000, "not a readable VAC record: nested deeper than 200 levels"),
]


@pytest.mark.parametrize(("data", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_file_without_a_record_is_refused_with_the_reason(data, reason):
    with pytest.raises(FormatError, match=reason):
        drafts(data)


def test_a_detached_signature_is_recognised_so_that_the_reason_can_be_told():
    assert vac.detect(Head(sign1(None, CLAIMS, {"session-id": "harbour-7"})))


def test_a_record_with_odd_values_anywhere_is_read_or_refused():
    for changed in mutants(record()):
        try:
            found = drafts(changed)
        except FormatError:
            continue
        assert_sound(found)


@pytest.mark.parametrize("path", sorted(VCONS.glob("*.vcon")), ids=lambda path: path.name)
def test_no_vcon_is_taken_for_a_record(path):
    assert not vac.detect(Head(path.read_bytes()))


@pytest.mark.parametrize(
    "other",
    [
        {"session": {"entries": []}, "feed_type": "session"},
        {"session": "x", "version": "1"},
        {"version": 1},
        {"session": {}},
    ],
)
def test_file_that_only_contains_a_session_is_not_claimed(other):
    assert not vac.detect(Head(json.dumps(other).encode()))
