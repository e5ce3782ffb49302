"""Content of a dialog, analysis or attachment (core s2.3), however its encoding is written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ....drafts import FormatError, Json
from ...common.jsonio import Unreadable
from . import tree
from .elide import Elided
from .forms import decode_base64
from .normalise import mediatype
from .notes import Notes, point, shown

STRUCTURED = frozenset(
    {
        "agent_trace",
        "agent_file_change",
        "agent_environment",
        "lawful_basis",
        "consent",
        "mcp_session",
        "mcp_artifact",
        "wtf_transcription",
        "scitt_receipt",
    }
)
"""Slots whose JSON must be an object: there a string under encoding json is read as JSON text."""
TRACE = "agent_trace"
ENCODINGS = ("none", "json", "base64url")
HASHES: dict[str, Callable[..., Any]] = {
    "sha256": hashlib.sha256,
    "sha384": hashlib.sha384,
    "sha512": hashlib.sha512,
}
"""Algorithms of a ``content_hash`` that are computed here; sha512 has to be (core s2.4.2)."""


@dataclass(slots=True)
class Content:
    """A resolved body; nobody changes one. ``value`` is text, JSON, bytes, the URL, or what could not be read."""

    kind: Literal["absent", "url", "text", "json", "bytes", "opaque", "elided"]
    value: Json = None
    from_text: bool = False
    """The JSON stood as text in a string body; the writer may write it so again."""

    @property
    def text(self) -> str:
        """The text to show, ``""`` for everything that is not text."""
        return self.value if self.kind == "text" else ""


def resolve(item: dict[str, Any], pointer: str, notes: Notes, slot: str = "") -> Content:
    """Read the content of one item; ``slot`` is its type or purpose. Nothing is ever fetched."""
    body = item.get("body")
    if body is None:
        return Content("url", item["url"]) if item.get("url") else Content("absent")
    if type(body) is str and slot != TRACE and item.get("encoding") == "none":  # most of them
        return Content("text", body)
    encoding = _encoding(item, pointer, notes)
    if isinstance(body, Elided):
        return Content("elided", body)
    if not isinstance(body, str):
        _note_native(body, encoding, pointer, notes)
        return Content("json", body)
    if encoding in ("base64url", "base64"):
        return _from_base64(body, item, pointer, notes)
    return _from_text(body, encoding, item, pointer, notes, slot)


def _from_text(body: str, encoding: Json, item: dict[str, Any], pointer: str, notes: Notes, slot: str) -> Content:
    """A string body under any encoding but base64."""
    if slot == TRACE and encoding in (None, "none", "json"):
        found = _mislabelled(body, encoding, item, pointer, notes)
        if found:
            return found
    if encoding == "json":
        return _from_json(body, item, pointer, notes, slot)
    if not body or encoding == "none":
        return Content("text", body)
    if encoding in (None, "", [], {}):
        return _derived(body, item, pointer, notes, slot)
    what = "the content is encrypted and" if encoding == "jwe" else "the content"
    notes.warn("R58", pointer, f"Encoding {shown(encoding)} is none of {', '.join(ENCODINGS)}: {what} is kept unread.")
    return Content("opaque", body)


def _mislabelled(body: str, encoding: Json, item: dict[str, Any], pointer: str, notes: Notes) -> Content | None:
    """A trace that is CBOR as its ``schema`` says (agent_session s6.3), or JSON text, under another encoding."""
    looks_json = body.lstrip()[:1] == "{"
    if not looks_json and isinstance(schema := item.get("schema"), str) and "encoding=cbor" in schema:
        notes.warn("R57", pointer, f"schema says CBOR, encoding says {shown(encoding)}; read as CBOR in base64url.")
        found = _from_base64(body, item, pointer, notes)
        return found if found.kind == "bytes" else None
    if looks_json and encoding == "none" and isinstance(value := _parsed(body, pointer, notes), dict):
        notes.warn("R55", pointer, "The body is JSON text under encoding 'none'; read as JSON (core s2.3.2).", "text")
        return Content("json", value, from_text=True)
    return None


def _encoding(item: dict[str, Any], pointer: str, notes: Notes) -> Json:
    """``None`` and ``JSON`` occur: values are read without regard to case."""
    stated = item.get("encoding")
    if stated not in ENCODINGS and isinstance(stated, str) and stated.lower() in ENCODINGS:
        notes.warn(
            "R54",
            pointer,
            f"Encoding {shown(stated)} is read as {stated.lower()} (core s2.3.2 has it in lower case).",
            "case",
        )
        return stated.lower()
    return stated


def _note_native(body: Json, encoding: Json, pointer: str, notes: Notes) -> None:
    if encoding != "json":
        kind = "an object" if isinstance(body, dict) else "an array" if isinstance(body, list) else shown(body)
        notes.warn(
            "R55",
            pointer,
            f"The body is {kind} under encoding {shown(encoding)}; read as JSON "
            "(only encoding json carries a JSON value, core s2.3.2).",
            f"native {encoding}",
        )


def _from_base64(body: str, item: dict[str, Any], pointer: str, notes: Notes) -> Content:
    try:
        data, canonical = decode_base64(body)
    except ValueError as error:
        notes.warn("R56", point(pointer, "body"), f"The body is not base64: {error}; kept as text.")
        return Content("text", body)
    if item.get("encoding") == "base64":
        notes.warn("R56", pointer, "Encoding 'base64' is read as base64url (core s2.3.2 has no other).", "name")
    elif not canonical:
        notes.warn(
            "R56",
            point(pointer, "body"),
            "The body has padding, white space or the standard base64 alphabet "
            "where base64url without padding is required (RFC 7515 s2); read all the same.",
            "alphabet",
        )
    if mediatype(item).startswith("text/"):
        try:
            return Content("text", data.decode())
        except UnicodeDecodeError:
            notes.info("R56", point(pointer, "body"), f"The body is {mediatype(item)} but not UTF-8; kept as bytes.")
    return Content("bytes", data)


def _from_json(body: str, item: dict[str, Any], pointer: str, notes: Notes, slot: str) -> Content:
    if slot not in STRUCTURED and not _says_json(item):
        return Content("text", body)
    value = _parsed(body, pointer, notes)
    if isinstance(value, (dict, list)):
        return Content("json", value, from_text=True)
    if slot in STRUCTURED:
        notes.warn(
            "R53", point(pointer, "body"), f"A {slot} must be JSON; the body {shown(body)} is not. Kept as text."
        )
    else:
        notes.info("R53", point(pointer, "body"), f"The body {shown(body)} is a plain JSON string; kept as text.")
    return Content("text", body)


def _derived(body: str, item: dict[str, Any], pointer: str, notes: Notes, slot: str) -> Content:
    """Without an encoding, media type and file name may tell (core s2.3.2)."""
    found = _guess(body, item, pointer, notes, slot)
    names = {"json": "JSON", "bytes": "base64url", "opaque": "content that cannot be shown"}
    notes.warn(
        "R54",
        pointer,
        f"The body has no encoding (core s2.3.2 requires one); read as {names.get(found.kind, 'text')}.",
        found.kind,
    )
    return found


def _guess(body: str, item: dict[str, Any], pointer: str, notes: Notes, slot: str) -> Content:
    if slot in STRUCTURED and isinstance(value := _parsed(body, pointer, notes), (dict, list)):
        return Content("json", value, from_text=True)
    if mediatype(item).partition("/")[0] in ("audio", "video", "image"):
        found = _from_base64(body, item, pointer, notes)
        return found if found.kind == "bytes" else Content("opaque", body)
    return Content("text", body)


def _says_json(item: dict[str, Any]) -> bool:
    kind = mediatype(item)
    return kind == "application/json" or kind.endswith("+json")


def _parsed(body: str, pointer: str, notes: Notes) -> Json:
    """The JSON value in a text, ``None`` when it is none or nests too deep to be safe."""
    try:
        return tree.parse_json_text(body.encode("utf-8", "replace"), notes, point(pointer, "body"))
    except (Unreadable, FormatError):
        return None


def check_hash(item: dict[str, Any], content: Content, pointer: str, notes: Notes) -> None:
    """Compare an inline ``content_hash`` with the content where it covers known bytes (core s2.4.2)."""
    hashes = item.get("content_hash")
    if not hashes:
        return
    body = item.get("body")
    data = (
        content.value if content.kind == "bytes" else body.encode("utf-8", "replace") if isinstance(body, str) else None
    )
    for token in hashes if isinstance(hashes, list) else [hashes]:
        found = digest_of(token)
        if data is None or found is None:
            continue
        digest = HASHES[found[0]](data).digest()
        if len(found[1]) == len(digest) and found[1] != digest:
            notes.warn(
                "R63",
                point(pointer, "content_hash"),
                f"content_hash {shown(token, 30)} is not that of the "
                f"{len(data):,} bytes in the body: one of them was changed after the other.",
            )


def digest_of(token: Json) -> tuple[str, bytes] | None:
    """Algorithm and digest of a hash in core's notation, ``None`` for another notation or algorithm."""
    name, dash, stated = token.partition("-") if isinstance(token, str) else ("", "", "")
    if not dash or name.lower() not in HASHES:
        return None
    try:
        digest = decode_base64(stated)[0]
    except ValueError:
        return None
    return (name.lower(), digest) if digest else None


def canonical(value: Json) -> bytes:
    """JSON with sorted keys and no white space: JCS (RFC 8785) for all but exotic numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
