"""Web push without a network: payloads encrypted for one browser (RFC 8291), requests signed (VAPID, RFC 8292).

Written with ``cryptography`` and PyJWT, which are here in any case. ``pywebpush`` does the same and brings 14 packages,
aiohttp and requests among them, for an HTTP client of its own that would connect to whatever address a browser names:
ours looks at it first (``guarded_http``). The tests decrypt with another's code, and have the RFC's own example.
"""

from __future__ import annotations

import base64
import binascii
import os
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

RECORD = 4096
"""Bytes of a body; a push service may refuse more (RFC 8030, section 7.2)."""
MOST = RECORD - 86 - 16 - 1
"""Bytes of a payload: without the header, the tag and the end of the padding (RFC 8291, section 4)."""
BLOCK = 512
"""Payloads are padded to a multiple of it: the push service sees their lengths alone, and those say less so."""
POINT, AUTH = 65, 16
"""Bytes of an uncompressed point of P-256, and of the secret that a browser makes for a subscription."""
VALID = timedelta(hours=12)
"""Of a signature; RFC 8292, section 2: 24 hours at most."""


def new_key() -> tuple[str, str]:
    """A private key as PEM, and its public point in Base64 for URLs."""
    key = ec.generate_private_key(ec.SECP256R1())
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return pem, base64url(_point_of(key.public_key()))


def base64url(raw: bytes) -> str:
    """Base64 for URLs, without padding."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unbase64url(text: str) -> bytes:
    """The bytes of Base64 for URLs, with padding or without. Raises ValueError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("this is no Base64 for URLs") from None


def check_keys(p256dh: str, auth: str) -> None:
    """Raises ValueError for what no browser gives as the keys of a subscription."""
    if len(unbase64url(auth)) != AUTH:
        raise ValueError(f"auth has to be {AUTH} bytes")
    point = unbase64url(p256dh)
    if len(point) != POINT:
        raise ValueError(f"p256dh has to be {POINT} bytes")
    ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)


def encrypt(
    payload: bytes, p256dh: str, auth: str, *, salt: bytes = b"", own: ec.EllipticCurvePrivateKey | None = None,
    block: int = BLOCK,
) -> bytes:  # fmt: skip
    """Body of a push, ``aes128gcm`` (RFC 8188): one record that only this browser can read.

    ``salt``, ``own`` and ``block`` are chosen here, except for the example of the RFC. Raises ValueError where the
    payload is too long, or the keys are none.
    """
    if len(payload) > MOST:
        raise ValueError(f"a push takes {MOST} bytes, not {len(payload)}")
    theirs = unbase64url(p256dh)
    own = own or ec.generate_private_key(ec.SECP256R1())
    ours = _point_of(own.public_key())
    shared = own.exchange(ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs))
    secret = _derived(shared, unbase64url(auth), b"WebPush: info\0" + theirs + ours, 32)
    salt = salt or os.urandom(16)
    key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    padding = min(-(len(payload) + 1) % block, MOST - len(payload))
    record = AESGCM(key).encrypt(nonce, payload + b"\x02" + bytes(padding), None)
    return salt + RECORD.to_bytes(4, "big") + bytes([POINT]) + ours + record


def authorization(endpoint: str, private_pem: str, public: str, contact: str, now: datetime) -> str:
    """Value of the header: who sends, signed for the origin of this push service (RFC 8292, section 3).

    ``contact`` is a ``mailto:`` or ``https:`` URL by which the push service can reach the operator.
    """
    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int((now + VALID).timestamp()), "sub": contact}
    return f"vapid t={jwt.encode(claims, private_pem, algorithm='ES256')}, k={public}"


def public_of(private_pem: str) -> str:
    """Public point of a private key, in Base64 for URLs. Raises ValueError."""
    key = load_pem_private_key(private_pem.encode(), None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("this is no key of P-256")
    return base64url(_point_of(key.public_key()))


def _point_of(key: ec.EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(SHA256(), length, salt=salt, info=info).derive(secret)
