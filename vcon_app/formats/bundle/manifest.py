"""Reading of a manifest, which a stranger may have written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ...drafts import FormatError
from ..common import jsonio
from ..common.zips import Archive
from .layout import FORMAT, MANIFEST, VERSION
from .packing import Member

LARGEST = 1024 * 1024
"""Bytes; ours have two thousand."""
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest, with the bytes that the signature covers."""

    data: bytes
    value: dict[str, Any]
    members: dict[str, Member]
    """By path."""

    def part(self, name: str) -> dict[str, Any]:
        """``original``, ``vcon``, ``audit``, ``exported``, ``session``: an object, empty where there is none."""
        found = self.value.get(name)
        return found if isinstance(found, dict) else {}

    def text(self, part: str, name: str) -> str:
        found = self.part(part).get(name)
        return found if isinstance(found, str) else ""


def read(archive: Archive) -> Manifest:
    """Raises ``FormatError``: it is not there, not readable, or of a format or version that is not known here."""
    try:
        data = small_member(archive, MANIFEST, LARGEST)
        value, _ = jsonio.loads(data)
    except (jsonio.Unreadable, FormatError) as error:
        raise FormatError(f"{MANIFEST} cannot be read: {error}") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise FormatError(f"{MANIFEST} does not say that this is a {FORMAT}")
    if value.get("version") != VERSION:
        said = str(value.get("version"))[:20]
        raise FormatError(f"{MANIFEST} is of version {said}; version {VERSION} is known here: use a newer Countersign")
    return Manifest(data, value, _members(value.get("members")))


def small_member(archive: Archive, name: str, most: int) -> bytes:
    """The bytes of a member. Raises ``FormatError``: it is not there, has more than ``most`` bytes, or is damaged."""
    member = archive.member(name)
    if member is None:
        raise FormatError(f"there is no {name}")
    if member.file_size > most:
        raise FormatError(f"{name} has {member.file_size:,} bytes; {most:,} are the limit")
    return b"".join(archive.chunks(member))


def _members(rows: Any) -> dict[str, Member]:
    found = [_member(row) for row in rows] if isinstance(rows, list) else []
    by_path = {member.path: member for member in found}
    if not found or len(by_path) < len(found):
        raise FormatError(f"{MANIFEST} does not list members, each once")
    return by_path


def _member(row: Any) -> Member:
    row = row if isinstance(row, dict) else {}
    path, size, sha256 = row.get("path"), row.get("size"), row.get("sha256")
    if isinstance(path, str) and type(size) is int and isinstance(sha256, str) and _SHA256.fullmatch(sha256):
        return Member(path, str(row.get("media_type", "")), size, sha256)
    raise FormatError(f"{MANIFEST} has a member without path, size and SHA-256: {str(row)[:80]}")
