"""From the bytes of a file to the tree of an unsigned vCon: gzip and JWS are opened, the rest is refused.

The forms and how they are told apart: core s3 and s5.4. Nothing is verified or decrypted here.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ...drafts import FormatError, Json, Signature
from ..head import Head
from . import tree
from .elide import Elided
from .notes import Notes, point, shown

ARRAYS = ("parties", "dialog", "analysis", "attachments")
LAYERS = 8
"""JWS inside JWS is the long-term archive form (core s5.2.3); deeper than this is refused."""
SIGNED_LIMIT = 64 * 1024 * 1024
"""A payload has to be decoded in memory."""
_PAYLOAD = re.compile(rb'\s*\{\s*"payload"\s*:\s*"(?:eyJ|ewo|ewog|H4sI)')
_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


@dataclass(slots=True)
class Opened:
    """An unsigned vCon, where it stood in the file, and through which forms it was reached."""

    tree: dict[str, Any]
    pointer: str = ""
    forms: list[str] = field(default_factory=list)
    signature: Signature | None = None
    elided: int = 0
    """Strings that were too long to carry."""
    header_uuids: list[str] = field(default_factory=list)
    """``uuid`` of the unprotected headers; each SHOULD equal the payload's (core s5.2.2)."""


def detect(head: Head) -> bool:
    """Is this a vCon in any form? A zip (.vconz) or JSON lines are not ours."""
    if not head.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or _is_lines(head.data):
        return False
    keys = head.keys
    if "signatures" in keys and ("payload" in keys or b'"payload"' in head.data) or _PAYLOAD.match(head.data):
        return True
    if _is_encrypted(keys):
        return True
    if "vcon" in keys and (keys & {*ARRAYS, "uuid", "created_at"}):
        return True
    return _is_unsigned(head, keys)


def _is_encrypted(keys: Collection[str]) -> bool:
    """JWE JSON, general or flattened; an official example once spelled it cyphertext (core s5.3)."""
    return ("ciphertext" in keys or "cyphertext" in keys) and bool({"recipients", "encrypted_key"} & set(keys))


def _is_unsigned(head: Head, keys: frozenset[str]) -> bool:
    """Without the deprecated ``vcon`` key: two of the four arrays, or one that cannot be anything else."""
    arrays = [name for name in ARRAYS if head.shape.get(name) in ("[", None) and name in keys]
    if "parties" in arrays and ("uuid" in keys or len(arrays) > 1):
        return True
    dialogs = (
        "dialog" in arrays
        and {"dialog.item.parties", "dialog.item.mediatype", "dialog.item.mimetype", "dialog.item.start"}
        & head.shape.keys()
    )
    return bool(dialogs) or ("uuid" in keys and len(arrays) > 1)


def _is_lines(data: bytes) -> bool:
    """A whole object on the first line and another behind it: a log, not one document."""
    first, _, rest = data.lstrip().partition(b"\n")
    return first.rstrip().endswith(b"}") and rest.lstrip().startswith(b"{")


def open_vcon(source: BinaryIO, notes: Notes) -> Opened:
    """The unsigned vCon inside a stream. Raises ``FormatError`` naming what it is instead."""
    opened = Opened({})
    magic = source.read(4)
    source.seek(0)
    if magic == b"PK\x03\x04":
        raise FormatError("This is a zip: if it is a .vconz bundle, unpack it and import the vCons inside one by one.")
    if not magic:
        raise FormatError("This file is empty.")
    stream: Any = source
    if magic[:2] == b"\x1f\x8b":
        opened.forms.append("gzip")
        stream = tree.Unzipped(source)
    value, opened.elided = tree.load(stream, notes)
    if isinstance(value, dict) and isinstance(value.get("payload"), Elided):
        value = _load_signed(source, opened, notes)
    _unwrap(value, opened, notes)
    return opened


def _load_signed(source: BinaryIO, opened: Opened, notes: Notes) -> Json:
    """A signed vCon whose payload was too long for the first reading: read it again as a whole."""
    source.seek(0)
    data = (tree.Unzipped(source) if "gzip" in opened.forms else source).read(SIGNED_LIMIT + 1)
    if len(data) > SIGNED_LIMIT:
        raise FormatError(
            f"This signed vCon is larger than {SIGNED_LIMIT:,} bytes; a signed payload of that size "
            "is not opened. Import the unsigned vCon."
        )
    return tree.parse(data, notes)


