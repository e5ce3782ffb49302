"""Where an eval log keeps its samples: one JSON object, read as a stream, or a zip with a member for each.

Members are read into memory one at a time and never written anywhere; what they claim to unpack to is checked before
the first byte, and what they do unpack to while it is read.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import ijson
from ijson.common import ObjectBuilder

from ...drafts import Finding, FormatError
from ..common.head import open_plain
from ..common.jsonio import Unreadable, loads
from ..common.lines import Item, Line, objects
from ..common.records import MAX_DOCUMENT, listed
from ..common.streamed import tokens
from ..common.values import dict_of

FORMAT = "inspect"
MOST_UNPACKED = 500 * 1024**2
"""Bytes that all members together may unpack to."""
MOST_RATIO = 200
"""Times its size that a member may unpack to: text packs about ten to one."""
SMALL = 1024**2
"""Bytes that a member may unpack to from however few."""
MOST_MEMBERS = 100_000
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
ZSTANDARD = 93
ENCRYPTED = 0x1
HEADERS = ("header.json", "_journal/start.json")
"""Of a log that is complete, and of one that is still written or broke off."""
LONG = frozenset({"samples", "reductions"})
"""Keys of the JSON form that are no header."""


def header_of(source: BinaryIO) -> dict[str, Any]:
    """Header of a JSON log, without its samples; of a file that is cut off, the part before the end."""
    found: dict[str, Any] = {}
    builder, key = ObjectBuilder(), ""
    try:
        for depth, event, value in tokens(open_plain(source)):
            if depth == 0 or (depth == 1 and event == "map_key"):
                if event == "map_key":
                    key, builder = value, ObjectBuilder()
                    if key == "samples" and "eval" in found:
                        break
            elif key not in LONG:
                builder.event(event, value)
                found[key] = builder.value
    except (ijson.JSONError, UnicodeDecodeError):
        pass  # the samples are read next, and tell of it
    return found


def json_samples(source: BinaryIO) -> Iterator[Item]:
    """The samples of a JSON log, one at a time."""
    source.seek(0)
    yield from listed(source, FORMAT, "samples")


class Archive:
    """A zipped log. Raises ``FormatError`` for what is no zip, is too large, or cannot be unpacked here."""

    def __init__(self, source: BinaryIO) -> None:
        try:
            self._zip = zipfile.ZipFile(source)
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise FormatError(f"the zip archive cannot be read: {error}") from None
        self._members = {member.filename: member for member in self._zip.infolist()}
        self._unpacked = 0
        self._check()

    def _check(self) -> None:
        if len(self._members) > MOST_MEMBERS:
            raise FormatError(f"the zip archive has {len(self._members):,} members; at most {MOST_MEMBERS:,} are read")
        total = sum(member.file_size for member in self._members.values())
        if total > MOST_UNPACKED:
            raise FormatError(f"it would unpack to {total:,} bytes; at most {MOST_UNPACKED:,} are read")
        for name, member in self._members.items():
            if member.compress_type not in METHODS and (name in HEADERS or _is_sample(name)):
                raise FormatError(_unsupported_method(name, member.compress_type))
            if member.file_size > max(SMALL, member.compress_size * MOST_RATIO):
                raise FormatError(
                    f"{name[:100]!r} would unpack to {member.file_size:,} bytes from {member.compress_size:,}: "
                    f"more than {MOST_RATIO} times its size is not read"
                )

    def header(self) -> dict[str, Any]:
        """The log's header; of a log that is not finished, the one written at its start."""
        name = next((name for name in HEADERS if name in self._members), "")
        if not name:
            raise FormatError("it is a zip archive without header.json or _journal/start.json: no eval log")
        try:
            return dict_of(loads(self._read(name))[0])
        except Unreadable as error:
            raise FormatError(f"{name} cannot be read: {error}") from None

    def samples(self) -> Iterator[Item]:
        """The samples in the order of the directory; one that cannot be parsed is told and left out."""
        for name in filter(_is_sample, self._members):
            if self._members[name].file_size > MAX_DOCUMENT:
                message = f"{name} is larger than {MAX_DOCUMENT // 1024**2} MB; left out"
                yield Finding("large-sample", "warning", f"/{name}", message)
                continue
            for item in objects(self._read(name).strip(), f"/{name}", None, last=False):
                if isinstance(item, (Line, Finding)):
                    yield item

    def _read(self, name: str) -> bytes:
        member = self._members[name]
        if member.flag_bits & ENCRYPTED:
            raise FormatError(f"{name[:100]!r} in the zip archive is encrypted; decrypt it first")
        try:
            with self._zip.open(member) as stream:
                data = stream.read(MOST_UNPACKED - self._unpacked + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise FormatError(f"{name[:100]!r} in the zip archive is damaged: {error}") from None
        self._unpacked += len(data)
        if self._unpacked > MOST_UNPACKED:
            raise FormatError(f"it unpacks to more than {MOST_UNPACKED:,} bytes, which are not read")
        return data


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _unsupported_method(name: str, method: int) -> str:
    what = "with Zstandard (zip method 93)" if method == ZSTANDARD else f"by zip method {method}"
    return f"{name[:100]!r} is packed {what}, which is not read here: write the log anew with 'inspect log convert'"
