"""Width and height of an image, read from its header: nothing of it is decoded."""

from __future__ import annotations

import struct

Size = tuple[int, int]
UNKNOWN: Size = (0, 0)


def of(data: bytes, media_type: str) -> Size:
    """Pixels, ``(0, 0)`` where the header does not say them."""
    try:
        return {"image/png": _png, "image/gif": _gif, "image/jpeg": _jpeg, "image/webp": _webp}[media_type](data)
    except (struct.error, IndexError):
        return UNKNOWN


def _png(data: bytes) -> Size:
    """IHDR is the first chunk (PNG, third edition, 11.2.1)."""
    width, height = struct.unpack_from(">II", data, 16)
    return (width, height) if data[12:16] == b"IHDR" else UNKNOWN


def _gif(data: bytes) -> Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _jpeg(data: bytes) -> Size:
    """The first start of frame (ITU T.81, B.2.2): SOF0 to SOF15 but for DHT, JPG and DAC."""
    at = 2
    while at < len(data) - 9:
        if data[at] != 0xFF:
            return UNKNOWN
        marker = data[at + 1]
        if marker == 0xFF:  # fill byte
            at += 1
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        (length,) = struct.unpack_from(">H", data, at + 2)
        at += 2 + max(length, 2)
    return UNKNOWN


def _webp(data: bytes) -> Size:
    """Lossy, lossless and extended files (RFC 9649, 2.5 to 2.7)."""
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    return UNKNOWN