def _unwrap(value: Json, opened: Opened, notes: Notes) -> None:
    for layer in range(LAYERS + 1):
        if not isinstance(value, dict):
            raise FormatError(f"This is JSON, but no vCon: the file holds {shown(value)}, not an object.")
        if _is_encrypted(value.keys()):
            raise FormatError(_encrypted(value))
        if "payload" not in value or "signatures" not in value:
            return _unsigned(value, opened)
        if layer == LAYERS:
            break
        _note_signature(value, opened, notes)
        value = _payload(value["payload"], opened, notes)
        opened.pointer += "/payload"
    raise FormatError(f"This vCon is signed more than {LAYERS} times over (JWS in JWS); it is refused as hostile.")


def _unsigned(value: dict[str, Any], opened: Opened) -> None:
    if not any(name in value for name in ARRAYS):
        keys = ", ".join(sorted(value)[:8]) or "none"
        raise FormatError(
            "This JSON is not recognised as a vCon: it has none of parties, dialog, analysis and "
            f"attachments (core s4). Its keys: {shown(keys)[1:-1]}."
        )
    opened.tree = value


def _encrypted(value: dict[str, Any]) -> str:
    """Of an encrypted vCon only the unprotected ``uuid`` and ``cty`` can be told (core s5.3)."""
    unprotected = value.get("unprotected")
    told = unprotected if isinstance(unprotected, dict) else {}
    return (
        f"This vCon is encrypted (JWE) and cannot be opened here. It says of itself: uuid {shown(told.get('uuid'))}, "
        f"content {shown(told.get('cty'))}. Import it decrypted."
    )


def _payload(payload: Json, opened: Opened, notes: Notes) -> Json:
    try:
        data = decode_base64(payload)[0]
    except ValueError as error:
        raise FormatError(f"This signed vCon has a payload that is not base64url: {error}.") from None
    if data[:2] == b"\x1f\x8b":
        opened.forms.append("gzip")
        data = tree.Unzipped(io.BytesIO(data)).read(tree.UNPACKED + 1)
    return tree.parse(data, notes, opened.pointer + "/payload")


def _note_signature(value: dict[str, Any], opened: Opened, notes: Notes) -> None:
    """Record that there is a signature and that nobody has checked it (core s5.2)."""
    signatures = value["signatures"] if isinstance(value["signatures"], list) else []
    algorithms = [_algorithm(item) for item in signatures]
    opened.header_uuids += filter(None, map(_header_uuid, signatures))
    opened.forms.append("jws")
    where = point(opened.pointer, "signatures")
    if not signatures or "none" in algorithms:
        detail = "signed with alg none, which protects nothing" if signatures else "no signature in it"
        notes.error("R86", where, f"The vCon claims to be signed, but: {detail}. Treat it as unsigned.")
        found = Signature(state="invalid", detail=detail)
    else:
        names = ", ".join(algorithms)
        notes.warn(
            "R86",
            where,
            f"{len(signatures)} signature(s) present, {names}; not checked by this version, so nobody "
            "has confirmed who signed or that nothing was changed.",
        )
        found = Signature(state="uncheckable", detail=f"signature present ({names}), not checked by this version")
    opened.signature = opened.signature or found  # the outer one counts


def _algorithm(signature: Json) -> str:
    """``alg`` of the protected header, else of the unprotected one (both occur, core s5.2.2)."""
    header = signature.get("header") if isinstance(signature, dict) else None
    protected: Json = None
    if isinstance(signature, dict) and isinstance(signature.get("protected"), str):
        try:
            protected = tree.parse(decode_base64(signature["protected"])[0], Notes())
        except ValueError:
            return "unreadable header"
    for place in (protected, header):
        if isinstance(place, dict) and isinstance(place.get("alg"), str):
            return place["alg"][:40]
    return "no alg"


def _header_uuid(signature: Json) -> str | None:
    header = signature.get("header") if isinstance(signature, dict) else None
    uuid = header.get("uuid") if isinstance(header, dict) else None
    return uuid if isinstance(uuid, str) else None


def decode_base64(text: Json) -> tuple[bytes, bool]:
    """Bytes of base64url or standard base64, padded or not; the flag says it was canonical base64url.

    Raises ``ValueError``.
    """
    if not isinstance(text, str):
        raise ValueError(f"not a string but {shown(text)}")
    plain = text.translate(_URL_TO_STANDARD)
    plain = "".join(plain.split()).rstrip("=")
    if bad := _BASE64.search(plain):
        raise ValueError(f"it holds {shown(bad.group())}")
    try:
        data = base64.b64decode(plain + "=" * (-len(plain) % 4))
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    return data, not _NOT_URL.search(text)


_URL_TO_STANDARD = str.maketrans("-_", "+/")
_NOT_URL = re.compile(r"[+/=\s]")
