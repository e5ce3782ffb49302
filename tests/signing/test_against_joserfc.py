"""JOSE by the library joserfc: it verifies and opens what we make, and we what it makes.

Where the two differ stands at the end, with the section of the RFC: these are what keeps our own reader.
"""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jwe as their_jwe
from joserfc import jws as their_jws
from joserfc.errors import DecodeError
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from vcon_app.signing import detached, jwe, jws
from vcon_app.signing.keys import anchor_of
from vcon_app.signing.signers import signer_of

from .make import AT, CORPUS, b64, ec_key, ed_key, needs_corpus, owner, private_pem, public_pem, recorder, rsa_key, sign

KEYS = {
    "RS256": rsa_key(), "RS384": rsa_key(), "RS512": rsa_key(), "PS256": rsa_key(), "PS384": rsa_key(),
    "PS512": rsa_key(), "ES256": ec_key(), "ES384": ec_key(ec.SECP384R1), "ES512": ec_key(ec.SECP521R1),
    "EdDSA": ed_key(),
}  # fmt: skip
OURS = ["RS256", "ES256", "ES384", "ES512", "EdDSA"]
"""What we sign with; all of ``KEYS`` is verified."""
RECIPIENT = rsa_key(4)


class Lenient(JWSRegistry):
    """Without the limits of the library (a header of 512 bytes holds no certificate) and with headers of vCons."""

    max_header_length = max_payload_length = 10_000_000

    def __init__(self) -> None:
        super().__init__(algorithms=list(KEYS), strict_check_header=False)


class LenientEncryption(their_jwe.JWERegistry):
    """The algorithms of vCons, and headers of vCons; one recipient whose key is here is enough."""

    def __init__(self, enc: str = "A256CBC-HS512") -> None:
        super().__init__(algorithms=["RSA-OAEP", "RSA-OAEP-256", enc], strict_check_header=False)
        self.verify_all_recipients = False


