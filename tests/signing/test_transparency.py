"""Receipts over statements in a vCon: checked offline, with the keys that are trusted here."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from cbor2 import CBORTag, loads
from cbor2 import dumps as cbor
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from tests.signing.make import ec_key, public_pem
from vcon_app.formats import vcon
from vcon_app.signing import merkle, transparency
from vcon_app.signing.keys import anchor_of

AT = datetime(2026, 6, 1, tzinfo=UTC)
SERVICE, STRANGER = ec_key(), ec.generate_private_key(ec.SECP256R1())


def sign1(key: ec.EllipticCurvePrivateKey, header: dict[Any, Any], unprotected: dict[Any, Any], payload: bytes,
          *, detached: bool = False) -> bytes:  # fmt: skip
    protected = cbor({1: -7, **header})
    r, s = decode_dss_signature(key.sign(cbor(["Signature1", protected, b"", payload]), ec.ECDSA(hashes.SHA256())))
    value = r.to_bytes(32, "big") + s.to_bytes(32, "big")
    return cbor(CBORTag(18, [protected, unprotected, None if detached else payload, value]))


def statement(words: str = "trace") -> bytes:
    return sign1(ec_key(), {15: {1: "recorder", 2: words}}, {}, words.encode())


def receipt(leaf: bytes, key: ec.EllipticCurvePrivateKey = SERVICE, structure: int = 1, index: int = 1) -> bytes:
    leaves = [b"another", leaf, b"a third"]
    proof = cbor([3, index, merkle.proof(leaves, 1)])
    return sign1(key, {395: structure}, {396: {-1: [proof]}}, merkle.root(leaves), detached=True)


def ledger_receipt(leaf: bytes, key: ec.EllipticCurvePrivateKey = SERVICE, **changed: Any) -> bytes:
    """Of a ledger of the Confidential Consortium Framework: three transactions, ours with one on either side."""
    path = [[True, sha256(b"left")], [False, sha256(b"right")]]
    said = {"data": sha256(leaf), "evidence": "ce:2.18:5a", "path": path, **changed}
    node = sha256(sha256(b"writes") + sha256(b"ce:2.18:5a") + sha256(leaf))
    root = sha256(sha256(sha256(b"left") + node) + sha256(b"right"))
    proof = cbor({1: [sha256(b"writes"), said["evidence"], said["data"]], 2: said["path"]})
    header = {4: b"service-1", 395: 2, 15: {1: "ledger.example"}, "ccf.v1": {"txid": "2.18"}}
    return sign1(key, header, {396: {-1: [proof]}}, root, detached=True)


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def state(data: bytes, *statements: bytes) -> str:
    trusted = [anchor_of(public_pem(SERVICE), "the service")]
    return transparency.check(data, statements, trusted, AT).state


def test_a_receipt_of_a_trusted_service_for_this_statement_is_valid() -> None:
    assert state(receipt(statement_ := statement()), statement_) == "valid"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda leaf: receipt(statement("other")), "uncheckable"),
        (lambda leaf: receipt(leaf, STRANGER), "uncheckable"),
        (lambda leaf: receipt(leaf, structure=3), "uncheckable"),
        (lambda leaf: receipt(leaf, index=7), "invalid"),
        (lambda leaf: b"no cbor", "invalid"),
        (lambda leaf: sign1(SERVICE, {395: 1}, {396: {-1: ["x"]}}, b"root", detached=True), "invalid"),
        (lambda leaf: sign1(SERVICE, {395: 1}, {396: {-1: []}}, b"root", detached=True), "invalid"),
        (lambda leaf: sign1(SERVICE, {395: 1}, {396: {-1: [cbor([1, 0, []])]}}, b"root"), "invalid"),
    ],
)
def test_no_other_receipt_is(made: Any, expected: str) -> None:
    leaf = statement()
    assert state(made(leaf), leaf) in (expected, "invalid")
    assert state(made(leaf), leaf) != "valid"


def test_a_receipt_without_its_statement_cannot_be_checked() -> None:
    assert state(receipt(statement())) == "uncheckable"


def test_a_receipt_of_a_ccf_ledger_is_checked_along_its_own_tree() -> None:
    assert state(ledger_receipt(leaf := statement()), leaf) == "valid"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (lambda leaf: ledger_receipt(statement("other")), "invalid"),
        (lambda leaf: ledger_receipt(leaf, STRANGER), "uncheckable"),
        (lambda leaf: ledger_receipt(leaf, evidence="ce:2.19:5a"), "uncheckable"),
        (lambda leaf: ledger_receipt(leaf, path=[[False, sha256(b"left")], [False, sha256(b"right")]]), "uncheckable"),
        (lambda leaf: ledger_receipt(leaf, path=[[1, sha256(b"left")]]), "invalid"),
        (lambda leaf: ledger_receipt(leaf, path=[sha256(b"left")]), "invalid"),
        (lambda leaf: ledger_receipt(leaf, path=[[True, b"short"]]), "invalid"),
        (lambda leaf: ledger_receipt(leaf, path=[[True, sha256(b"x")]] * 65), "invalid"),
        (lambda leaf: ledger_receipt(leaf, evidence=b"bytes"), "invalid"),
        (lambda leaf: sign1(SERVICE, {395: 2}, {396: {-1: ["no bytes"]}}, b"root", detached=True), "invalid"),
        (lambda leaf: sign1(SERVICE, {395: [2]}, {396: {-1: []}}, b"root", detached=True), "uncheckable"),
    ],
)
def test_no_other_receipt_of_a_ledger_is_valid(made: Any, expected: str) -> None:
    assert state(made(leaf := statement()), leaf) in (expected, "invalid")


def attachment(purpose: str, data: bytes) -> dict[str, Any]:
    body = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
    return {"purpose": purpose, "start": "2026-05-04T08:00:00Z", "party": 0, "dialog": 0,
            "mediatype": "application/cose", "encoding": "base64url", "body": body}  # fmt: skip


def findings(*attachments: dict[str, Any]) -> list[tuple[str, str]]:
    document = {"uuid": "019d4800-3c00-8b1e-9f3c-5a1d0e7b2c33", "created_at": "2026-05-04T08:00:00Z",
                "parties": [{}], "dialog": [{"type": "text"}], "attachments": list(attachments)}  # fmt: skip
    trusted = [anchor_of(public_pem(SERVICE), "the service")]
    found = vcon.verify(io.BytesIO(json.dumps(document).encode()), trusted, AT)[1]
    return [(one.severity, one.path) for one in found if one.rule == "R113"]


def test_a_vcon_says_of_each_receipt_what_it_is_worth() -> None:
    leaf = statement()
    assert findings(attachment("agent_trace_cose_sign1", leaf), attachment("scitt_receipt", receipt(leaf))) == [
        ("info", "/attachments/1")
    ]
    assert findings(attachment("scitt_receipt", receipt(leaf)))[0][0] == "warning"
    assert findings(attachment("scitt_receipt", b"nonsense"))[0][0] == "warning"


def test_a_statement_that_carries_its_receipt_is_checked_too() -> None:
    bare = statement()
    protected, _, payload, value = loads(bare).value
    carried = cbor(CBORTag(18, [protected, {394: [receipt(bare)]}, payload, value]))
    assert findings(attachment("scitt_receipt", carried)) == [("info", "/attachments/0")]
