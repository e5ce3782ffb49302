"""Signed vCons: JWS in its general JSON form (core s5.2, RFC 7515), checked over the strings as they were received.

The official examples repeat ``alg`` and ``x5c`` in both headers, which RFC 7515 s7.2.1 forbids and strict libraries
refuse. Here a name may stand in both with the same value; two values make a signature invalid (R87).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cryptography import x509

from ..drafts import Finding, Json, Signature
from . import algorithms, one_signature, states
from .chain import LONGEST, Judgement
from .keys import UNREADABLE, Anchor, fully_parsed
from .signers import Signer

# Not joserfc (1.8; 3,000 checks of RS256 a second, these are 5,900): it takes a name twice in the protected header, or
# with two values in both (RFC 7515 s4, s7.2.1), and has one error where a page says why. Not jwcrypto (1.6): it refuses
# 17 of the 23 signed vCons of other tools. tests/signing/test_against_joserfc.py checks both ways with the former.
RULES = ("R86", "R89")
MOST = 16
"""Signatures of one file that are checked: each may cost a millisecond."""


class Malformed(ValueError):
    """The signature cannot be one, whatever the key; the message says why."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """One element of ``signatures``."""

    header: dict[str, Json]
    """Both headers in one; the protected one wins, but they must agree."""
    repeated: tuple[str, ...]
    signed: bytes
    """What the signature is over: the protected header and the payload, as received, with a dot between."""
    value: bytes


def check(
    jws: dict[str, Json], anchors: Sequence[Anchor], at: datetime, pointer: str = ""
) -> tuple[Signature, list[Finding]]:
    """The state of a JWS object at a time, and what is odd about it; ``pointer`` is its place in the file.

    Of several signatures the best one counts, unless one of them is invalid: then the whole is.
    """
    entries, place = jws.get("signatures"), f"{pointer}/signatures"
    if not isinstance(entries, list) or not entries:
        return states.with_finding(
            RULES, place, Signature("invalid", detail="It claims to be signed, but has no signature.")
        )
    signatures: list[Signature] = []
    findings: list[Finding] = []
    for number, entry in enumerate(entries[:MOST]):
        signature, found = _check(entry, jws.get("payload"), anchors, at, f"{place}/{number}")
        signatures.append(signature)
        findings += found
    if len(entries) > MOST:
        message = f"Only the first {MOST} of {len(entries):,} signatures were checked."
        findings.append(Finding("R86", "warning", place, message))
    return states.best(signatures), findings


def _check(
    entry: Json, payload: Json, anchors: Sequence[Anchor], at: datetime, place: str
) -> tuple[Signature, list[Finding]]:
    try:
        parsed = _entry(entry, payload)
        algorithm = _algorithm(parsed.header)
    except Malformed as error:
        return states.with_finding(
            RULES, place, Signature("invalid", detail=f"{str(error)[:1].upper()}{str(error)[1:]}.")
        )
    if algorithm not in algorithms.ALLOWED:
        unknown = Signature("uncheckable", detail=f"The algorithm {algorithm[:40]!r} is not known here.")
        return states.with_finding(RULES, place, unknown)
    by = _by_anchors if parsed.header.get("x5c") is None else _by_certificate
    signature, judgement = by(parsed, algorithm, anchors, at)
    signature, findings = states.with_finding(RULES, place, signature)
    return signature, [*findings, *_remarks(parsed, judgement, place)]


def _remarks(entry: _Entry, judgement: Judgement | None, place: str) -> Iterator[Finding]:
    if entry.repeated:
        names = ", ".join(entry.repeated)[:100]
        message = f"{names}: in both headers with the same value, which RFC 7515 s7.2.1 forbids and many tools write."
        yield Finding("R87", "info", place, message)
    if "x5u" in entry.header:
        yield Finding("R91", "info", place, "The header names an address of a certificate (x5u); it is not fetched.")
    for note in judgement.notes if judgement else ():
        yield Finding("R89", "warning", place, f"{note[:1].upper()}{note[1:]}.")


def _by_certificate(
    entry: _Entry, algorithm: str, anchors: Sequence[Anchor], at: datetime
) -> tuple[Signature, Judgement | None]:
    try:
        certificates = certificates_of(entry.header["x5c"])
    except UNREADABLE as error:
        return Signature("uncheckable", detail=f"Its certificate (x5c) cannot be read: {str(error)[:100]}."), None
    return one_signature.check_by_certificate(algorithm, entry.value, entry.signed, certificates, anchors, at)


def _by_anchors(
    entry: _Entry, algorithm: str, anchors: Sequence[Anchor], at: datetime
) -> tuple[Signature, Judgement | None]:
    """Without a certificate in the file (core s5.2.2 demands one) only a key that is trusted here can tell."""
    found = one_signature.check_by_anchors(algorithm, entry.value, entry.signed, anchors, at)
    if found:
        return found
    where = "only the address of one (x5u), which is not fetched" if "x5u" in entry.header else "no certificate (x5c)"
    return Signature("uncheckable", detail=f"{algorithm}; the file has {where}, and no trust anchor verifies it."), None


def certificates_of(x5c: Json) -> list[x509.Certificate]:
    """Certificates, the signer's first: base64 of DER, not base64url (RFC 7515 s4.1.6). Raises ``UNREADABLE``."""
    if not isinstance(x5c, list) or not x5c or not all(isinstance(item, str) for item in x5c):
        raise ValueError("it is not a list of strings")
    first, *others = x5c[:LONGEST]
    return [_certificate(first), *filter(None, map(_certificate_or_none, others))]


