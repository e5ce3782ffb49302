"""UUID version 8 as core asks for it (s4.1.2): time, random bits, and the domain of whoever makes the vCon."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha1
from uuid import UUID


def uuid8(now: datetime, fqhn: str, random_bytes: bytes) -> str:
    """48 bits of Unix milliseconds, 12 random bits, and the high 62 bits of SHA-1 over the host name.

    ``random_bytes`` gives the 12 bits (2 bytes are enough), so that the function is pure. Raises
    ``ValueError`` when there are fewer.
    """
    if len(random_bytes) < 2:
        raise ValueError(f"2 random bytes are needed, {len(random_bytes)} were given")
    milliseconds = int(now.timestamp() * 1000) & (2**48 - 1)
    rand_a = int.from_bytes(random_bytes[:2], "big") & 0xFFF
    domain = int.from_bytes(sha1(fqhn.encode(), usedforsecurity=False).digest()[:8], "big") >> 2
    return str(UUID(int=milliseconds << 80 | 8 << 76 | rand_a << 64 | 2 << 62 | domain))
