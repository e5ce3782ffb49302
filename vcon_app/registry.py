"""Finds the formats, and which of them a file is in: by its content, never by its name, and never by guess.

A format is a module or package in ``vcon_app.formats`` that has a ``SPEC`` (``formats.contract``). Others come from
installed packages through the entry point group ``countersign.formats``.
"""

from __future__ import annotations

import logging
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, cast

from . import formats
from .drafts import FormatError
from .formats import agents, stores
from .formats.common.describe import describe
from .formats.common.head import SIZES, Head
from .formats.contract import Format, PlacedReader, Reader, Spec, Writer

GROUP = "countersign.formats"
KNOWN = " Known are "
"""Between what a file seems to be and the names of all formats, where there is no room for these."""

logger = logging.getLogger(__name__)


class UnknownFormat(LookupError):
    """No format has that name."""


class DuplicateFormat(RuntimeError):
    """Two formats have the same name; the message names both modules."""


class Ambiguous(FormatError):
    """Several formats claim the file; ``names`` are theirs."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        super().__init__(f"This file could be {' or '.join(names)}: choose the format yourself.")


class Unrecognised(FormatError):
    """No format claims the file; the message says what it seems to be."""


@cache
def all_formats() -> Mapping[str, Format]:
    """Name -> format, closed once loaded. Raises ``DuplicateFormat``."""
    return collect([*_own(), *_third_party(entry_points(group=GROUP))])


def readers() -> dict[str, Reader]:
    """Formats that files are imported from, by name."""
    # not isinstance: for a protocol that takes 20 µs in Python 3.11, times all formats, times all files of an archive
    return {name: cast(Reader, format) for name, format in all_formats().items() if hasattr(format, "read")}


def writers() -> dict[str, Writer]:
    """Formats that sessions are exported to, by name."""
    return {name: cast(Writer, format) for name, format in all_formats().items() if hasattr(format, "write")}


def get(name: str) -> Format:
    """The format of that name. Raises ``UnknownFormat``."""
    try:
        return all_formats()[name]
    except KeyError:
        raise UnknownFormat(f"There is no format {name!r}. Known are {', '.join(all_formats())}.") from None


def reader(name: str) -> Reader:
    """The format of that name, which files are imported from. Raises ``UnknownFormat``."""
    if hasattr(format := get(name), "read"):
        return cast(Reader, format)
    raise UnknownFormat(f"Files of the format {name!r} are not read.")


def writer(name: str) -> Writer:
    """The format of that name, which sessions are exported to. Raises ``UnknownFormat``."""
    if hasattr(format := get(name), "write"):
        return cast(Writer, format)
    raise UnknownFormat(f"Files of the format {name!r} are not written.")


def detect(source: str | Path | BinaryIO) -> tuple[str, Head]:
    """The name of the one format that claims a file, and the head by which it did.

    Looks at 64 KB, then at 1 MB, then at 16 MB, until exactly one format claims it; a stream is left
    at its start. Raises ``Ambiguous`` or ``Unrecognised`` (both ``FormatError``), whatever the bytes.
    """
    if isinstance(source, (str, Path)):
        with Path(source).open("rb") as stream:
            return detect(stream)
    for size in SIZES:
        source.seek(0)
        data = source.read(size)
        complete = len(data) < size
        source.seek(0)
        head = Head(data, size)
        names = claims(head, readers())
        if len(names) == 1:
            return names[0], head
        if complete and len(head.data) < size:
            break
    if names:
        raise Ambiguous(names)
    known = ", ".join(sorted(readers()))
    what = describe(head, complete=complete)
    raise Unrecognised(f"Unsupported file format: {what}.{KNOWN}{known}.")


def may_become_another(name: str, head: Head, path: str) -> bool:
    """Whether a file that is still written may be recognised as another format than ``name`` with its next lines: it
    lies where an agent keeps its sessions, and only who asks has spoken in it yet. What an agent says tells it apart.
    """
    kept = (other for other, reader in readers().items() if isinstance(reader, PlacedReader) and other != name)
    if any("assistant" in (line.get("role"), line.get("type")) for line in head.records):
        return False
    return any(cast(PlacedReader, readers()[other]).session_in_path(path) for other in kept)


def claims(head: Head, candidates: Mapping[str, Reader]) -> list[str]:
    """Names of the formats that say the file is theirs; one that fails on it does not."""
    return sorted(name for name, format in candidates.items() if _claims(name, format, head))


def collect(found: Iterable[Format]) -> Mapping[str, Format]:
    """Name -> format, read-only. Raises ``DuplicateFormat``."""
    by_name: dict[str, Format] = {}
    for format in found:
        name = format.SPEC.name
        if (other := by_name.setdefault(name, format)) is not format:
            raise DuplicateFormat(f"{_place(other)} and {_place(format)} are both named {name!r}; rename one")
    return MappingProxyType(dict(sorted(by_name.items())))


def _own() -> Iterable[Format]:
    rooms = (formats, agents, stores)
    for info in (info for room in rooms for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}.")):
        module = import_module(info.name)
        if isinstance(module, Format):
            yield module


def _third_party(points: Iterable[EntryPoint]) -> Iterable[Format]:
    """Formats of other packages; a broken one is told in the log and left out: it is not ours to repair."""
    for point in points:
        try:
            format = point.load()
        except Exception as error:  # a stranger's import may fail in any way
            logger.warning("Format %s (%s) cannot be loaded and is left out: %r", point.name, point.value, error)
            continue
        if isinstance(format, (Reader, Writer)) and isinstance(format.SPEC, Spec):
            yield format
        else:
            reason = "it lacks a SPEC, or detect and read, or write"
            logger.warning("Format %s (%s) is left out: %s", point.name, point.value, reason)


def _claims(name: str, format: Reader, head: Head) -> bool:
    try:
        return bool(format.detect(head))
    except Exception:  # detection must answer for any bytes, also where one format has a fault
        logger.warning("Format %s failed to look at a file", name, exc_info=True)
        return False


def _place(format: Format) -> str:
    return str(getattr(format, "__name__", None) or type(format).__qualname__)
