"""A zip archive made piece by piece: memory holds a megabyte of it, however large its members are."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any

BOMBLIKE = 100
"""What packs better than this is stored as it is: archives of a higher ratio look like bombs to careful readers."""
FIRST = datetime(1980, 1, 1, tzinfo=UTC)
"""Zip archives know no time before (APPNOTE.TXT 4.4.6)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A row of the manifest; ``size`` in bytes, ``sha256`` in hex."""

    path: str
    media_type: str
    size: int
    sha256: str

    def row(self) -> dict[str, Any]:
        return asdict(self)


class Packing:
    """Members one after the other; :attr:`members` lists those that are packed. Zip64 where sizes ask for it."""

    def __init__(self, at: datetime) -> None:
        self.members: list[Member] = []
        # Zip times begin in 1980 (APPNOTE.TXT 4.4.6).
        self._time = max(at.astimezone(UTC), FIRST).timetuple()[:6]
        self._pieces = _Pieces()
        self._zip = zipfile.ZipFile(self._pieces, "w")  # type: ignore[arg-type]  # it needs nothing but write and flush

    def add(self, path: str, media_type: str, chunks: Iterable[bytes], size: int | None = None) -> Iterator[bytes]:
        """Pieces of the archive with this member.

        ``size`` is needed for what may be larger than 2 GB, before it is read.
        """
        stream = iter(chunks)
        first = next(stream, b"")
        info = zipfile.ZipInfo(path, self._time)
        # 3 is Unix: a plain file, whatever system packs it, so the same content gives the same bytes.
        info.create_system, info.external_attr = 3, 0o100644 << 16
        # What shrinks too well would be refused as a bomb by readers like our own.
        info.compress_type = zipfile.ZIP_STORED if _is_bomblike(first) else zipfile.ZIP_DEFLATED
        info.file_size = size if size is not None else len(first)
        digest, length = hashlib.sha256(), 0
        with self._zip.open(info, "w") as packed:
            for chunk in chain((first,), stream):
                digest.update(chunk)
                length += len(chunk)
                packed.write(chunk)
                yield from self._pieces.take_pieces()
        yield from self._pieces.take_pieces()
        self.members.append(Member(path, media_type, length, digest.hexdigest()))

    def finish(self) -> Iterator[bytes]:
        """The list of members, which ends the archive."""
        self._zip.close()
        yield from self._pieces.take_pieces()


class _Pieces:
    """Output buffer for ``zipfile``. It cannot be sought, so ``zipfile`` writes sizes behind each member."""

    def __init__(self) -> None:
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._waiting.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """No-op: ``zipfile`` asks for it, and every write is already in the buffer."""

    def take_pieces(self) -> Iterator[bytes]:
        waiting, self._waiting = self._waiting, []
        yield from filter(None, waiting)


def _is_bomblike(first: bytes) -> bool:
    return len(first) > BOMBLIKE * len(zlib.compress(first, 1))