def _certificate(text: str) -> x509.Certificate:
    return fully_parsed(x509.load_der_x509_certificate(base64.b64decode("".join(text.split()), validate=True)))


def _certificate_or_none(text: str) -> x509.Certificate | None:
    """One that cannot be read leads nowhere: the way ends there and the signer is not trusted."""
    try:
        return _certificate(text)
    except UNREADABLE:
        return None


def _entry(entry: Json, payload: Json) -> _Entry:
    if not isinstance(entry, dict) or not isinstance(payload, str):
        raise Malformed("it is not an object over a payload that is a string")
    protected, unprotected = entry.get("protected", ""), entry.get("header")
    if not isinstance(protected, str) or not isinstance(unprotected or {}, dict):
        raise Malformed("its headers are not what RFC 7515 s7.2.1 says")
    inner, outer = protected_header(protected), unprotected or {}
    repeated = tuple(sorted(inner.keys() & outer.keys()))
    if differing := [name for name in repeated if inner[name] != outer[name]]:
        raise Malformed(
            f"{differing[0][:40]!r} says one thing in the protected header and another in the unprotected one"
        )
    header = outer | inner
    if "crit" in header:
        raise Malformed(
            f"it demands extensions ({str(header['crit'])[:60]}) that are not known here (RFC 7515 s4.1.11)"
        )
    try:
        signed = f"{protected}.{payload}".encode("ascii")
    except UnicodeEncodeError:
        raise Malformed("its payload is not base64url") from None
    return _Entry(header, repeated, signed, unbase64url(entry.get("signature")))


def protected_header(text: str) -> dict[str, Json]:
    """The object behind a protected header, in which no name may stand twice. Raises :class:`Malformed`."""
    if not text:
        return {}
    try:
        found = json.loads(unbase64url(text), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Malformed(f"its protected header cannot be read ({str(error)[:80]})") from None
    if not isinstance(found, dict):
        raise Malformed("its protected header is not an object")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Names must be unique (RFC 7515 s4): of two values one would be checked and the other one used."""
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _algorithm(header: dict[str, Json]) -> str:
    algorithm = header.get("alg")
    if not isinstance(algorithm, str):
        raise Malformed("it names no algorithm")
    if algorithm in algorithms.WORTHLESS or algorithm.casefold() == "none":
        raise Malformed(f"the algorithm {algorithm!r} proves nothing about who signed")
    return algorithm


def unbase64url(text: Json) -> bytes:
    """Bytes of base64url, padded or not. Raises :class:`Malformed`."""
    if not isinstance(text, str):
        raise Malformed("a part that should be base64url is not a string")
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise Malformed(f"a part is not base64url ({error})") from None


def sign(content: bytes, signer: Signer, uuid: str) -> dict[str, Json]:
    """A signed vCon in the general form: ``alg`` in the protected header alone, ``x5c`` and ``uuid`` in the other one.

    So no name stands in both, as RFC 7515 s7.2.1 has it, and strict libraries read it. Raises ``ValueError`` without
    a certificate: ``x5c`` must be there (core s5.2.2).
    """
    if not signer.certificates:
        raise ValueError("A signed vCon carries the certificate of its signer; there is none for this key.")
    protected, payload = base64url(json.dumps({"alg": signer.algorithm}).encode()), base64url(content)
    value = base64url(signer.sign(f"{protected}.{payload}".encode()))
    header = {"x5c": signer.x5c, "uuid": uuid}
    return {"payload": payload, "signatures": [{"header": header, "protected": protected, "signature": value}]}


def base64url(data: bytes) -> str:
    """Without padding (RFC 7515 s2)."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
