"""From the bytes of a file to the tree of an unsigned vCon: gzip and JWS are opened, the rest is refused.

The forms and how they are told apart: core s3 and s5.4. Nothing is decrypted here, and ``verify`` checks signatures.
"""

from __future__ import annotations

import base64
import binascii
import io
import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO

from ....drafts import FormatError, Json, Signature
from ...common.head import Head
from . import tree
from .elide import Elided
from .notes import Notes, shown

ARRAYS = ("parties", "dialog", "analysis", "attachments")
UNREAD_ARRAYS = ("sessions", "events")
"""Arrays that the drafts to come put beside those or in their place; they are kept and not read."""
FLATTENED = frozenset({"payload", "protected", "signature"})
LAYERS = 8
"""JWS inside JWS is the long-term archive form (core s5.2.3); deeper than this is refused."""
SIGNED_LIMIT = 64 * 1024 * 1024
"""A payload has to be decoded in memory."""
NOT_CHECKED = Signature("uncheckable", detail="There is a signature; it is not checked while reading.")
_PAYLOAD = re.compile(rb'\s*\{\s*"payload"\s*:\s*"(?:eyJ|ewo|ewog|H4sI)')
_BASE64 = re.compile(r"[^A-Za-z0-9+/]")


@dataclass(slots=True)
class OpenedVcon:
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
    if keys >= FLATTENED:
        return True
    if _is_encrypted(keys) or ("recipients" in keys and b'"ciphertext"' in head.data):  # it may go on
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


def open_vcon(source: BinaryIO, notes: Notes) -> OpenedVcon:
    """The unsigned vCon inside a stream. Raises ``FormatError`` naming what it is instead."""
    opened = OpenedVcon({})
    _unwrap(outermost(source, opened, notes), opened, notes)
    return opened


def outermost(source: BinaryIO, opened: OpenedVcon, notes: Notes) -> Json:
    """The JSON value of a file, unzipped. Raises ``FormatError`` for what is none."""
    magic = source.read(4)
    source.seek(0)
    if magic == b"PK\x03\x04":
        raise FormatError("This is a zip archive, not one vCon; a .vconz bundle is imported as the archive that it is.")
    if not magic:
        raise FormatError("This file is empty.")
    stream: Any = source
    if magic[:2] == b"\x1f\x8b":
        opened.forms.append("gzip")
        stream = tree.Unzipped(source)
    value, opened.elided = tree.load_json(stream, notes)
    if isinstance(value, dict) and isinstance(value.get("payload"), Elided):
        value = _load_signed(source, opened, notes)
    return _general(value, opened, notes)


def _general(value: Json, opened: OpenedVcon, notes: Notes) -> Json:
    """A JWS with one signature may be flattened (RFC 7515 s7.2.2); core s5.2 has the general form alone."""
    if not isinstance(value, dict) or not value.keys() >= FLATTENED or "signatures" in value:
        return value
    notes.info("R3", opened.pointer, "The signature stands in the flattened form of a JWS; core s5.2 has the general.")
    own = ("protected", "header", "signature")
    one = {name: value[name] for name in own if name in value}
    return {**{name: item for name, item in value.items() if name not in own}, "signatures": [one]}


def _load_signed(source: BinaryIO, opened: OpenedVcon, notes: Notes) -> Json:
    """A signed vCon whose payload was too long for the first reading: read it again as a whole."""
    source.seek(0)
    data = (tree.Unzipped(source) if "gzip" in opened.forms else source).read(SIGNED_LIMIT + 1)
    if len(data) > SIGNED_LIMIT:
        raise FormatError(
            f"This signed vCon is larger than {SIGNED_LIMIT:,} bytes; a signed payload of that size "
            "is not opened. Import the unsigned vCon."
        )
    return tree.parse_json(data, notes)


