"""COSE_Sign1: the record inside or apart, and what is only claimed."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cbor2 import dumps as cbor

from vcon_app.signing import cose
from vcon_app.signing.keys import anchor_of

from .make import AT, CORPUS, ec_key, ed_key, needs_corpus, public_pem, recorder, root, rsa_key, sign

DERIVED = CORPUS / "vcon-spec-examples" / "vac-derived"
RECORD = b'{"session":{"entries":[]},"version":"3.0.0-draft"}'


def envelope(
    key: Any, algorithm: str = "EdDSA", label: int = -8, *, payload=RECORD, detached=False, header=None, outer=None
):
    protected = cbor({1: label, 15: {1: "recorder.example", 2: "session"}} | (header or {}))
    value = sign(algorithm, key, cbor(["Signature1", protected, b"", payload]))
    return b"\xd2" + cbor([protected, outer or {}, None if detached else payload, value])


def state(data: bytes, *anchors, detached=None) -> str:
    return cose.check(cose.parse(data), anchors, AT, detached)[0].state


@pytest.mark.parametrize(
    ("key", "algorithm", "label"),
    [(ed_key(), "EdDSA", -8), (ec_key(), "ES256", -7), (rsa_key(), "PS256", -37), (rsa_key(), "RS256", -257)],
    ids=["EdDSA", "ES256", "PS256", "RS256"],
)
@pytest.mark.parametrize("size", [0, 23, 24, 255, 256, 70_000])
def test_a_record_of_any_size_verifies_with_a_trusted_key(key, algorithm, label, size):
    data = envelope(key, algorithm, label, payload=b"x" * size)

    assert state(data, anchor_of(public_pem(key))) == "valid"
    assert state(data) == "uncheckable"
    assert state(data, recorder(key=rsa_key(2)).anchor) == "uncheckable"


def test_detached_payload_has_to_match_to_the_byte():
    data, key = envelope(ed_key(), detached=True), anchor_of(public_pem(ed_key()))

    assert state(data, key) == "uncheckable"
    assert state(data, key, detached=RECORD) == "valid"
    assert state(data, key, detached=RECORD + b"\n") == "invalid"


def test_a_chain_in_the_envelope_is_judged_like_any_other():
    top = root()
    by = recorder(top)
    der = base64.b64decode(by.x5c)
    data = envelope(by.key, "RS256", -257, outer={33: [der]})

    assert state(data) == "valid_untrusted"
    assert state(data, top.anchor) == "valid"
    assert state(data.replace(b"entries", b"Entries"), top.anchor) == "invalid"


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ({2: [1]}, "invalid"),
        ({1: 5}, "uncheckable"),
        ({1: -65535}, "uncheckable"),
        ({1: {}}, "uncheckable"),
        ({33: 7}, "uncheckable"),
    ],
)
def test_unknown_cose_headers_are_not_called_valid(header, wanted):
    assert state(envelope(ed_key(), header=header), anchor_of(public_pem(ed_key()))) == wanted


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xd2",
        b"\xd2\x80",
        cbor([b"", {}, b""]),
        cbor([1, 2, 3, 4]),
        cbor([b"\xff", {}, b"", b""]),
        b"{}",
    ],
)
def test_malformed_cose_envelope_is_refused(data):
    with pytest.raises(cose.NotSign1):
        cose.parse(data)


@needs_corpus
def test_the_envelopes_of_the_corpus_have_their_outcome():
    key = anchor_of((DERIVED / "cursor-composer-1-5.sign1.pub.pem").read_text())
    embedded, detached, tampered = (
        (DERIVED / f"cursor-composer-1-5.sign1.{kind}.cbor").read_bytes()
        for kind in ("embedded", "detached", "tampered")
    )
    record = (DERIVED / "cursor-composer-1-5.vac.json").read_bytes()

    assert state(embedded, key) == "valid"
    assert state(detached, key) == "uncheckable"
    assert state(detached, key, detached=record) == "valid"
    assert state(tampered, key) == "invalid"
    assert cose.parse(embedded).payload == record
