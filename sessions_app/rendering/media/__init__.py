"""Images, sound and files that stand as base64 in a record: found, and told apart by their first bytes alone.

Nothing is decoded but base64, and nothing is fetched: what is only an address is given as words.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import orjson

from . import image_size

MOST = 20
"""Pieces of one record that are shown."""
LARGEST = 16 * 1024 * 1024
"""Bytes of one piece."""
MOST_PIXELS = 40_000_000
"""Of an image that a browser is given to draw: a PNG of 5 KB may unfold to gigabytes."""
SHORTEST = 40
"""Characters of base64 that may hold a picture; the smallest GIF has 35 bytes."""
NODES, DEPTH, NESTED = 200_000, 100, 3
"""Values of a record that are looked at, how deep, and how often JSON in a string is opened."""

SUFFIXES = {
    "image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp",
    "audio/mpeg": "mp3", "audio/wav": "wav", "audio/ogg": "ogg", "audio/mp4": "m4a",
}  # fmt: skip
"""What a browser shows or plays here; SVG and HTML are not among them, since they run scripts."""
TYPED = (
    "media_type", "mediatype", "mediaType", "mimeType", "mimetype", "mime_type", "mime", "encoding", "format",
)  # fmt: skip
"""Members by which an object says that the string beside them is content, not text."""
PAYLOADS = frozenset({"data", "base64", "body", "file_data", "blob", "content"})
ADDRESSES = ("url", "image_url", "fileUri", "uri")
KINDS = ("image", "audio", "input_image", "input_audio", "image_url", "fileData", "document", "file")


@dataclass(frozen=True, slots=True)
class Piece:
    """One image, sound or file. ``media_type`` is what its bytes are; empty where they are neither image nor sound."""

    data: bytes
    media_type: str
    width: int = 0
    height: int = 0

    @property
    def kind(self) -> str:
        """image, audio, or file: what is only handed out."""
        kind = self.media_type.partition("/")[0] or "file"
        return "file" if kind == "image" and not 0 < self.width * self.height <= MOST_PIXELS else kind

    @property
    def suffix(self) -> str:
        return SUFFIXES.get(self.media_type, "bin")


@dataclass(slots=True)
class Media:
    """What was found in a record, in its order, each once."""

    pieces: list[Piece] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    """Where something is said to lie that is not in the record."""
    more: bool = False
    """Whether there is more than ``MOST``, or a piece that is too large."""
    _seen: set[bytes] = field(default_factory=set)

    def take(self, data: bytes) -> None:
        digest = hashlib.sha256(data).digest()
        if digest in self._seen or not data:
            return
        self._seen.add(digest)
        if len(self.pieces) >= MOST or len(data) > LARGEST:
            self.more = True
        else:
            self.pieces.append(piece_of(data))

    def point(self, address: str) -> None:
        if len(self.addresses) < MOST and address not in self.addresses:
            self.addresses.append(address)


def piece_of(data: bytes) -> Piece:
    media_type = sniffed(data)
    width, height = image_size.of(data, media_type) if media_type.startswith("image/") else (0, 0)
    return Piece(data, media_type, width, height)


def sniffed(data: bytes) -> str:
    """The media type that the first bytes say, of those in ``SUFFIXES``; empty for any other."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(data[8:12], "")
    if data.startswith(b"OggS"):
        return "audio/ogg"
    if data[4:8] == b"ftyp" and data[8:11] in (b"M4A", b"M4B", b"mp4", b"iso", b"das"):
        return "audio/mp4"
    return "audio/mpeg" if data.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")) else ""


def media_of(*values: Any) -> Media:
    """The images, sounds and files in JSON values."""
    found, budget = Media(), NODES
    walks = [_walk(value, 0) for value in values]
    for walk in walks:
        for piece in walk:
            budget -= 1
            if budget < 0:
                found.more = True
                return found
            if isinstance(piece, bytes):
                found.take(piece)
            elif piece:
                found.point(piece)
    return found


