"""From the certificate of a signer to an anchor (RFC 5280 s6.1, as far as signed files need it)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes

from .keys import Anchor, BadKey, accepted_key, common_name, same_key

LONGEST = 10
"""Certificates of one signature that are looked at."""
UNDERSTOOD = (x509.BasicConstraints, x509.KeyUsage, x509.ExtendedKeyUsage, x509.SubjectAlternativeName)
"""Critical extensions that are either checked here or do not limit what a certificate may sign."""
WEAK = (hashes.MD5, hashes.SHA1)
Extension = TypeVar("Extension", bound=x509.ExtensionType)


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a signer is trusted, and why or why not."""

    state: Literal["trusted", "expired", "untrusted"]
    reason: str
    signer: str
    until: datetime | None = None
    """When the first certificate of the chain expires."""
    notes: tuple[str, ...] = ()
    """What had to be taken on trust."""


@dataclass(slots=True)
class _Chain:
    """Certificates from the signer upwards, the anchor they lead to, and why other issuers were refused."""

    path: list[x509.Certificate]
    anchor: Anchor | None = None
    refusals: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def certificates(self) -> list[x509.Certificate]:
        own = self.anchor.certificate if self.anchor else None
        return self.path if own is None else [*self.path, own]


def judge(certificates: Sequence[x509.Certificate], anchors: Sequence[Anchor], at: datetime) -> Judgement:
    """Whether the first certificate leads to an anchor at the time ``at``; the others may stand in between."""
    leaf = certificates[0]
    chain = _Chain([leaf])
    _extend_to_anchor(chain, list(certificates[1:LONGEST]), anchors, at)
    if fault := _unfit_to_sign(leaf):
        return Judgement("untrusted", fault, common_name(leaf))
    if chain.anchor is None:
        return Judgement("untrusted", _reason_untrusted(chain), common_name(leaf))
    if chain.anchor.key == leaf.public_key():  # what the certificate says of its owner nobody vouches for
        return _judged_by_dates(chain, chain.anchor, at, "its key is", chain.anchor.title)
    return _judged_by_dates(chain, chain.anchor, at, "its certificate leads to", common_name(leaf))


def judge_anchor(anchor: Anchor, at: datetime) -> Judgement:
    """Of a signature that the key of an anchor itself made."""
    return _judged_by_dates(_Chain([], anchor), anchor, at, "its key is", anchor.title)


def _judged_by_dates(chain: _Chain, anchor: Anchor, at: datetime, link: str, signer: str) -> Judgement:
    """The judgement of a chain that leads to an anchor, by the dates of its certificates."""
    early = [one for one in chain.certificates if one.not_valid_before_utc > at]
    if early:
        reason = (
            f"the certificate of {common_name(early[0])} is not valid before {early[0].not_valid_before_utc:%Y-%m-%d}"
        )
        return Judgement("untrusted", reason, signer)
    first = min(chain.certificates, key=lambda one: one.not_valid_after_utc, default=None)
    until = first.not_valid_after_utc if first else None
    if first and until and until < at:
        reason = f"the certificate of {common_name(first)} expired on {until:%Y-%m-%d}"
        return Judgement("expired", reason, signer, until, tuple(chain.notes))
    return Judgement("trusted", f'{link} the trust anchor "{anchor.title}"', signer, until, tuple(chain.notes))


def _extend_to_anchor(chain: _Chain, others: list[x509.Certificate], anchors: Sequence[Anchor], at: datetime) -> None:
    """Look for the issuer of the last certificate, among the anchors first, until there is none."""
    by_date = sorted(anchors, key=lambda anchor: _is_over(anchor, at))
    if pinned := same_key(by_date, chain.path[0].public_key()):
        chain.anchor = pinned[0]
        return
    while True:
        child = chain.path[-1]
        for anchor in by_date:
            if anchor.certificate and _vouches(anchor.certificate, child, chain):
                chain.anchor = anchor
                return
        parent = next((other for other in others if _vouches(other, child, chain)), None)
        if parent is None:
            return
        if parent.version == x509.Version.v1:
            chain.notes.append(
                f"the certificate of {common_name(parent)} is of version 1, which cannot say whether it may vouch for "
                "others (RFC 5280 s6.1.4); it was taken as if it may"
            )
        others.remove(parent)
        chain.path.append(parent)


def _is_over(anchor: Anchor, at: datetime) -> bool:
    return anchor.certificate is not None and anchor.certificate.not_valid_after_utc < at


def _vouches(issuer: x509.Certificate, child: x509.Certificate, chain: _Chain) -> bool:
    """Whether ``issuer`` signed ``child`` and may do so; a reason why not is kept where the names match."""
    if issuer.subject != child.issuer or issuer == child:
        return False
    fault = _broken_link(issuer, child) or _unfit_to_vouch(issuer, below=len(chain.path) - 1)
    if fault:
        chain.refusals.append(fault)
    return not fault


def _broken_link(issuer: x509.Certificate, child: x509.Certificate) -> str:
    try:
        if isinstance(child.signature_hash_algorithm, WEAK):
            return f"the certificate of {common_name(child)} is signed with {child.signature_hash_algorithm.name}"
        child.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return f"the certificate of {common_name(child)} was not signed by the key of {common_name(issuer)}"
    return ""


def _unfit_to_vouch(issuer: x509.Certificate, below: int) -> str:
    """RFC 5280 s6.1.4: a certificate of version 3 says itself whether, and how far down, it may vouch for others."""
    who = f"the certificate of {common_name(issuer)}"
    if fault := _unusable(issuer):
        return fault
    if issuer.version == x509.Version.v1:
        return ""
    constraints = _extension(issuer, x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        return f"{who} may not vouch for others (it is no CA)"
    if constraints.path_length is not None and below > constraints.path_length:
        return f"{who} allows {constraints.path_length} certificates between itself and a signer, not {below}"
    usage = _extension(issuer, x509.KeyUsage)
    return f"{who} may not sign certificates" if usage and not usage.key_cert_sign else ""


def _unfit_to_sign(leaf: x509.Certificate) -> str:
    if fault := _unusable(leaf):
        return fault
    usage = _extension(leaf, x509.KeyUsage)
    if usage and not (usage.digital_signature or usage.content_commitment):
        return f"the certificate of {common_name(leaf)} is not for signing documents"
    return ""


def _unusable(certificate: x509.Certificate) -> str:
    """A weak key, or a critical extension that nobody here understands (RFC 5280 s4.2: reject)."""
    try:
        accepted_key(certificate.public_key())
    except BadKey as error:
        return f"the certificate of {common_name(certificate)}: {str(error).rstrip('.')}"
    unknown = [
        e.oid.dotted_string for e in certificate.extensions if e.critical and not isinstance(e.value, UNDERSTOOD)
    ]
    if unknown:
        return f"the certificate of {common_name(certificate)} has a critical extension not known here ({unknown[0]})"
    return ""


def _extension(certificate: x509.Certificate, kind: type[Extension]) -> Extension | None:
    return next((e.value for e in certificate.extensions if isinstance(e.value, kind)), None)


def _reason_untrusted(chain: _Chain) -> str:
    if chain.refusals:
        return chain.refusals[0]
    last = chain.path[-1]
    if last.subject == last.issuer:
        return f"its certificate leads to {common_name(last)}, which vouches for itself and is no trust anchor here"
    return f"its certificate leads to {last.issuer.rfc4514_string()[:200]}, of which there is no trust anchor here"
