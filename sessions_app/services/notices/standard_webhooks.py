"""Signatures of Standard Webhooks 1.0, sent and checked: HMAC-SHA256 over ``id.timestamp.body``. No clock, no database.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md, "Signature scheme".
"""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets

PREFIX = "whsec_"
SECRET_BYTES = 32
"""The specification wants 24 to 64."""


def new_secret() -> str:
    """``whsec_`` and random bytes in Base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def key_of(secret: str) -> bytes:
    """The bytes to sign with. Raises ValueError for what is no ``whsec_`` and Base64."""
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError(f"a secret of Standard Webhooks is {PREFIX} and Base64")
    return key


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """``v1,`` and the signature in Base64, as one of those in ``webhook-signature``. Raises as ``key_of``."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key_of(secret), signed, "sha256")).decode()


def headers(secret: str, message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of a message. Raises as ``key_of``."""
    return {
        "webhook-id": message_id, "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, message_id, str(timestamp), body),
    }  # fmt: skip
