"""Memory that a large file took and that nothing holds any more."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

LARGE: Final = 500_000
"""Bytes of a document. Trimming takes some milliseconds, as long as reading a tenth of that."""


def give_back(read: int) -> None:
    """After a document of so many bytes was read: to the system what the C library keeps for the next one.

    glibc takes blocks of up to 32 MB from its heap once it has freed one as large (mallopt(3), M_MMAP_THRESHOLD), and
    returns only what lies behind all that is in use: a worker kept 40 MB of a file of 7.5 MB, and more with each that
    lay otherwise. Nothing happens where the C library has no ``malloc_trim``.
    """
    if read >= LARGE and (trim := _trim()) is not None:
        trim(0)


@cache
def _trim() -> Callable[[int], int] | None:
    return getattr(ctypes.CDLL(None), "malloc_trim", None)
