"""Zip archives of strangers: nothing is extracted by its name, and no size is believed."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, cast
from zipfile import ZipInfo

from sessions_app.rendering import numbers

from ...drafts import Finding, FormatError

MAX_MEMBERS = 10_000
MAX_RATIO = 200
"""Deflate can reach 1,032 (RFC 1951: a run of 258 bytes in two bits)."""
HARMLESS = 1024 * 1024
"""Bytes up to which the ratio does not matter."""
MAX_DIRECTORY = 4 * 1024 * 1024
"""Bytes of the list of members, 400 for each of the most there may be: it is read whole, into objects of 0.5 KB."""
IN_MEMORY = 1024 * 1024
"""Bytes of a member beyond which it waits on disk."""
CHUNK = 1024 * 1024
MAX_NAME = 1_000
MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x2041
"""Bits 0, 6 and 13 of the general purpose flag (APPNOTE.TXT 4.4.4)."""
_DAMAGE = (zipfile.BadZipFile, zipfile.LargeZipFile, ValueError, struct.error, NotImplementedError, EOFError, OSError)


def is_zip(source: BinaryIO) -> bool:
    """Whether a stream is a zip archive by its first bytes; it is left at its start."""
    source.seek(0)
    magic = source.read(4)
    source.seek(0)
    return magic in MAGIC


class Archive:
    """The members of a zip archive that may be read, and why others may not."""

    def __init__(self, source: BinaryIO) -> None:
        """Raises ``FormatError`` for what is damaged, or has too many members."""
        try:
            self._zip = zipfile.ZipFile(cast(IO[bytes], _Bounded(source)))
        except _DAMAGE as error:
            raise FormatError(f"the zip archive is damaged: {error}") from None
        listed = self._zip.infolist()
        if len(listed) > MAX_MEMBERS:
            raise FormatError(f"the zip archive has {len(listed):,} members; {MAX_MEMBERS:,} are the limit")
        self.packed = _size_of(source)
        self.unpacked = sum(info.file_size for info in listed)
        self.members: list[ZipInfo] = []
        self.refused: list[Finding] = []
        """Members that are not what an honest archive holds."""
        names = Counter(_plain(info.filename) for info in listed)
        self._by_name: dict[str, ZipInfo] = {}
        for info in listed:
            if reason := _refusal(info, names):
                self.refused.append(reason)
            elif not info.is_dir():
                self.members.append(info)
                self._by_name[info.filename] = info

    def check_size(self, most: int) -> None:
        """Raises ``FormatError`` for what unpacks to more than ``most`` bytes, or is a bomb."""
        if self.unpacked > most:
            raise FormatError(
                f"the zip archive unpacks to {numbers.size(self.unpacked)}, more than the limit of {numbers.size(most)}"
            )
        # A small archive may be compressed as well as it likes; the ratio tells bombs only among large ones.
        if self.unpacked > max(HARMLESS, MAX_RATIO * self.packed):
            raise FormatError(f"the zip archive unpacks to over {MAX_RATIO} times its size, as only bombs do")

    @property
    def names(self) -> Collection[str]:
        """Names of the members that may be read."""
        return self._by_name.keys()

    def member(self, name: str) -> ZipInfo | None:
        """The member of exactly this name that may be read."""
        return self._by_name.get(name)

    def chunks(self, member: ZipInfo) -> Iterator[bytes]:
        """The bytes of a member in pieces of a megabyte. Raises ``FormatError`` where they are damaged."""
        try:
            with self._zip.open(member) as packed:  # gives no more than the size that was declared and checked
                while chunk := packed.read(CHUNK):
                    yield chunk
        except (*_DAMAGE, zlib.error) as error:
            raise FormatError(f"it is damaged: {error}") from None

    @contextmanager
    def open(self, member: ZipInfo) -> Iterator[BinaryIO]:
        """The bytes of a member, as a file that can be read twice. Raises ``FormatError`` where they are damaged."""
        with SpooledTemporaryFile(max_size=IN_MEMORY) as file:
            for chunk in self.chunks(member):  # not writelines, which takes everything into memory first
                file.write(chunk)
            file.seek(0)
            yield cast(BinaryIO, file)


def headers(source: BinaryIO) -> bytes:
    """The headers of members as they stand before each of them (APPNOTE.TXT 4.3.7), with nothing between."""
    try:
        listed = zipfile.ZipFile(cast(IO[bytes], _Bounded(source))).infolist()
    except _DAMAGE:
        return MAGIC[0]
    finally:
        source.seek(0)
    names = (info.orig_filename.encode(errors="replace")[:MAX_NAME] for info in listed)
    return b"".join(struct.pack("<4s22xHH", MAGIC[0], len(name), 0) + name for name in names)


def name_without_suffix(member: ZipInfo) -> str:
    """The last part of a name without its suffix."""
    return PurePosixPath(member.filename).stem


def _refusal(info: ZipInfo, names: Counter[str]) -> Finding | None:
    """Why a member is not read."""
    # The upper 16 bits are the Unix mode (APPNOTE.TXT 4.4.15); 0 where another system made the archive.
    kind = stat.S_IFMT(info.external_attr >> 16)
    if _is_unsafe(info.orig_filename):
        rule, message = "unsafe-name", "the name is no plain path inside the archive; the member is not read"
    elif kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        rule, message = "link", "a link or a device, not a file; it is not followed"
    # Two programs could read two different members of one name, so none is believed.
    elif names[_plain(info.filename)] > 1:
        rule, message = "duplicate-name", "several members have this name, none of them is read"
    elif info.flag_bits & _ENCRYPTED:
        rule, message = "encrypted", "the member is encrypted and is not read; unpack the archive and import the file"
    elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        rule, message = "compression", f"compressed by method {info.compress_type}; only stored and deflated are read"
    else:
        return None
    return Finding(f"zip.{rule}", "error", info.filename[:MAX_NAME], message)


def _is_unsafe(name: str) -> bool:
    """Absolute, of a drive, leading out, or no name at all: refused though no name is ever used to write a file."""
    parts = _plain(name).rstrip("/").split("/")
    # A drive letter is absolute on Windows, though PurePosixPath takes it for a plain name.
    drive = re.match(r"[A-Za-z]:", name)
    return bool(drive) or "\0" in name or len(name) > MAX_NAME or ".." in parts or "" in parts[:1]


def _plain(name: str) -> str:
    return str(name).replace("\\", "/")


def _size_of(source: BinaryIO) -> int:
    size = source.seek(0, 2)
    source.seek(0)
    return size


class _Bounded:
    """A file that gives no more at a time than a list of members may take, whatever length an archive declares."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.seek, self.tell, self.seekable = source.seek, source.tell, source.seekable

    def read(self, size: int = -1) -> bytes:
        # zipfile reads the whole directory at once, in the length that the archive itself declares.
        if size > MAX_DIRECTORY:
            raise zipfile.BadZipFile(f"a list of members of {size:,} bytes; {MAX_DIRECTORY:,} are the limit")
        return self._source.read(size if size >= 0 else MAX_DIRECTORY)
