"""Secrets that the desk has to give out again (tokens, signing secrets), encrypted at rest.

Fernet (AES-128-CBC and HMAC-SHA256) with a key derived from ``SECRET_KEY`` by HKDF-SHA256; ``SECRET_KEY_FALLBACKS``
still decrypt what was encrypted before the key was changed.
"""

from __future__ import annotations

import base64
from functools import cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(ValueError):
    """A secret was encrypted under another ``SECRET_KEY``: it has to be entered again."""


def encrypt(secret: str) -> str:
    """Fernet token of a secret, as text to store."""
    return _keys(_configured()).encrypt(secret.encode()).decode()


def decrypt(token: str) -> str:
    """Secret of a Fernet token. Raises ``Unreadable`` for one of another key."""
    try:
        return _keys(_configured()).decrypt(token.encode()).decode()
    except InvalidToken:
        raise Unreadable("a stored secret was encrypted under another SECRET_KEY; enter it again") from None


def is_readable(token: str) -> bool:
    """Whether a stored token is of our key."""
    try:
        decrypt(token)
    except Unreadable:
        return False
    return True


def mark() -> str:
    """What two hosts compare to see that they have the same ``SECRET_KEY``: 32 hex digits, derived from it by HKDF."""
    key = str(settings.SECRET_KEY).encode()
    return HKDF(SHA256(), 16, salt=None, info=b"countersign mark of the key").derive(key).hex()


def _configured() -> tuple[str, ...]:
    # Django would take bytes as well; ours are text
    return (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)  # type: ignore[arg-type]


@cache
def _keys(secret_keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(_derived(key)) for key in secret_keys])


def _derived(secret_key: str) -> bytes:
    key = HKDF(SHA256(), 32, salt=None, info=b"countersign secrets").derive(secret_key.encode())
    return base64.urlsafe_b64encode(key)
