"""Receipts: what was decided on one approval, as a signed statement that is checked with nothing else. Pure.

A receipt is a JWS in its compact form (RFC 7515 s7.1). Its payload is canonical JSON (RFC 8785) of a statement, its
header has ``typ`` beside ``alg``, ``kid`` and ``x5c``, so that nothing else that the same key signs passes for one.
``docs/proof.md`` says what each member of a statement means.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ..drafts import Finding, Signature
from . import canonical, jws
from .jws import base64url
from .keys import Anchor, fingerprint
from .signers import Signer

VERSION = "countersign/receipt/1"
TYPE = "countersign-receipt+jws"
MEDIA_TYPE = "application/jose"
LARGEST = 4 * 1024 * 1024
"""Characters; one with the arguments in it has as many as these, one without has three thousand."""
RULE = "receipt"
_COMPACT = re.compile(rb"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(?:\r?\n)?")


@dataclass(frozen=True, slots=True)
class Checked:
    """The state of a receipt, and what it states; ``statement`` is empty where nothing of it can be believed."""

    signature: Signature
    findings: list[Finding] = field(default_factory=list)
    statement: dict[str, Any] = field(default_factory=dict)


def sign(statement: dict[str, Any], signer: Signer) -> str:
    """The receipt that states this. ``statement`` has numbers below 2^53 and no lone surrogates."""
    certificates = {"x5c": signer.x5c} if signer.certificates else {}
    header = {"alg": signer.algorithm, "kid": fingerprint(signer.key.public_key()), "typ": TYPE, **certificates}
    protected = base64url(canonical.javascript(header, sort=True))
    payload = base64url(canonical.javascript(statement, sort=True))
    return f"{protected}.{payload}.{base64url(signer.sign(f'{protected}.{payload}'.encode()))}"


def looks_like_one(data: bytes) -> bool:
    """Whether these bytes mean to be a receipt, whatever became of them."""
    if len(data) > LARGEST or not _COMPACT.fullmatch(data):
        return False
    return _type_of(data) == TYPE


def check(data: bytes, anchors: Sequence[Anchor], at: datetime) -> Checked:
    """The state of a receipt at a time. Each of its characters counts; one newline may stand behind it."""
    if len(data) > LARGEST or not _COMPACT.fullmatch(data):
        return _invalid("It is no compact JWS (PROTECTED.PAYLOAD.SIGNATURE).")
    protected, payload, value = data.decode("ascii").rstrip("\r\n").split(".")
    if any(not _is_canonical(part) for part in (protected, payload, value)):
        return _invalid("A part of it is not written as base64url is: of its last character some bits say nothing.")
    if _type_of(data) != TYPE:
        return _invalid(f"Its header does not say that it is a receipt ({TYPE}).")
    whole = {"payload": payload, "signatures": [{"protected": protected, "signature": value}]}
    signature, findings = jws.check(whole, anchors, at)
    if signature.state in ("invalid", "uncheckable"):
        return Checked(signature, findings)
    try:
        statement = read(jws.unbase64url(payload))
    except NotAReceipt as fault:
        return _invalid(f"It is signed, but it is no receipt: {fault}.")
    return Checked(signature, findings, statement)


class NotAReceipt(ValueError):
    """A payload does not state a decision as receipts of this version do; the message says why."""


def read(payload: bytes) -> dict[str, Any]:
    """The statement of a payload. Raises ``NotAReceipt``, also where it is written in another way than ours."""
    try:
        statement = json.loads(payload)
        rewritten = canonical.javascript(statement, sort=True)
    except (ValueError, RecursionError) as fault:
        raise NotAReceipt(f"it is not JSON ({type(fault).__name__})") from None
    if not isinstance(statement, dict) or statement.get("version") != VERSION:
        said = str(statement.get("version"))[:40] if isinstance(statement, dict) else "none"
        raise NotAReceipt(f"its version is {said}; {VERSION} is known here")
    if rewritten != payload:
        raise NotAReceipt("it is not canonical JSON (RFC 8785)")
    shown = _part(statement, "shown")
    text = shown.get("text")
    if isinstance(text, str) and hashlib.sha256(text.encode()).hexdigest() != shown.get("digest"):
        raise NotAReceipt("the text that it gives is not of the digest that was decided on")
    return statement


def sentences(statement: dict[str, Any]) -> list[str]:
    """What a receipt states, for people, a sentence a line; nothing of one that cannot be believed."""
    if not statement:
        return []
    shown, decided, policy = (_part(statement, name) for name in ("shown", "decided", "policy"))
    by = _part(decided, "by")
    role = f" ({by['role']})" if by.get("role") else ""
    told = [f"approval {statement.get('approval')} of session {_part(statement, 'session').get('id')}"]
    if statement.get("planted") is True:
        told.append("a planted test call: it was never to be executed")
    server = f" of {shown['server']}" if shown.get("server") else ""
    told.append(
        f"asked {_part(statement, 'asked').get('at')}: {shown.get('tool')}{server}, digest {shown.get('digest')}"
    )
    told.append(f"{statement.get('status')} {decided.get('at')} by {by.get('kind')} {by.get('name')}{role}")
    if decided.get("reason"):
        told.append(f"reason: {decided['reason']}")
    if policy:
        told.append(f"policy version {policy.get('version')}, rule {policy.get('rule')}")
    checkpoint = _part(statement, "checkpoint")
    covered = f"checkpoint {checkpoint.get('number')} ({checkpoint.get('hash')})" if checkpoint else "no checkpoint yet"
    return [*told, f"audit entry {_part(statement, 'audit').get('seq')}, {covered}"]


def _part(of: dict[str, Any], name: str) -> dict[str, Any]:
    found = of.get(name)
    return found if isinstance(found, dict) else {}


def _type_of(data: bytes) -> str:
    try:
        header = jws.protected_header(data.split(b".", 1)[0].decode("ascii"))
    except jws.Malformed:
        return ""
    found = header.get("typ")
    return found if isinstance(found, str) else ""


def _is_canonical(text: str) -> bool:
    try:
        return base64url(jws.unbase64url(text)) == text
    except jws.Malformed:
        return False


def _invalid(detail: str) -> Checked:
    return Checked(Signature("invalid", detail=detail), [Finding(RULE, "error", "", detail.rstrip("."))])