def _walk(value: Any, nested: int) -> Iterator[bytes | str]:
    """Bytes and addresses in the order of the record; an empty string for each value that is neither."""
    stack: list[tuple[Any, dict[str, Any], str, int]] = [(value, {}, "", 0)]
    while stack:
        one, holder, key, depth = stack.pop()
        yield ""
        if depth > DEPTH:
            continue
        if isinstance(one, dict):
            yield from _address(one)
            stack.extend((inner, one, name, depth + 1) for name, inner in reversed(one.items()))
        elif isinstance(one, list):
            stack.extend((inner, holder, key, depth + 1) for inner in reversed(one))
        elif isinstance(one, str) and len(one) >= SHORTEST:
            yield from _in_text(one, holder, key, nested)


def _in_text(text: str, holder: dict[str, Any], key: str, nested: int) -> Iterator[bytes | str]:
    if text.startswith("data:"):
        head, comma, body = text.partition(",")
        if comma and head.endswith(";base64") and (data := decoded(body)) is not None:
            yield data
    elif text[0] in "{[" and nested < NESTED:
        try:
            inner = orjson.loads(text)
        except orjson.JSONDecodeError:
            return
        yield from _walk(inner, nested + 1)
    elif _is_payload(text, holder, key) and (data := decoded(text)) is not None:
        yield data


def _is_payload(text: str, holder: dict[str, Any], key: str) -> bool:
    """Whether a string is said to be bytes, or begins as an image or sound does."""
    return (key in PAYLOADS and _says_content(holder)) or bool(sniffed(decoded(text[:64]) or b""))


def _says_content(holder: dict[str, Any]) -> bool:
    """Whether an object says that what stands in it is bytes: an encoding of base64, or a type that is no text."""
    if str(holder.get("encoding") or holder.get("type")).startswith("base64"):
        return True
    said = next((held for name in TYPED if isinstance(held := holder.get(name), str)), "")
    return "/" in said and not said.startswith("text/") and "json" not in said and "encoding" not in holder


def _address(item: dict[str, Any]) -> Iterator[str]:
    """The web address of an image or file that an object names instead of holding it."""
    if item.get("type") not in KINDS and not any(name in item for name in TYPED):
        return
    for name in ADDRESSES:
        said = item.get(name)
        said = said.get("url") if isinstance(said, dict) else said
        if isinstance(said, str) and len(said) <= 2_000 and _is_web(said):
            yield said


def _is_web(address: str) -> bool:
    try:
        return urlsplit(address).scheme in ("http", "https") and address.isprintable() and " " not in address
    except ValueError:
        return False


def decoded(text: str) -> bytes | None:
    """Bytes of base64 or base64url, with or without padding and line ends; None for anything else."""
    if len(text) > LARGEST * 3 // 2:
        return None
    plain = text.translate(_STANDARD).strip().rstrip("=")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


_STANDARD = str.maketrans("-_", "+/", "\r\n")


def may_hold_media(data: Any, size: int | None, light: int) -> bool:
    """Whether a page should look for media in an event, from its ``data`` as a row of the timeline has it.

    ``size`` is that of the whole; of more than ``light`` bytes the row has the beginnings only.
    """
    if not isinstance(data, dict):
        return False
    if isinstance(data.get("attachments"), list) and data["attachments"]:
        return True
    said = data.get("mediatype")
    if isinstance(said, str) and (data.get("size") or said.startswith(("image/", "audio/"))):
        return True
    return (size or 0) > light or _names_media(data)


def _names_media(data: Any) -> bool:
    stack, looked = [data], 0
    while stack and looked < 500:
        one, looked = stack.pop(), looked + 1
        if isinstance(one, dict):
            if one.get("type") in KINDS:
                return True
            stack.extend(one.values())
        elif isinstance(one, list):
            stack.extend(one)
    return False
