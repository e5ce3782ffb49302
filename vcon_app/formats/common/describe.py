"""Description of a file that no format claims, in words for the person who dropped it."""

from __future__ import annotations

import zlib

import orjson

from .agents.neighbours import neighbour_of
from .encodings import zstandard
from .head import SIZES, Head
from .jsonio import Unreadable, loads

_TRUST = "to check signatures with it, add it to the trust anchors in the settings"
_LOG = "what SQLite keeps beside a database, with no session in it alone: drop it together with the database"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"SQLite format 3\0", "a SQLite database: export the sessions from the tool that made it first"),
    *((magic, _LOG) for magic in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83", b"\x18\xe2\x2d\x00")),
    (b"PK\x03\x04", "a zip archive: unpack it and drop the files in it"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive: unpack it first"),
    (b"BZh", "a bzip2 archive: unpack it first"),
    (b"\xfd7zXZ\0", "an xz archive: unpack it first"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive: unpack it first"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a RIFF file (sound, film or WebP image)"),
    (b"ID3", "an MP3 recording"),
    (b"%PDF", "a PDF document"),
    (b"\x7fELF", "a Linux program"),
    (b"MZ", "a Windows program"),
    (
        b"\xd2\x84",
        "a signed CBOR statement (COSE_Sign1) of no agent's run, such as a SCITT statement or a receipt: it "
        "belongs into the vCon of the run that it is about",
    ),
    (b"-----BEGIN CERTIFICATE", f"a certificate: {_TRUST}"),
    (b"-----BEGIN PUBLIC KEY", f"a public key: {_TRUST}"),
    (b"-----BEGIN ", "a key or a certificate (PEM)"),
)
_PACKED = {b"\x1f\x8b": "gzip", zstandard.MAGIC: "Zstandard"}
SHOWN_KEYS = 12
EXACT = SIZES[1]
"""Up to here a file is parsed again to say where its JSON breaks off; beyond, its first keys must do."""


def describe(head: Head, *, complete: bool) -> str:
    """One clause without a full stop: "it is empty", "it is JSON with the keys a, b".

    ``complete`` says that ``head`` holds the whole file. Never raises.
    """
    packing = next((name for magic, name in _PACKED.items() if head.raw.startswith(magic)), "")
    if not packing:
        return f"it is {_of_data(head, complete)}"
    if head.data is head.raw:
        return f"it starts like a {packing} file, but cannot be unpacked"
    if packing == "gzip" and complete and _breaks_off(head.raw):
        return "it is a gzip file that was cut off: take it anew from where it was made"
    return f"it is a {packing} file of something that is {_of_data(head, complete=False)}"


def _breaks_off(packed: bytes) -> bool:
    """Whether a whole gzip file ends before its compressed data does."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacker.decompress(packed, EXACT)
    except zlib.error:  # it is damaged further on
        return False
    return not unpacker.eof and not unpacker.unconsumed_tail


def _of_data(head: Head, complete: bool) -> str:
    data = head.data
    if not data.strip():
        return "blank" if data else "empty"
    if known := neighbour_of(head):
        return known
    if head.tables:
        names = _listed("table", "tables", list(head.tables))
        return f"a SQLite database with the {names}, which is no store of an agent that is known here"
    for magic, what in _MAGIC:
        if data.startswith(magic):
            return what
    if data[257:262] == b"ustar":
        return "a tar archive: unpack it and drop the files in it"
    return _of_text(head, complete)


def _of_text(head: Head, complete: bool) -> str:
    if not head.shape:
        return _not_json(head.data)
    if _is_lines(head):
        return f"JSON Lines whose first object has {_keys(list(head.lines[0]))}"
    return (complete and len(head.data) <= EXACT and _fault(head.data)) or _of_json(head, complete)


def _is_lines(head: Head) -> bool:
    first = head.data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]
    try:
        return len(head.lines) > 1 and isinstance(orjson.loads(first), dict)
    except orjson.JSONDecodeError:
        return False


def _fault(data: bytes) -> str:
    """What is wrong with a whole document as JSON, or "" when nothing is."""
    try:
        data.decode("utf-8-sig")
        _, repairs = loads(data)
    except UnicodeDecodeError as error:
        return f"not UTF-8: byte {data[error.start]:#04x} at offset {error.start}"
    except Unreadable as error:
        return str(error)
    return f"not quite JSON: {repairs[0]}" if repairs else ""


def _of_json(head: Head, complete: bool) -> str:
    outer = head.shape[""]
    if outer == "{":
        names = _children(head, "")
        return f"JSON with {_keys(names)}" if names or complete else "JSON whose first value does not end here"
    if outer != "[":
        return f"JSON, but only a {_scalar(outer)}"
    first = head.shape.get("item")
    if first is None:
        return "JSON, but only an empty list"
    if first != "{":
        return "a JSON list, but not of objects"
    return f"a JSON list whose first object has {_keys(_children(head, 'item.'))}"


def _children(head: Head, prefix: str) -> list[str]:
    """Names of the members; of names with dots, which look like paths, what stands before the first."""
    paths = (path[len(prefix) :] for path in head.shape if path.startswith(prefix) and path != prefix)
    return list(dict.fromkeys(name for path in paths if (name := path.partition(".")[0])))


def _keys(names: list[str]) -> str:
    return f"the {_listed('key', 'keys', names)}" if names else "no keys"


def _listed(one: str, several: str, names: list[str]) -> str:
    shown = ", ".join(_printable(name.encode("utf-8", "replace"), 40) for name in names[:SHOWN_KEYS])
    more = f" and {len(names) - SHOWN_KEYS} more" if len(names) > SHOWN_KEYS else ""
    return f"{several if len(names) > 1 else one} {shown}{more}"


def _scalar(value: object) -> str:
    if isinstance(value, str):
        return "string"
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else "constant"


def _not_json(data: bytes) -> str:
    sample = data[:4096]
    odd = sum(byte < 9 or 13 < byte < 32 for byte in sample)
    if odd * 20 > len(sample):
        return f"a binary file of a kind not known here (it starts with the bytes {sample[:8].hex(' ')})"
    start = sample.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return "HTML or XML"
    if start[:1] in (b"[", b"{") and (fault := _fault(start)):
        return fault
    return f"text, not JSON (it starts with “{_printable(start, 40)}”)"


def _printable(data: bytes, limit: int) -> str:
    text = " ".join(data[: limit * 4].decode("utf-8", "replace").split())
    text = "".join(c if c.isprintable() else "�" for c in text)
    return text if len(text) <= limit else text[:limit] + "…"
