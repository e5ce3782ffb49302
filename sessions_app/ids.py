"""UUIDv7 (RFC 9562 §5.7): ids that sort by time and can be made on any machine."""

from __future__ import annotations

import os
import threading
import time
from datetime import datetime
from uuid import UUID

_lock = threading.Lock()
_last = 0
_RANDOM, _VARIANT = (0x3FFF_FFFF_FFFF_FFFF).to_bytes(8), (0x2 << 62).to_bytes(8)
"""Of the last eight bytes: bits that are drawn, and those that are the same in each id."""


def uuid7() -> UUID:
    """One new id; Python has its own only from 3.14 on."""
    return UUID(bytes=uuid7_bytes(1)[0])


def uuid7_bytes(count: int) -> list[bytes]:
    """``count`` new ids as 16 bytes, each greater than all that this process made before.

    The 12 bits of ``rand_a`` count within a millisecond (RFC 9562 §6.2, method 1); the count carries over into
    the milliseconds, so a clock that stands or goes back does not disturb the order.
    """
    start = _reserve(count)
    noise = int.from_bytes(os.urandom(8 * count))
    tails = (noise & int.from_bytes(_RANDOM * count) | int.from_bytes(_VARIANT * count)).to_bytes(8 * count)
    return [
        (tick >> 12 << 16 | 0x7000 | tick & 0xFFF).to_bytes(8) + tails[8 * place : 8 * place + 8]
        for place, tick in enumerate(range(start, start + count))
    ]


def first_id(moment: datetime) -> UUID:
    """The least id of what is made from that moment on."""
    return UUID(int=int(moment.timestamp() * 1_000) << 80)


def _reserve(count: int) -> int:
    """The first of ``count`` ticks (a tick is 1/4096 of a millisecond) that nobody in this process has yet."""
    global _last
    with _lock:
        start = max(_last + 1, (time.time_ns() // 1_000_000) << 12)
        _last = start + count - 1
        return start
