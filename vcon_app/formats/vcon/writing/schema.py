"""What core-04 lets the members of an item be (s4.2 to s4.5, and the working group's JSON schema of them)."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

from ....drafts import Json
from ..file import ENCODINGS
from ..rules import DIALOG_TYPES, DISPOSITIONS

Check = Callable[[Json], bool]
_DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-;=?-\[\]_a-z~]+", re.ASCII)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
HISTORY = ("join", "drop", "hold", "unhold", "mute", "unmute", "keydown", "keyup")
KEYS = ("keydown", "keyup")
CIVIC = ("country", "a1", "a2", "a3", "a4", "a5", "a6", "prd", "pod", "sts", "hno", "hns", "lmk", "loc", "flr", "nam", "pc")  # fmt: skip # noqa: E501


def is_text(value: Json) -> bool:
    return isinstance(value, str)


def is_index(value: Json) -> bool:
    return type(value) is int and value >= 0


def is_date(value: Json) -> bool:
    """RFC 3339 with ``T`` in upper case (core s2.2), and a day and an hour that there are."""
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return False
    try:
        return bool(datetime.fromisoformat(value))
    except ValueError:
        return False


def is_uri(value: Json) -> bool:
    return isinstance(value, str) and bool(_URI.fullmatch(value))


def is_uuid(value: Json) -> bool:
    return isinstance(value, str) and bool(_UUID.fullmatch(value))


def is_texts(value: Json) -> bool:
    return isinstance(value, list) and all(map(is_text, value))


def is_hash(value: Json) -> bool:
    return is_text(value) or is_texts(value)


def _is_seconds(value: Json) -> bool:
    return type(value) in (int, float) and value >= 0


def _is_indices(value: Json) -> bool:
    return isinstance(value, list) and all(map(is_index, value))


def _is_index_or_list(value: Json) -> bool:
    return is_index(value) or _is_indices(value)


def _is_parties(value: Json) -> bool:
    return is_index(value) or (
        isinstance(value, list) and all(one is None or _is_index_or_list(one) for one in value)
    )  # fmt: skip


def _is_session_id(value: Json, depth: int = 2) -> bool:
    if isinstance(value, list):
        return depth > 0 and all(_is_session_id(one, depth - 1) for one in value)
    return isinstance(value, dict) and all(is_text(value[name]) for name in ("local", "remote") if name in value)


def _is_history(value: Json) -> bool:
    return isinstance(value, list) and all(map(_is_party_event, value))


def _is_party_event(value: Json) -> bool:
    if not isinstance(value, dict) or not is_index(value.get("party")) or not is_date(value.get("time")):
        return False
    button = value.get("button", "" if value.get("event") not in KEYS else None)
    return value.get("event") in HISTORY and is_text(button)


def _is_address(value: Json) -> bool:
    return isinstance(value, dict) and all(is_text(value[name]) for name in CIVIC if name in value)


_TEXTS: dict[str, Check] = dict.fromkeys(("mediatype", "filename"), is_text)
_CONTENT: dict[str, Check] = {
    **_TEXTS,
    "encoding": lambda value: is_text(value) and value in ENCODINGS,
    "url": is_uri,
    "content_hash": is_hash,
}
MEMBERS: dict[str, dict[str, Check]] = {
    "parties": {
        **dict.fromkeys(
            ("tel", "sip", "stir", "mailto", "name", "did", "validation", "gmlpos", "uuid", "type", "org", "dept"),
            is_text,
        ),
        "civicaddress": _is_address,
    },
    "dialog": {
        **_CONTENT,
        "type": lambda value: is_text(value) and value in DIALOG_TYPES,
        "start": is_date,
        "duration": _is_seconds,
        "parties": _is_parties,
        **dict.fromkeys(
            ("originator", "recording_set", "transferee", "transferor", "transfer_target", "original", "consultation",
             "target_dialog"), is_index,
        ),
        "recordings": _is_indices,
        "disposition": lambda value: is_text(value) and value in DISPOSITIONS,
        "session_id": _is_session_id,
        "party_history": _is_history,
        "application": is_text,
        "message_id": is_text,
    },
    "analysis": {
        **_CONTENT,
        **dict.fromkeys(("type", "vendor", "product", "schema"), is_text),
        **dict.fromkeys(("dialog", "attachment"), _is_index_or_list),
    },
    "attachments": {**_CONTENT, "purpose": is_text, "start": is_date, "party": is_index, "dialog": is_index},
}  # fmt: skip
"""Array -> member -> what it may be; other members may be anything."""


def misfits(item: dict[str, Any], array: str) -> list[str]:
    """Names of the members that stand there as something else than they may be."""
    checks = MEMBERS[array]
    return [name for name, value in item.items() if name in checks and value is not None and not checks[name](value)]
