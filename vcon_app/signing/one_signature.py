"""One signature over some bytes: whether it is genuine, and whether its signer is trusted."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from cryptography import x509

from ..drafts import Signature, SignatureState
from . import algorithms
from .chain import Judgement, judge, judge_anchor
from .keys import Anchor, AnyPublicKey, fingerprint

CHANGED = "the file was changed after it was signed, or the signature was made with another key"
STATES: dict[str, SignatureState] = {"trusted": "valid", "expired": "valid_expired", "untrusted": "valid_untrusted"}


def check_by_certificate(
    algorithm: str,
    value: bytes,
    signed: bytes,
    certificates: Sequence[x509.Certificate],
    anchors: Sequence[Anchor],
    at: datetime,
) -> tuple[Signature, Judgement]:
    """Of a signature with the certificate of its signer, and those above it."""
    judgement, key = judge(certificates, anchors, at), certificates[0].public_key()
    try:
        genuine = algorithms.verifies(algorithm, key, value, signed)
    except algorithms.WrongKeyKind as error:
        return Signature("invalid", detail=f"{error}."), judgement
    if not genuine:
        detail = f"{algorithm} does not verify with the key of {judgement.signer}: {CHANGED}."
        return Signature("invalid", detail=detail), judgement
    return _genuine(algorithm, key, judgement), judgement


def check_by_anchors(
    algorithm: str, value: bytes, signed: bytes, anchors: Sequence[Anchor], at: datetime
) -> tuple[Signature, Judgement | None] | None:
    """Of a signature without a certificate; None when there is no key that it should be of.

    A bare key is trusted to sign whatever comes: what it did not sign is invalid, though it may be of a stranger.
    """
    fitting = [anchor for anchor in anchors if algorithms.fits(algorithm, anchor.key)]
    for anchor in fitting:
        if algorithms.verifies(algorithm, anchor.key, value, signed):
            judgement = judge_anchor(anchor, at)
            return _genuine(algorithm, anchor.key, judgement), judgement
    expected = ", ".join(anchor.title for anchor in fitting if anchor.is_pinned)
    if not expected:
        return None
    detail = f"{algorithm} does not verify with the key of {expected[:200]}: {CHANGED}."
    return Signature("invalid", detail=detail), None


def _genuine(algorithm: str, key: AnyPublicKey, judgement: Judgement) -> Signature:
    detail = f"{algorithm}, key SHA-256 {fingerprint(key)}; {judgement.reason}."
    return Signature(STATES[judgement.state], judgement.signer, detail, until=judgement.until)
