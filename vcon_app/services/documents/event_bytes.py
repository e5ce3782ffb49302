"""The bytes an event was read from, found again in its source document."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO

import orjson

from sessions_app.models import Event
from vcon_app import registry
from vcon_app.drafts import FormatError
from vcon_app.formats.common import jsonio
from vcon_app.formats.common.head import DAMAGE, open_plain, why_damaged
from vcon_app.models import SourceDocument

from . import archives, decryption, documents

SHOWN = 256 * 1024
"""Bytes that a page shows of a record."""
WHOLE = 64 * 1024 * 1024
"""Bytes that a download gives of a record."""
PARSED = 16 * 1024 * 1024
"""A document up to this size is parsed to find what a pointer names; larger ones have byte ranges or are downloaded."""
_LINE = re.compile(r"L([0-9]{1,9})(?:/|$)")


class NotShown(Exception):
    """The record cannot be shown; the message says why."""


@dataclass(frozen=True, slots=True)
class EventBytes:
    """The bytes of the record that an event was read from, perhaps cut, and how many there are in all."""

    data: bytes
    size: int
    is_exact: bool
    """Whether these are the very bytes of the file; a value found by its pointer was parsed and written again."""

    @property
    def cut(self) -> bool:
        return len(self.data) < self.size

    @property
    def text(self) -> str:
        """As indented JSON where it is whole and JSON, else as it stands."""
        if not self.cut:
            try:
                return orjson.dumps(orjson.loads(self.data), option=orjson.OPT_INDENT_2).decode()
            except orjson.JSONDecodeError:
                return self.data.decode(errors="replace")
        return self.data.decode(errors="replace")


def read(event: Event, document: SourceDocument, limit: int = SHOWN) -> EventBytes:
    """The bytes an event was read from, at most ``limit`` of them. Raises ``NotShown``."""
    try:
        with documents.open_document(document) as source, archives.open_part(source, event.pointer) as (file, pointer):
            return _bytes_of(event, file, pointer, limit)
    except FileNotFoundError:
        raise NotShown("The bytes of this document are not in the storage any more.") from None
    except FormatError as error:
        raise NotShown(f"It cannot be read again: {error}") from None
    except DAMAGE as fault:
        raise NotShown(f"It cannot be read again, since {why_damaged(fault)}") from None


def _bytes_of(event: Event, file: BinaryIO, pointer: str, limit: int) -> EventBytes:
    if event.offset is not None and event.length is not None:
        file.seek(event.offset)
        return EventBytes(file.read(min(event.length, limit)), event.length, is_exact=True)
    whole = open_plain(_open_decrypted(event, file)).read(PARSED + 1)
    if len(whole) > PARSED:
        raise NotShown("The file is too large to find one part of it here; download it and look at the pointer.")
    line = _LINE.match(pointer)
    data = _line(whole, int(line[1])) if line else _value(whole, pointer)
    return EventBytes(data[:limit], len(data), is_exact=False)


def _line(document: bytes, number: int) -> bytes:
    """A line of a file that is packed or in UTF-16: its lines have no place among the bytes that came."""
    lines = document.split(b"\n", number)
    if not 0 < number <= len(lines):
        raise NotShown(f"Line {number:,} cannot be found again in the file.")
    return lines[number - 1]


def _open_decrypted(event: Event, file: BinaryIO) -> BinaryIO:
    """The document as it was read: pointers lead into what an encrypted one holds."""
    format = registry.readers().get(event.session.source_format)
    try:
        return decryption.decrypted(format, file) if format else file
    except FormatError as error:
        raise NotShown(str(error)) from None


def _value(document: bytes, pointer: str) -> bytes:
    try:
        value = at_pointer(jsonio.loads(document)[0], pointer)
        return orjson.dumps(value, option=orjson.OPT_INDENT_2)
    except (jsonio.Unreadable, LookupError, ValueError) as error:
        raise NotShown(
            f"The place {pointer or 'of the whole file'} cannot be found again in the file: {error}."
        ) from None


def at_pointer(value: Any, pointer: str) -> Any:
    """The value a JSON pointer (RFC 6901) names. Goes on inside strings that hold JSON, plain or as base64url.

    Raises ``LookupError`` or ``ValueError`` where there is nothing.
    """
    for token in _tokens(pointer):
        value = _parsed_if_text(value)
        if isinstance(value, list) and token.isdecimal():
            value = value[int(token)]
        elif isinstance(value, dict):
            value = value[token]
        else:
            raise LookupError(f"{token[:50]!r} leads nowhere")
    return value


def _tokens(pointer: str) -> Iterable[str]:
    return (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])


def _parsed_if_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = value.encode()
    if not text.lstrip().startswith((b"{", b"[")):
        try:
            text = base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))
        except binascii.Error:
            raise LookupError("a string is in the way") from None
    return jsonio.loads(text)[0]
