"""COSE_Sign1 (RFC 9052 s4.2) around an agent's record (draft-birkholz-verifiable-agent-conversations s3.11)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509

from ..drafts import Finding, Signature
from . import cbor, one_signature, states
from .chain import LONGEST
from .keys import UNREADABLE, Anchor, fully_parsed

RULES = ("R97", "R89")
ALG, CRIT, CLAIMS, X5CHAIN = 1, 2, 15, 33
ISSUER = 1
ALGORITHMS = {
    -7: "ES256", -35: "ES384", -36: "ES512", -8: "EdDSA", -37: "PS256", -38: "PS384", -39: "PS512", -257: "RS256",
    -258: "RS384", -259: "RS512",
}  # fmt: skip
"""RFC 9053 s2 and RFC 8812 s2; what is not here is not checked."""


class NotSign1(ValueError):
    """The bytes are no COSE_Sign1."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """The four parts; ``payload`` is None where the record is delivered apart."""

    protected: bytes
    header: dict[Any, Any]
    unprotected: dict[Any, Any]
    payload: bytes | None
    value: bytes


def parse(data: bytes) -> Envelope:
    """The parts of a COSE_Sign1, tagged or not. Raises :class:`NotSign1`."""
    try:
        parts = cbor.loads(data, raw=True)
        protected, unprotected, payload, value = parts if isinstance(parts, list) else []
        header = cbor.loads(protected, raw=True) if protected else {}
    except (ValueError, TypeError) as error:
        raise NotSign1(f"This is no COSE_Sign1: {error}.") from None
    kinds = isinstance(header, dict), isinstance(unprotected, dict), isinstance(value, bytes)
    if not all(kinds) or not isinstance(payload, (bytes, type(None))):
        raise NotSign1("This is no COSE_Sign1: its parts are of other kinds.")
    return Envelope(protected, header, unprotected, payload, value)


def check(
    envelope: Envelope, anchors: Sequence[Anchor], at: datetime, detached: bytes | None = None
) -> tuple[Signature, list[Finding]]:
    """The state of the signature. ``detached`` is the record, to the byte, where the envelope does not hold it.

    Only the protected header and the payload are covered: what else stands in the envelope is a claim.
    """
    return states.with_finding(RULES, "", _state(envelope, anchors, at, detached))


def _state(envelope: Envelope, anchors: Sequence[Anchor], at: datetime, detached: bytes | None) -> Signature:
    payload = envelope.payload if envelope.payload is not None else detached
    label = envelope.header.get(ALG)
    algorithm = ALGORITHMS.get(label) if isinstance(label, int) else None
    if CRIT in envelope.header:
        return Signature("invalid", detail="It demands extensions that are not known here (RFC 9052 s3.1).")
    if algorithm is None:
        return Signature("uncheckable", detail=f"The algorithm {str(label)[:40]} is not known here.")
    if payload is None:
        return Signature("uncheckable", detail="The record that was signed is not in it (detached payload).")
    signed = b"\x84" + b"\x6aSignature1" + byte_string(envelope.protected) + b"\x40" + byte_string(payload)
    if X5CHAIN in envelope.header or X5CHAIN in envelope.unprotected:
        return _by_chain(envelope, algorithm, signed, anchors, at)
    if found := one_signature.check_by_anchors(algorithm, envelope.value, signed, anchors, at):
        return found[0]
    return Signature("uncheckable", detail=f"{algorithm}; no trust anchor verifies it.{_claimed(envelope)}")


def _by_chain(envelope: Envelope, algorithm: str, signed: bytes, anchors: Sequence[Anchor], at: datetime) -> Signature:
    """x5chain is one certificate or a list, the signer's first (RFC 9360 s2)."""
    chain = envelope.header.get(X5CHAIN, envelope.unprotected.get(X5CHAIN))
    try:
        ders: list[Any] = chain if isinstance(chain, list) else [chain]
        certificates = [fully_parsed(x509.load_der_x509_certificate(der)) for der in ders[:LONGEST]]
        return one_signature.check_by_certificate(algorithm, envelope.value, signed, certificates, anchors, at)[0]
    except (*UNREADABLE, IndexError) as error:
        return Signature("uncheckable", detail=f"Its certificate (x5chain) cannot be read: {str(error)[:100]}.")


def _claimed(envelope: Envelope) -> str:
    claims = envelope.header.get(CLAIMS)
    issuer = claims.get(ISSUER) if isinstance(claims, dict) else None
    return f" It says it is of {issuer[:100]}." if isinstance(issuer, str) else ""


def byte_string(data: bytes) -> bytes:
    """A CBOR byte string (RFC 8949 s3.1)."""
    size = len(data)
    if size < 24:
        return bytes([0x40 | size]) + data
    width = next(width for width in (1, 2, 4, 8) if size < 1 << (8 * width))
    return bytes([0x58 + (1, 2, 4, 8).index(width)]) + size.to_bytes(width, "big") + data