def _unwrap(value: Json, opened: OpenedVcon, notes: Notes) -> None:
    for layer in range(LAYERS + 1):
        if not isinstance(value, dict):
            raise FormatError(f"This is JSON, but no vCon: the file holds {shown(value)}, not an object.")
        if is_encrypted(value):
            raise FormatError(encrypted(value).detail, encrypted(value))
        if not is_signed(value):
            return _unsigned(value, opened)
        if layer == LAYERS:
            break
        opened.forms.append("jws")
        left_out = members_beside_payload(value)
        if left_out:
            names = shown(", ".join(left_out[:8]))[1:-1]
            message = f"Beside the signed payload stand {names}: no signature covers them, and they are not read."
            notes.warn("R86", opened.pointer, message)
        if opened.signature is None:
            opened.signature = replace(NOT_CHECKED, uncovered=left_out)
        opened.header_uuids += _header_uuids(value["signatures"])
        value = payload_of(value, opened, notes)
    raise FormatError(too_deep())


def is_signed(value: Json) -> bool:
    """JWS in its general JSON form (core s5.2)."""
    return isinstance(value, dict) and "payload" in value and "signatures" in value


def members_beside_payload(jws: dict[str, Any]) -> tuple[str, ...]:
    """Members next to what is signed. The library ``vcon`` 0.10.0 leaves the whole vCon there, and then reads that."""
    return tuple(sorted(jws.keys() - {"payload", "signatures"}))


def is_encrypted(value: Json) -> bool:
    """JWE in JSON (core s5.3)."""
    return isinstance(value, dict) and _is_encrypted(value.keys())


def too_deep() -> str:
    """Why a file of more than ``LAYERS`` signatures around each other is refused."""
    return f"This vCon is signed more than {LAYERS} times over (JWS in JWS); it is refused as hostile."


def _unsigned(value: dict[str, Any], opened: OpenedVcon) -> None:
    if value.keys().isdisjoint(ARRAYS) and not _is_of_the_future(value):
        keys = ", ".join(sorted(value)[:8]) or "none"
        raise FormatError(
            "This JSON is not recognised as a vCon: it has none of parties, dialog, analysis and "
            f"attachments (core s4). Its keys: {shown(keys)[1:-1]}."
        )
    opened.tree = value


def _is_of_the_future(value: dict[str, Any]) -> bool:
    """A vCon that holds nothing but what draft-birkholz-vcon-ai-agent-extension or its like may add."""
    return (
        "uuid" in value and "created_at" in value and any(isinstance(value.get(name), list) for name in UNREAD_ARRAYS)
    )


SEALED = "This vCon is encrypted (JWE) and cannot be opened here."


def encrypted(value: dict[str, Any]) -> Signature:
    """Description of an encrypted vCon: only the unprotected ``uuid`` and ``cty`` can be read (core s5.3)."""
    unprotected = value.get("unprotected")
    told = unprotected if isinstance(unprotected, dict) else {}
    facts = [f"{name} {shown(told[key])}" for name, key in (("uuid", "uuid"), ("content", "cty")) if told.get(key)]
    said = f" It says of itself: {', '.join(facts)}." if facts else ""
    return Signature(
        "encrypted", detail=f"{SEALED}{said} Import it decrypted, or have an operator configure the key that opens it."
    )


def payload_of(jws: dict[str, Any], opened: OpenedVcon, notes: Notes) -> Json:
    """Payload of a JWS, unzipped; moves ``opened.pointer`` into it. Raises ``FormatError``."""
    try:
        data = decode_base64(jws["payload"])[0]
    except ValueError as error:
        raise FormatError(f"This signed vCon has a payload that is not base64url: {error}.") from None
    opened.pointer += "/payload"
    if data[:2] == b"\x1f\x8b":
        opened.forms.append("gzip")
        data = tree.Unzipped(io.BytesIO(data)).read(tree.UNPACKED + 1)
    return _general(tree.parse_json(data, notes, opened.pointer), opened, notes)


def _header_uuids(signatures: Json) -> list[str]:
    headers = (
        [entry.get("header") for entry in signatures if isinstance(entry, dict)] if type(signatures) is list else []
    )
    uuids = [header.get("uuid") for header in headers if isinstance(header, dict)]
    return [uuid for uuid in uuids if isinstance(uuid, str)]


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
