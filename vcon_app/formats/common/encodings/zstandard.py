"""Files packed by Zstandard (RFC 8878), as Codex packs rollouts that were not opened for long."""

from __future__ import annotations

import sys
from typing import BinaryIO, cast

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

MAGIC = b"\x28\xb5\x2f\xfd"
WINDOW_LOG = 27
"""Of 128 MB: what the library itself allows, said here because a frame may ask for 2 GB."""
OPTIONS: dict[int, int] = {zstd.DecompressionParameter.window_log_max: WINDOW_LOG}
ZstdError = zstd.ZstdError


def begun(data: bytes, size: int) -> bytes:
    """What the first bytes of a packed file hold, at most ``size``; the bytes themselves where they are damaged."""
    try:
        return zstd.ZstdDecompressor(options=OPTIONS).decompress(data, size)
    except ZstdError:
        return data


def open_zstd(source: BinaryIO) -> BinaryIO:
    """The stream unpacked while it is read. Reading raises ``ZstdError`` or ``EOFError`` for damaged data."""
    return cast(BinaryIO, zstd.ZstdFile(source, options=OPTIONS))
