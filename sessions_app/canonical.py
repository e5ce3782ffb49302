"""Canonical JSON after RFC 8785: the bytes that a digest of a call is taken over, the same in every language. Pure.

One addition: integers that no double holds (RFC 8785 refuses them) are written in full, so that 9007199254740993 and
9007199254740992 are two calls. 1, 1.0 and 1e0 are one number; text is compared as it is, without Unicode normal forms.
"""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

SAFE = 2**53 - 1
"""The largest integer below which every one has a double of its own (RFC 8785, 3.2.2.3)."""


def canonical(value: Any) -> bytes:
    """Canonical form of a JSON value (UTF-8). Raises ``ValueError`` for NaN and lone surrogates."""
    if isinstance(value, dict):
        members = sorted((str(key).encode("utf-16-be"), str(key), item) for key, item in value.items())
        return b"{%s}" % b",".join(rfc8785.dumps(key) + b":" + canonical(item) for _, key, item in members)
    if isinstance(value, (list, tuple)):
        return b"[%s]" % b",".join(map(canonical, value))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE:
        return _large(value)
    return rfc8785.dumps(value)


def _large(value: int) -> bytes:
    # jsonb gives 1e22 back as an integer: where a double holds it, it has to keep the digest of the double.
    try:
        double = float(value)
    except OverflowError:
        return str(value).encode()
    return rfc8785.dumps(double) if int(double) == value else str(value).encode()


def digest(value: Any) -> str:
    """SHA-256, in hex, of the canonical form."""
    return hashlib.sha256(canonical(value)).hexdigest()


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: to Python 1 and True are equal, and {"n": 1} and {"n": true}."""
    return canonical(one) == canonical(other)
