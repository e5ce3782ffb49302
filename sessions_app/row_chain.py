"""Chains of rows that say who did what and who paid what: each row's hash covers the row and the hash before. Pure."""

from __future__ import annotations

import hashlib
import json
from typing import Any

GENESIS = "0" * 64


def canonical(body: dict[str, Any]) -> str:
    """Canonical form of a row: JSON with sorted keys and without blanks."""
    # One spelling for one content: with any freedom left here, a row that nobody changed would fail its hash.
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def chained(previous: str, body: str) -> str:
    """SHA-256, in hex, over the previous hash and a row's canonical form (UTF-8)."""
    return hashlib.sha256(f"{previous}{body}".encode()).hexdigest()


def digest(body: dict[str, Any]) -> str:
    """SHA-256, in hex, of one row's canonical form."""
    return hashlib.sha256(canonical(body).encode()).hexdigest()
