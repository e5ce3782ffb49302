"""The first bytes of a file, looked at once for all formats."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable
from functools import cached_property
from typing import Any, BinaryIO, cast

import ijson
import orjson

from .encodings import utf16, zstandard
from .jsonio import MAX_DEPTH, Unreadable, loads
from .sqlite.opening import Tables, tables_in
from .streamed import PIECE, Pieces, parsed

SIZES = (64 * 1024, 1024 * 1024, 16 * 1024 * 1024)
"""How much is looked at before giving up: a first line may be 27 KB long, an attachment megabytes."""

ZIP = b"PK\x03\x04"
SHAPE_LEVELS = 4
OBJECTS = 50
FOLLOWED = re.compile(rb"\}\s*\{")
"""Where one object follows another; within JSON it can stand in a text only."""
OPENED = re.compile(r"[\s,]*\{")
LONG = re.compile(rb"(?<![\d.eE+-])-?\d{19,}(?![\d.eE])")
"""Integers that ijson refuses to read, of more than 64 bits, as tools write them in nanoseconds or from floats."""
MARKS = {"start_map": "{", "start_array": "["}
DAMAGE = (gzip.BadGzipFile, zlib.error, EOFError, zstandard.ZstdError)
"""What reading from ``open_plain`` raises where the compressed data is damaged or cut off."""


def why_damaged(error: Exception) -> str:
    """What is wrong with a packed file, by what reading it raised, as a clause about "it"."""
    if isinstance(error, EOFError):
        return "its compressed data ends in the middle: the file was cut off, so take it anew from where it was made"
    return f"its compressed data is damaged: {error}"


class Head:
    """The first bytes of a document (unpacked, in UTF-8) and what they look like as JSON."""

    def __init__(self, data: bytes, size: int = SIZES[0]) -> None:
        """``size`` bounds what a packed body may grow to (zip bombs); plain bytes are taken as they are."""
        self.raw = data
        self.size = size
        self.data = _gunzip(data, size) if data[:2] == b"\x1f\x8b" else data
        if data.startswith(zstandard.MAGIC):
            self.data = zstandard.begun(data, size)
        if data[:2] in utf16.MARKS:
            self.data = utf16.as_utf8(data)

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """The JSON objects among the first 50 complete lines; empty when the file is one document, or an archive.

        Where the first line is none, those that follow one another, if these are more.
        """
        found: list[dict[str, Any]] = []
        if self.data.startswith(ZIP):  # stored members show their lines as they are
            return found
        first = True
        pieces = self.data.removeprefix(b"\xef\xbb\xbf").split(b"\n", OBJECTS)
        if len(self.data) >= self.size or len(pieces) > OBJECTS:
            pieces[-1] = b""  # cut off: to find that out by parsing it takes five times its size in memory
        for number, line in enumerate(pieces):
            try:
                value, _ = loads(line)
            except Unreadable:
                first &= number > 0
                continue
            if isinstance(value, dict):
                found.append(value)
        return found if first or len(self.objects) <= max(len(found), 1) else self.objects

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """As ``lines``; of a document that is a list, the objects among its first items: programs join lines so. One
        object that is laid out over many lines is a record as it is on one."""
        return self.lines or self._listed or self.objects

    @cached_property
    def _listed(self) -> list[dict[str, Any]]:
        data = self.data[: SIZES[1]].removeprefix(b"\xef\xbb\xbf").lstrip()
        if not data.startswith(b"["):
            return []
        found: list[dict[str, Any]] = []
        text, at, decoder = data.decode(errors="replace"), 1, json.JSONDecoder()
        while len(found) < OBJECTS and (opened := OPENED.match(text, at)):
            try:
                value, at = decoder.raw_decode(text, opened.end() - 1)
            except (ValueError, RecursionError):
                break
            found.append(value)
        return found

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The first 50 JSON objects that follow one another, glued together or indented over many lines."""
        found: list[dict[str, Any]] = []
        data = self.data[: SIZES[1]].removeprefix(b"\xef\xbb\xbf").lstrip()
        # Every single document comes here: those of which most is missing are not parsed for nothing.
        if not data.startswith(b"{") or (len(self.data) > SIZES[0] and not FOLLOWED.search(data)):
            return found
        text, at, decoder = data.decode(errors="replace"), 0, json.JSONDecoder()
        while len(found) < OBJECTS and text.startswith("{", at):
            try:
                value, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):  # the head is cut off in the middle, or this is no JSON
                break
            found.append(value)
            at = len(text) - len(text[at:].lstrip()) if text[at : at + 1].isspace() else at
        return found

    @cached_property
    def shape(self) -> dict[str, Any]:
        """Of the first JSON document: path -> scalar, "{" or "[" for the three outer levels.

        Paths are ijson's (``session.entries.item.type``); only the first item of a list is told.
        Works on a document that is cut off.
        """
        text = self.data.removeprefix(b"\xef\xbb\xbf")
        if len(text) < SIZES[0] and (small := _shape_of_small(text)):
            return small
        shape, is_broken = _shape_of(text)
        if is_broken and LONG.search(text):
            shape, _ = _shape_of(LONG.sub(b"0", text))
        return shape

    @cached_property
    def tables(self) -> Tables:
        """Tables and their columns where it is a SQLite database."""
        return tables_in(self.raw)

    def has_table(self, name: str, *columns: str) -> bool:
        """Whether it is a SQLite database with such a table."""
        return set(columns) <= set(self.tables[name]) if name in self.tables else False

    @cached_property
    def keys(self) -> frozenset[str]:
        """Top-level keys of the first JSON object."""
        return frozenset(path for path in self.shape if path and "." not in path and path != "item")

    @cached_property
    def keys_of_item(self) -> frozenset[str]:
        """The same of the first items of a list."""
        found = (path.removeprefix("item.") for path in self.shape if path.startswith("item."))
        return frozenset(name for name in found if "." not in name)


