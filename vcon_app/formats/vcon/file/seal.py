"""Signatures and encryption of a vCon file: verify and sign (core s5.2), unseal and encrypt (core s5.3).

``signing.jws`` and ``signing.jwe`` do the cryptography; here is where in the file both are, and what a reader is told.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

from ....drafts import Finding, FormatError, Json, Signature
from ....signing import jwe, jws
from ....signing.keys import Anchor
from ....signing.signers import Signer
from ...common.head import SIZES, Head
from ...common.jsonio import dumps
from . import forms, tree
from .notes import Notes
from .receipts import receipt_findings

COVERS = "It covers the whole vCon. When it was made cannot be told: there is no timestamp of a third party."
MARKS = (b'"ciphertext"', b'"cyphertext"')
"""Names of the member that only an encrypted vCon has; the second stood in an official example."""
MEDIA_TYPE = "application/vcon"
"""Of what is inside; its signed form has no media type of its own."""


def verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a vCon's signature at a time. Of JWS in JWS the outer one counts (core s5.2.3), but an invalid one
    inside is never outdone. Receipts of transparency services are findings. Raises ``FormatError`` for what is no JSON.
    """
    opened, notes = forms.OpenedVcon({}), Notes()
    value = forms.outermost(source, opened, notes)
    signatures: list[Signature] = []
    left_out: set[str] = set()
    findings: list[Finding] = []
    while forms.is_signed(value):
        if len(signatures) == forms.LAYERS:
            raise FormatError(forms.too_deep())
        signature, found = jws.check(value, anchors, at, opened.pointer)
        signatures.append(signature)
        left_out |= {*forms.members_beside_payload(value)}
        findings += found
        value = _signed_payload(value, opened, notes, signature)
    findings += receipt_findings(value, opened.pointer, anchors, at)
    if not signatures:
        return forms.encrypted(value) if forms.is_encrypted(value) else Signature(), findings
    overall = _overall(signatures)
    if not left_out:
        return overall, findings
    names = ", ".join(sorted(left_out)[:8])
    detail = f"{overall.detail} It does not cover what stands beside it in the file and is not read: {names}."
    return replace(overall, detail=detail, uncovered=tuple(sorted(left_out))), findings


def _signed_payload(value: dict[str, Any], opened: forms.OpenedVcon, notes: Notes, signature: Signature) -> Json:
    """The signed payload; empty where both the signature and the payload are broken, so that this is reported."""
    try:
        return forms.payload_of(value, opened, notes)
    except FormatError:
        if signature.state == "invalid":
            return None
        raise


def _overall(signatures: list[Signature]) -> Signature:
    outer, inner = signatures[0], signatures[1:]
    if outer.state != "invalid" and (broken := [one for one in inner if one.state == "invalid"]):
        return replace(broken[0], detail=f"The signature inside of another one: {broken[0].detail}")
    covers = f" {COVERS}" if outer.state.startswith("valid") else ""
    told = [f"{one.state.replace('_', ' ')}{f' by {one.signer}' if one.signer else ''}" for one in inner]
    archive = f" It was signed before: {'; '.join(told)}." if inner else ""
    return replace(outer, detail=f"{outer.detail}{covers}{archive}")


def sign(content: bytes, signer: Signer, at: datetime, options: dict[str, Any]) -> bytes:
    """The signed form of what ``write`` made with ``options``. Raises ``ValueError`` without a certificate."""
    return dumps(jws.sign(content, signer, options["uuid"]))


def signs_with(signer: Signer) -> bool:
    """The signer's certificate has to be in the file."""
    return bool(signer.certificates)


def unseal(source: BinaryIO, keys: Sequence[RSAPrivateKey]) -> BinaryIO:
    """The document itself, or the one inside when it is encrypted for one of ``keys``. Raises ``FormatError``.

    Without keys, or when it is not encrypted, the stream is given back at its start.
    """
    source.seek(0)
    head = Head(source.read(SIZES[0]))
    source.seek(0)
    if not keys or not any(mark in head.data for mark in MARKS):
        return source
    value = tree.parse_json(_read_all(source, head.raw[:2] == b"\x1f\x8b"), Notes())
    if not forms.is_encrypted(value):
        source.seek(0)
        return source
    try:
        return io.BytesIO(jwe.decrypt(value, keys))
    except jwe.CannotDecrypt as error:
        sealed = forms.encrypted(value)
        raise FormatError(f"{error}{sealed.detail.removeprefix(forms.SEALED)}", sealed) from None


def _read_all(source: BinaryIO, is_packed: bool) -> bytes:
    data = (tree.Unzipped(source) if is_packed else source).read(forms.SIGNED_LIMIT + 1)
    if len(data) > forms.SIGNED_LIMIT:
        raise FormatError(f"This encrypted vCon is larger than {forms.SIGNED_LIMIT:,} bytes; it is not opened.")
    return data


def encrypt(content: bytes, keys: Sequence[RSAPublicKey], options: dict[str, Any]) -> bytes:
    """The encrypted form of what ``sign`` made with ``options``."""
    return dumps(jwe.encrypt(content, keys, options["uuid"], MEDIA_TYPE))
