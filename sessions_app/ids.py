"""UUIDv7 (RFC 9562 §5.7): ids that sort by time and can be made on any machine."""

from __future__ import annotations

import os
import time
from uuid import UUID


def uuid7() -> UUID:
    """One new id; Python has its own only from 3.14 on."""
    return UUID(uuid7_texts(1)[0])


def uuid7_texts(count: int) -> list[str]:
    """``count`` new ids as 32 hexadecimal digits, in ascending order: one read of the clock and of randomness for all.

    The 12 bits of ``rand_a`` hold a counter (RFC 9562 §6.2, method 1), so order holds for 4,096 ids of a
    millisecond; after that the millisecond moves on.
    """
    start = time.time_ns() // 1_000_000
    noise = os.urandom(8 * count)
    ids = []
    for i in range(count):
        millisecond, counter = start + (i >> 12), i & 0xFFF
        tail = int.from_bytes(noise[8 * i : 8 * i + 8]) & 0x3FFF_FFFF_FFFF_FFFF
        ids.append(f"{millisecond << 80 | 0x7 << 76 | counter << 64 | 0x2 << 62 | tail:032x}")
    return ids
