"""A vCon of ours that only some can read (core s5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from ....signing import jwe
from ...common.jsonio import dumps

MEDIA_TYPE = "application/vcon"
"""Of what is inside; its signed form has no media type of its own."""


def encrypt(content: bytes, keys: Sequence[RSAPublicKey], options: dict[str, Any]) -> bytes:
    """The encrypted form of what ``sign`` made with ``options``."""
    return dumps(jwe.encrypt(content, keys, options["uuid"], MEDIA_TYPE))
