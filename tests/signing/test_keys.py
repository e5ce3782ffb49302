"""What may be pasted as a trust anchor, and what is refused with which words."""

from __future__ import annotations

import hashlib

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import dsa, ec, x25519

from vcon_app.signing.keys import BadKey, anchor_of, fingerprint, normal_pem

from .make import ec_key, ed_key, owner, private_pem, public_pem, rsa_key


def test_a_certificate_and_its_bare_key_have_one_fingerprint():
    by = owner("recorder.example", rsa_key())
    spki = by.key.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )  # fmt: skip
    certificate, key = anchor_of(by.pem), anchor_of(public_pem(by.key))

    assert fingerprint(certificate.key) == fingerprint(key.key) == hashlib.sha256(spki).hexdigest()
    assert (certificate.title, key.title) == ("recorder.example", fingerprint(key.key)[:16])


@pytest.mark.parametrize(
    "key", [rsa_key(), ec_key(), ec_key(ec.SECP521R1), ed_key()], ids=lambda key: type(key).__name__
)
def test_keys_that_can_sign_are_accepted_as_anchors(key):
    text = f"made by openssl\r\n{public_pem(key)}\r\n"

    assert anchor_of(text, "Ours", "https://desk.example").key == key.public_key()
    assert normal_pem(text) == public_pem(key)


@pytest.mark.parametrize(
    ("pem", "says"),
    [
        (private_pem(rsa_key()), "private key.*must stay with its owner"),
        (private_pem(ed_key()), "private key"),
        (owner("x", rsa_key()).pem + private_pem(rsa_key()), "private key"),
        (public_pem(rsa_key(bits=1024)), "1024 bits is too weak"),
        (public_pem(ec_key(ec.SECP256K1)), "curve secp256k1"),
        (public_pem(x25519.X25519PrivateKey.generate()), "signs nothing"),
        (public_pem(dsa.generate_private_key(1024)), "DSAPublicKey signs nothing"),
        (owner("x", rsa_key()).pem * 2, "2 PEM blocks"),
        ("", "not PEM"),
        ("MCowBQYDK2VwAyEAhJOuQoWFU9hU33zW8gbaTIQ6OKb1wviXlAEu5pV1nHY=", "not PEM"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "certificate cannot be read"),
        ("-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----", "public key cannot be read"),
        ("-----BEGIN PGP MESSAGE-----\nAAAA\n-----END PGP MESSAGE-----", "neither a certificate nor a public key"),
        ("-----BEGIN CERTIFICATE-----" + "A" * 100_000, "fewer than 65,536"),
    ],
    ids=lambda value: value[:30] if " " in value and "BEGIN" not in value else "pem",
)
def test_unusable_trust_anchor_is_refused_with_the_reason(pem, says):
    with pytest.raises(BadKey, match=says):
        anchor_of(pem)
