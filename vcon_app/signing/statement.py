"""SCITT statements (RFC 9943) about files: a COSE_Sign1 over a file's SHA-256, so that nothing of the file is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from cryptography.hazmat.primitives import serialization

from . import cose, transparency
from .keys import fingerprint
from .signers import Signer

MEDIA_TYPE = "application/scitt-statement+cose"
"""RFC 9943 s10, of statements with and without receipts."""
KEY_ID = 4
SUBJECT = 2
HASH_ALGORITHM, PREIMAGE_TYPE = 258, 259
"""The payload is a hash, and what was hashed (draft-ietf-cose-hash-envelope)."""
SHA256 = -16
_LABELS = {name: label for label, name in cose.ALGORITHMS.items()}
Value: TypeAlias = "int | str | bytes | Sequence[Value] | Mapping[int, Value]"


def make(digest: bytes, media_type: str, issuer: str, subject: str, signer: Signer) -> bytes:
    """A statement of ``issuer`` about ``subject``: a file of this SHA-256 and type, signed."""
    chain = [one.public_bytes(serialization.Encoding.DER) for one in signer.certificates]
    header: dict[int, Value] = {
        cose.ALG: _LABELS[signer.algorithm],
        KEY_ID: bytes.fromhex(fingerprint(signer.key.public_key())),
        cose.CLAIMS: {cose.ISSUER: issuer, SUBJECT: subject},
        HASH_ALGORITHM: SHA256,
        PREIMAGE_TYPE: media_type,
    }
    if chain:
        header[cose.X5CHAIN] = chain[0] if len(chain) == 1 else chain
    protected = _encoded(header)
    signed = b"\x84" + _encoded("Signature1") + _encoded(protected) + _encoded(b"") + _encoded(digest)
    return _tagged(protected, b"\xa0", digest, signer.sign(signed))


def with_receipt(statement: bytes, receipt: bytes) -> bytes:
    """The statement with its receipt (RFC 9943 s6.3, a transparent statement). It is not covered by the signature."""
    envelope = cose.parse(statement)
    assert envelope.payload is not None  # ``make`` puts it in
    return _tagged(envelope.protected, _encoded({transparency.RECEIPTS: [receipt]}), envelope.payload, envelope.value)


def digest_of(statement: bytes) -> bytes | None:
    """The SHA-256 that a statement is about; None where it is about something else. Raises :class:`cose.NotSign1`."""
    envelope = cose.parse(statement)
    return envelope.payload if envelope.header.get(HASH_ALGORITHM) == SHA256 else None


def _tagged(protected: bytes, unprotected: bytes, payload: bytes, value: bytes) -> bytes:
    return b"\xd2\x84" + _encoded(protected) + unprotected + _encoded(payload) + _encoded(value)


def _encoded(value: Value) -> bytes:
    """Deterministic CBOR (RFC 8949 s4.2) of what stands in a statement."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    if isinstance(value, Mapping):
        members = sorted((_encoded(key), _encoded(one)) for key, one in value.items())
        return _head(5, len(members)) + b"".join(key + one for key, one in members)
    return _head(4, len(value)) + b"".join(map(_encoded, value))


def _head(major: int, size: int) -> bytes:
    if size < 24:
        return bytes([major << 5 | size])
    width = next(width for width in (1, 2, 4, 8) if size < 1 << (8 * width))
    return bytes([major << 5 | 24 + (1, 2, 4, 8).index(width)]) + size.to_bytes(width, "big")
