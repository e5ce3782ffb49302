"""Who signed a vCon, and whether anything was changed since (core s5.2). ``signing.jws`` does the checking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, BinaryIO

from ....drafts import Finding, FormatError, Json, Signature
from ....signing import jws
from ....signing.keys import Anchor
from . import forms
from .notes import Notes

COVERS = "It covers the whole vCon. When it was made cannot be told: there is no timestamp of a third party."


def verify(source: BinaryIO, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a vCon's signature at a time. Of JWS in JWS the outer one counts (core s5.2.3), but an invalid one
    inside is never outdone. Raises ``FormatError`` for what is no JSON.
    """
    opened, notes = forms.Opened({}), Notes()
    value = forms.outermost(source, opened, notes)
    signatures: list[Signature] = []
    left_out: set[str] = set()
    findings: list[Finding] = []
    while forms.is_signed(value):
        if len(signatures) == forms.LAYERS:
            raise FormatError(forms.too_deep())
        signature, found = jws.check(value, anchors, at, opened.pointer)
        signatures.append(signature)
        left_out |= {*forms.beside(value)}
        findings += found
        value = _inside(value, opened, notes, signature)
    if not signatures:
        return forms.encrypted(value) if forms.is_encrypted(value) else Signature(), []
    overall = _overall(signatures)
    if not left_out:
        return overall, findings
    names = ", ".join(sorted(left_out)[:8])
    detail = f"{overall.detail} It does not cover what stands beside it in the file and is not read: {names}."
    return replace(overall, detail=detail, uncovered=tuple(sorted(left_out))), findings


def _inside(value: dict[str, Any], opened: forms.Opened, notes: Notes, signature: Signature) -> Json:
    """What was signed; nothing where the signature is broken and the payload with it, so that this is told."""
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
