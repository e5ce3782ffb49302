"""A signature in a file of its own: JWS in its compact form with detached content (RFC 7515 s7.1 and appendix F).

``PROTECTED..SIGNATURE``: the signature is over ``PROTECTED.PAYLOAD``, where PAYLOAD is base64url of the bytes of the
other file. Any JOSE library checks it once PAYLOAD is put between the two dots.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime

from ..drafts import Finding, Signature
from . import jws
from .jws import base64url
from .keys import Anchor, fingerprint
from .signers import Signer


def sign(content: bytes, signer: Signer) -> str:
    """The signature of ``signer`` over ``content``, with its certificates where it has some."""
    certificates = {"x5c": signer.x5c} if signer.certificates else {}
    header = {"alg": signer.algorithm, "kid": fingerprint(signer.key.public_key()), **certificates}
    protected = base64url(json.dumps(header).encode())
    return f"{protected}..{base64url(signer.sign(f'{protected}.{base64url(content)}'.encode()))}"


def check(signature: bytes, content: bytes, anchors: Sequence[Anchor], at: datetime) -> tuple[Signature, list[Finding]]:
    """The state of a detached signature over ``content``, and what is odd about it."""
    protected, dot, rest = signature.decode("ascii", "replace").strip().partition(".")
    payload, other_dot, value = rest.partition(".")
    if not dot or not other_dot or payload or not _is_canonical(value):
        return Signature("invalid", detail="It is no compact JWS with detached content (PROTECTED..SIGNATURE)."), []
    whole = {"payload": base64url(content), "signatures": [{"protected": protected, "signature": value}]}
    return jws.check(whole, anchors, at)


def _is_canonical(value: str) -> bool:
    """Whether it is the one way to write these bytes: of the last character four bits may say nothing."""
    try:
        return base64url(jws.unbase64url(value)) == value
    except jws.Malformed:
        return False
