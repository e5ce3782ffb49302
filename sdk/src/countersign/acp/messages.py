"""Messages of the Agent Client Protocol: JSON-RPC 2.0, one message a line, in UTF-8."""

from __future__ import annotations

import json
from typing import Any

from ..canonical import canonical

Json = dict[str, Any]
ASKS, UPDATES, CANCELS = "session/request_permission", "session/update", "session/cancel"
CANCELS_REQUEST = "$/cancel_request"


class Ambiguous(ValueError):
    """The message is read in two ways: a name stands twice in one of its objects."""


def read(line: bytes) -> Json | None:
    """The message of a line; None for what is none, or is read in two ways."""
    try:
        return _read(line, _once)
    except (ValueError, RecursionError):
        return None


def id_of_ambiguous(line: bytes) -> Any:
    """The id of a line that others may read as a request for permission, though ``read`` takes it for nothing."""
    try:
        message = _read(line, dict)
    except (ValueError, RecursionError):
        return None
    return message.get("id") if message and message.get("method") == ASKS else None


def _read(line: bytes, as_object: Any) -> Json | None:
    message = json.loads(line.decode(), parse_constant=_no_constant, object_pairs_hook=as_object)
    return message if isinstance(message, dict) else None


def _once(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Ambiguous("a name stands twice in one object")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def key(id_: Any) -> str:
    """An id to compare by: 1 and 1.0 are the same, 1 and "1" are not. Empty for what is no id of a request."""
    if isinstance(id_, bool) or not isinstance(id_, (str, int, float)):
        return ""
    try:
        return canonical(id_)
    except ValueError:
        return ""


def line_of(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0"} | message).encode() + b"\n"
