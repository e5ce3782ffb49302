"""Events as JSON, whatever a program hands over: what it reports of itself must not break it."""

from __future__ import annotations

import json
import math
from typing import Any

DEEPEST = 40
LONGEST = 1 << 20
"""Bytes of one event: it has to fit into a request with others."""

_exact = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_quoted = json.encoder.encode_basestring


class TooLarge(ValueError):
    """An event is larger than the desk is sent."""


def encoded(event: dict[str, Any], *, strict: bool) -> bytes:
    """The event as one line of JSON. Not ``strict``, what is no JSON stands there as Python writes it.

    Raises ``TooLarge``, and where strict ``ValueError`` and ``TypeError``.
    """
    try:
        data = b"{%b}" % ",".join([_member(name, value) for name, value in event.items()]).encode()
    except (ValueError, TypeError, RecursionError):  # UnicodeEncodeError, for half a surrogate pair, is such
        if strict:
            raise
        data = _exact(_plain(event, DEEPEST)).encode("utf-8", "replace")
    if len(data) > LONGEST:
        raise TooLarge(f"an event of {len(data):,} bytes; at most {LONGEST:,} are sent")
    return data


def _member(name: str, value: Any) -> str:
    """Most members are text: an encoder is made for the others alone, which is most of what recording takes."""
    return f"{_quoted(name)}:{_quoted(value) if type(value) is str else _exact(value)}"


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if depth and isinstance(value, dict):
        return {name if isinstance(name, str) else _written(name): _plain(one, depth - 1)
                for name, one in value.items()}  # fmt: skip
    if depth and isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(one, depth - 1) for one in value]
    return _written(value)


def _written(value: Any) -> str:
    try:
        return repr(value)[:10_000]
    except Exception as error:  # of the program's own __repr__
        return f"<{type(value).__name__}: {type(error).__name__}>"
