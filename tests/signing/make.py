"""Keys, certificates and signed files, made for a test and thrown away. Written apart from the code that is tested."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa, utils

from tests.places import CORPUS
from vcon_app.signing.keys import Anchor, anchor_of

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus ../shared/corpus is not here")
AT = datetime(2026, 6, 1, tzinfo=UTC)
START, END = datetime(2025, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
VCON = {
    "vcon": "0.4.0", "uuid": "0195c5f0-7d1e-8a00-b5d3-0e2a7c1f9b44", "created_at": "2026-03-01T09:00:00Z",
    "subject": "A clock", "parties": [{"name": "Ana"}, {"name": "Clerk", "role": "agent"}],
    "dialog": [
        {"type": "text", "start": "2026-03-01T09:00:00Z", "parties": [0], "mediatype": "text/plain",
         "body": "Does the tower clock run?", "encoding": "none"},
        {"type": "text", "start": "2026-03-01T09:00:09Z", "parties": [1], "mediatype": "text/plain",
         "body": "It does: two minutes late.", "encoding": "none"},
    ],
}  # fmt: skip


def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Always the same one for a number: making one takes a tenth of a second."""
    return _made(number, bits)


def ec_key(curve: type[ec.EllipticCurve] = ec.SECP256R1) -> ec.EllipticCurvePrivateKey:
    return _made(0, curve)


def ed_key(number: int = 0) -> ed25519.Ed25519PrivateKey:
    return _made(number, None)


@cache
def _made(number: int, kind: Any) -> Any:
    if kind is None:
        return ed25519.Ed25519PrivateKey.generate()
    return rsa.generate_private_key(65537, kind) if isinstance(kind, int) else ec.generate_private_key(kind())


@dataclass(frozen=True)
class Owner:
    """Somebody with a key and a certificate."""

    name: str
    key: Any
    certificate: x509.Certificate

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    @property
    def anchor(self) -> Anchor:
        return anchor_of(self.pem, self.name)

    @property
    def x5c(self) -> str:
        return base64.b64encode(self.certificate.public_bytes(serialization.Encoding.DER)).decode()


def owner(
    name: str,
    key: Any,
    issuer: Owner | None = None,
    *,
    ca: bool | None = None,
    path_length: int | None = None,
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = (),
    dates: tuple[datetime, datetime] = (START, END),
) -> Owner:
    """A certificate of version 3 from ``issuer``, or signed by itself; no basic constraints where ``ca`` is None."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        issuer_name=issuer.certificate.subject if issuer else subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=dates[0],
        not_valid_after=dates[1],
    )
    if ca is not None:
        extensions = [*extensions, (x509.BasicConstraints(ca, path_length), True)]
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical)
    signer = issuer.key if issuer else key
    digest = None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256()
    return Owner(name, key, builder.sign(signer, digest))


def root(name: str = "Root", **more: Any) -> Owner:
    return owner(name, rsa_key(1), ca=True, **more)


def recorder(issuer: Owner | None = None, key: Any = None, **more: Any) -> Owner:
    """Who signs the files of these tests."""
    return owner("recorder.example", key or rsa_key(), issuer, **more)


def public_pem(key: Any) -> str:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()  # fmt: skip


def private_pem(key: Any) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()  # fmt: skip


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(algorithm: str, key: Any, data: bytes) -> bytes:
    if algorithm == "EdDSA":
        return key.sign(data)
    digest = {"256": hashes.SHA256, "384": hashes.SHA384, "512": hashes.SHA512}[algorithm[2:]]()
    if algorithm.startswith("ES"):
        r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(digest)))
        size = (key.curve.key_size + 7) // 8
        return r.to_bytes(size, "big") + s.to_bytes(size, "big")
    scheme = padding.PKCS1v15() if algorithm.startswith("RS") else padding.PSS(padding.MGF1(digest), digest.digest_size)
    return key.sign(data, scheme, digest)


def entry(
    payload: str, by: Owner, *, algorithm: str = "RS256", chain: Sequence[Owner] = (), header: Any = None,
    protected: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """One element of ``signatures``; ``header`` and ``protected`` add to what they hold, or take away with None."""
    inner = {"alg": algorithm} | (protected or {})
    outer = {"x5c": [by.x5c, *(one.x5c for one in chain)]} | (header or {})
    inner, outer = ({name: value for name, value in one.items() if value is not None} for one in (inner, outer))
    text = b64(json.dumps(inner).encode())
    return {"protected": text, "header": outer, "signature": b64(sign(algorithm, by.key, f"{text}.{payload}".encode()))}


def signed(content: Any, by: Owner, **more: Any) -> dict[str, Any]:
    """A JWS of a vCon (given as JSON or as bytes), as the general JSON form has it."""
    payload = b64(content if isinstance(content, bytes) else json.dumps(content).encode())
    return {"payload": payload, "signatures": [entry(payload, by, **more)]}


def feed(key: ed25519.Ed25519PrivateKey, names: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    """An llmfeed session signed as the specification says (v1); ``more`` adds blocks before it is signed."""
    made = {
        "feed_type": "session",
        "metadata": {"origin": "https://desk.example", "title": "Shelf 7", "generated_at": "2026-05-20T12:00:00Z"},
        "context": {"user_input": "What is missing on shelf 7?", "agent_profile": "clerk"},
        **more,
    }
    names = [*(names or made), "trust"]
    made["trust"] = {"signed_blocks": names, "algorithm": "ed25519"}
    payload = json.dumps({name: made[name] for name in names}, separators=(",", ":"), ensure_ascii=False)
    value = base64.b64encode(key.sign(payload.encode())).decode()
    return made | {"signature": {"value": value, "created_at": "2026-05-20T12:00:01Z"}}
