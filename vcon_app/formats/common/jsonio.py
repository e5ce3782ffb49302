"""JSON as it is found in the wild: fast for what is well formed, tolerant and explicit for the rest.

orjson refuses NaN, lone surrogates and very deep nesting; the standard library reads the first two. Both
are met in real transcripts, so the second reader is the fallback and says what it had to change.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from math import isfinite
from typing import Any

import orjson

MAX_DEPTH = 200
PIECE = 256 * 1024
"""Bytes looked at together: what fits into the cache is counted faster, and a copy of the text costs its size."""
RUN = 4
"""Backslashes before a quote that are told apart; a longer run counts as a name, so that nothing is missed."""
_SPACE = b" \t\r\n"


class Unreadable(ValueError):
    """Not JSON; the message says where and why."""


def loads(data: bytes | memoryview) -> tuple[Any, list[str]]:
    """Parse one JSON value. Returns it with the repairs made ("NaN read as null"), usually none.

    Raises ``Unreadable``.
    """
    try:
        return orjson.loads(data), []
    except orjson.JSONDecodeError:
        return _tolerant(bytes(data))


def doubled_name(data: bytes, members: int) -> str | None:
    """A name (it may be "") that stands twice in an object of this JSON, whose objects have so many members together.

    One reader keeps the first value and another the last (RFC 8259 s4), and ours does not tell. So the names in the
    text are counted, which takes a fraction of the parsing; only where there are more of them than members is the text
    read a second time. None also for what had to be repaired, which ``loads`` tells.
    """
    if _most_names(data, members) <= members:
        return None
    try:
        json.loads(data.decode("utf-8-sig", "replace"), object_pairs_hook=_each_once)
    except _Doubled as doubled:
        return str(doubled)
    except (ValueError, RecursionError):
        return None
    return None


class _Doubled(Exception):
    """Its text is the name."""


def _each_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _Doubled(Counter(name for name, _ in pairs).most_common(1)[0][0])


def _most_names(data: bytes, members: int) -> int:
    """At least the number of names: closing quotes before a colon, and the few strings that begin with one.

    A quote inside a string has an odd number of backslashes before it, so runs of 1, 2, 3 … are taken off and added.
    """
    count = sum(packed.count(b'":') for packed in _packed(data))
    if count <= members:
        return count
    for packed in _packed(data):
        for run in range(1, RUN + 1):
            found = packed.count(b"\\" * run + b'":')
            count += -found if run % 2 else found
            if not found:
                break
    return count


def _packed(data: bytes) -> Iterator[bytes]:
    """The text without white space in pieces that end with a colon: what is counted does, too."""
    start = 0
    while start < len(data):
        end = data.find(b":", start + PIECE) + 1 or len(data)
        yield data[start:end].translate(None, _SPACE)
        start = end


def _tolerant(data: bytes) -> tuple[Any, list[str]]:
    repairs: list[str] = []

    def constant(name: str) -> None:
        repairs.append(f"{name} read as null")

    try:
        # utf-8-sig: some Windows programs put a byte order mark before JSON (RFC 8259 s8.1 lets readers ignore it).
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", errors="replace")
        repairs.append(f"byte {data[error.start]:#04x} at offset {error.start} is not UTF-8; replaced")
    try:
        value = json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise Unreadable(
            f"not JSON: {reason_of_json_error(error)} at line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise Unreadable(f"not readable: nested deeper than {MAX_DEPTH} levels") from None
    except ValueError:  # CVE-2020-10735
        raise Unreadable("not readable: it holds a number of more than 4,300 digits") from None
    try:
        cleaned = _clean(value, 0, repairs)
    except RecursionError:
        raise Unreadable(f"not readable: nested deeper than {MAX_DEPTH} levels") from None
    return cleaned, list(dict.fromkeys(repairs))


def reason_of_json_error(error: json.JSONDecodeError) -> str:
    """Why this is no JSON, in words: the mistakes people and programs make are called by their names."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip(", \t\r\n")
    if not after:
        return "the file ends in the middle of a value" if before else "there is nothing in it"
    if after.startswith(("//", "/*", "#")):
        return "a comment, which JSON does not have,"
    if after[0] in "]}" and (before.endswith(",") or error.doc[error.pos] == ","):
        return f"a trailing comma before the closing {after[0]}"
    if after[0] == "'":
        return "a string in single quotes"
    return error.msg.removesuffix(" at")


def _clean(value: Any, depth: int, repairs: list[str]) -> Any:
    if depth > MAX_DEPTH:
        raise RecursionError
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            repairs.append("lone surrogate replaced by U+FFFD")
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return value
    # json.loads reads 1e999 as infinity, which neither JSON nor jsonb can hold.
    if isinstance(value, float) and not isfinite(value):
        repairs.append("a number beyond 1.8e308 read as null")
        return None
    if isinstance(value, dict):
        return {_clean(k, depth, repairs): _clean(v, depth + 1, repairs) for k, v in value.items()}
    if isinstance(value, list):
        return [_clean(item, depth + 1, repairs) for item in value]
    return value


def dumps(value: Any) -> bytes:
    """One JSON value without line breaks; Decimals as text.

    Never fails on what a transcript may hold: lone surrogates become U+FFFD, NaN null, and what is
    nested deeper than ``MAX_DEPTH`` a note that says so. Integers keep all their digits.
    """
    try:
        # orjson first: the slow path is only for what it refuses.
        return orjson.dumps(value, default=_text)
    except TypeError:  # a surrogate, an integer over 64 bits, or nesting: orjson does not say which
        tame = json.dumps(_without_deep_values(value, 0), ensure_ascii=False, separators=(",", ":"), default=_text)
        return tame.encode()


def too_deep_note() -> str:
    """What stands in the place of a value that is nested too deep."""
    return f"(nested deeper than {MAX_DEPTH} levels)"


def _text(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} has no place in JSON")


def _without_deep_values(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        return too_deep_note()
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {
            _without_deep_values(str(key), depth): _without_deep_values(item, depth + 1) for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_without_deep_values(item, depth + 1) for item in value]
    return value