def telling(plain: BinaryIO, claims: Callable[[Head], bool]) -> Head:
    """The smallest head by which a format claims a file, as it was recognised by it: a first line may be longer than
    the others are together. The largest where none does. The stream, which is not packed, is left at its start."""
    for size in SIZES:
        plain.seek(0)
        head = Head(plain.read(size), size)
        if len(head.data) < size or claims(head):
            break
    plain.seek(0)
    return head


def _shape_of_small(text: bytes) -> dict[str, Any]:
    """See ``Head.shape``: of a text that is one document and may be held, in a third of the time; empty for another."""
    shape: dict[str, Any] = {}
    try:
        _add_levels(shape, orjson.loads(text), "", 0)
    except orjson.JSONDecodeError:
        return {}
    return shape


def _add_levels(shape: dict[str, Any], value: Any, path: str, level: int) -> None:
    is_object = isinstance(value, dict)
    if not is_object and not isinstance(value, list):
        shape.setdefault(path, value)
        return
    shape.setdefault(path, "{" if is_object else "[")
    if level < SHAPE_LEVELS:
        within = f"{path}." if level else ""
        for name, inner in value.items() if is_object else (("item", item) for item in value):
            _add_levels(shape, inner, within + name, level + 1)


def _shape_of(text: bytes) -> tuple[dict[str, Any], bool]:
    """See ``Head.shape``; and whether something stopped it before the end of the document."""
    shape: dict[str, Any] = {}
    path: list[str] = []  # one part for each container that is open
    try:
        pieces = Pieces(io.BytesIO(text))
        for event, value in parsed(pieces, multiple_values=True):
            pieces.size = PIECE
            if event == "map_key":
                path[-1] = value
                continue
            if event.startswith("end_"):
                path.pop()
            else:
                if len(path) <= SHAPE_LEVELS:
                    shape.setdefault(".".join(path), MARKS.get(event, value))
                if event in MARKS:
                    path.append("item" if event == "start_array" else "")
            if not path or len(path) > MAX_DEPTH:  # the document ends, or nests to no purpose
                break
    except (ijson.JSONError, UnicodeDecodeError):  # cut off in the middle, or no JSON: what came before still counts
        return shape, True
    return shape, False


def _gunzip(data: bytes, size: int) -> bytes:
    try:
        return zlib.decompressobj(wbits=31).decompress(data, size)
    except zlib.error:
        return data


def open_plain(source: BinaryIO) -> BinaryIO:
    """The same stream from its start; unpacked on the way when it starts with the magic of gzip or of Zstandard, and
    as UTF-8 when it says that it is UTF-16."""
    source.seek(0)
    magic = source.read(4)
    source.seek(0)
    if magic[:2] in utf16.MARKS:
        return utf16.open_utf16(source)
    if magic == zstandard.MAGIC:
        return zstandard.open_zstd(source)
    return cast(BinaryIO, gzip.GzipFile(fileobj=source, mode="rb")) if magic[:2] == b"\x1f\x8b" else source