@pytest.fixture(autouse=True)
def no_advice():
    """It advises against algorithms (RFC 9864) that vCons name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@cache
def their_key(algorithm: str, pem: str) -> Any:
    """Kept: an RSA key is checked as it is read, which takes longer than to sign with it."""
    return {"R": RSAKey, "P": RSAKey, "E": ECKey}.get(algorithm[0] if algorithm != "EdDSA" else "", OKPKey).import_key(
        pem
    )


@cache
def signer(algorithm: str) -> Any:
    key = KEYS[algorithm]
    return signer_of(private_pem(key).encode(), recorder(key=key).pem.encode())


def verified(document: Any, algorithm: str) -> bytes:
    """The payload, if the library finds the signature genuine."""
    return their_jws.deserialize_json(
        document, their_key(algorithm, public_pem(KEYS[algorithm])), registry=Lenient()
    ).payload


@pytest.mark.parametrize("algorithm", OURS)
@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=5_000))
def test_it_verifies_what_we_sign(algorithm: str, content: bytes) -> None:
    made = jws.sign(content, signer(algorithm), "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44")
    assert verified(json.loads(json.dumps(made)), algorithm) == content


@pytest.mark.parametrize("algorithm", OURS)
@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=5_000))
def test_it_verifies_what_we_sign_in_a_file_beside(algorithm: str, content: bytes) -> None:
    key = their_key(algorithm, public_pem(KEYS[algorithm]))
    value = detached.sign(content, signer(algorithm))
    found = their_jws.deserialize_compact(value, key, registry=Lenient(), payload=content)
    assert found.payload == content
    with pytest.raises(their_jws.BadSignatureError):
        their_jws.deserialize_compact(value, key, registry=Lenient(), payload=content + b"\n")


@pytest.mark.parametrize("algorithm", KEYS)
@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=5_000))
def test_we_verify_what_it_signs(algorithm: str, content: bytes) -> None:
    by = recorder(key=KEYS[algorithm])
    members = [{"protected": {"alg": algorithm}, "header": {"x5c": [by.x5c]}}]
    made: Any = their_jws.serialize_json(
        members, content, their_key(algorithm, private_pem(by.key)), registry=Lenient()
    )
    assert jws.check(made, [by.anchor], AT)[0].state == "valid"
    made["payload"] = b64(content + b"!")
    assert jws.check(made, [by.anchor], AT)[0].state == "invalid"


@pytest.mark.parametrize("algorithm", KEYS)
def test_we_verify_what_it_signs_apart_from_the_content(algorithm: str) -> None:
    key = their_key(algorithm, private_pem(KEYS[algorithm]))
    made = their_jws.serialize_compact({"alg": algorithm}, b"A clock", key, registry=Lenient())
    value = their_jws.detach_content(made)
    anchor = anchor_of(public_pem(KEYS[algorithm]))
    assert detached.check(value.encode(), b"A clock", [anchor], AT)[0].state == "valid"
    assert detached.check(value.encode(), b"A watch", [anchor], AT)[0].state == "invalid"


@settings(max_examples=20, deadline=None)
@given(st.binary(max_size=5_000), st.integers(0, 2))
def test_it_opens_what_we_encrypt(content: bytes, others: int) -> None:
    keys = [*(rsa_key(number).public_key() for number in range(others)), RECIPIENT.public_key()]
    made: Any = jwe.encrypt(content, keys, "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "application/vcon+json")
    key = RSAKey.import_key(private_pem(RECIPIENT))
    assert their_jwe.decrypt_json(made, key, registry=LenientEncryption()).plaintext == content


@pytest.mark.parametrize("enc", ["A256CBC-HS512", "A256GCM"])
@pytest.mark.parametrize("alg", ["RSA-OAEP", "RSA-OAEP-256"])
@settings(max_examples=10, deadline=None)
@given(st.binary(max_size=5_000), st.none() | st.binary(min_size=1, max_size=50))
def test_we_open_what_it_encrypts(alg: str, enc: str, content: bytes, aad: bytes | None) -> None:
    sealed = their_jwe.GeneralJSONEncryption({"enc": enc}, content, {"cty": "application/vcon+json"}, aad)
    for number in (5, 4):
        sealed.add_recipient({"alg": alg}, RSAKey.import_key(public_pem(rsa_key(number))))
    made: Any = their_jwe.encrypt_json(sealed, None, registry=LenientEncryption(enc))
    assert jwe.decrypt(made, [RECIPIENT]) == content
    made["ciphertext"] = b64(jws.unbase64url(made["ciphertext"])[::-1] + bytes(16))
    with pytest.raises(jwe.CannotDecrypt):
        jwe.decrypt(made, [RECIPIENT])


@needs_corpus
def test_both_find_the_same_of_every_signed_vcon_of_the_corpus() -> None:
    found = {}
    for path in sorted((CORPUS / "vcon-spec-examples").rglob("*signed*.vcon")):
        document = json.loads(path.read_bytes())
        (entry,) = document["signatures"]
        header = jws.protected_header(entry["protected"]) | entry.get("header", {})
        public = jws.certificates_of(header["x5c"])[0].public_key()
        pem = public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        their_jws.deserialize_json(document, RSAKey.import_key(pem), registry=Lenient())
        found[path.name, path.parent.name] = jws.check(document, [], datetime(2024, 1, 1, tzinfo=UTC))[0].state
    assert len(found) >= 7 and set(found.values()) == {"valid_untrusted"}


def entry(protected: bytes, header: dict[str, Any] | None = None) -> dict[str, Any]:
    """A signature that is genuine, under headers that are given to the byte."""
    by, text, payload = owner("desk.example", rsa_key()), b64(protected), b64(b"{}")
    value = sign("RS256", by.key, f"{text}.{payload}".encode())
    return {
        "payload": payload,
        "signatures": [{"protected": text, "header": {"x5c": [by.x5c]} | (header or {}), "signature": b64(value)}],
    }


@pytest.mark.parametrize(
    ("document", "state"),
    [
        (entry(b'{"alg":"RS256"}', {"alg": "RS256"}), "valid_untrusted"),
        (entry(b'{"alg":"RS256","kid":"a"}', {"kid": "b"}), "invalid"),
        (entry(b'{"alg":"none","alg":"RS256"}'), "invalid"),
    ],
    ids=[
        "a name in both headers, with one value: s7.2.1 forbids it, and the official examples have it",
        "a name in both headers, with two values: s7.2.1",
        "a name twice in the protected header: s4",
    ],
)
def test_headers_that_rfc_7515_forbids_are_verified_there_and_told_or_refused_here(document: Any, state: str) -> None:
    assert verified(document, "RS256") == b"{}"
    found, findings = jws.check(document, [], AT)
    assert found.state == state
    assert state == "invalid" or {finding.rule for finding in findings} >= {"R87"}


def test_a_protected_header_is_authenticated_as_it_was_received() -> None:
    """RFC 7516 s5.2, step 15: the library writes it anew, and refuses one with a space in it."""
    key = RSAKey.import_key(private_pem(RECIPIENT))
    made: Any = jwe.encrypt(b"{}", [RECIPIENT.public_key()], "u", "application/vcon+json")
    secret = RECIPIENT.decrypt(jws.unbase64url(made["recipients"][0]["encrypted_key"]), jwe._oaep("RSA-OAEP"))
    made["protected"] = b64(b'{"enc": "A256CBC-HS512"}')
    parts = jws.unbase64url(made["iv"]), jws.unbase64url(made["ciphertext"])
    made["tag"] = b64(jwe._tag(secret, made["protected"].encode(), *parts))
    assert jwe.decrypt(made, [RECIPIENT]) == b"{}"
    with pytest.raises(DecodeError):
        their_jwe.decrypt_json(made, key, registry=LenientEncryption())
