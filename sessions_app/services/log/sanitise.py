"""Sanitising of values for PostgreSQL: each is kept as exactly as its column can hold it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from math import isfinite
from operator import attrgetter
from typing import Any, overload

import orjson

from sessions_app.drafts import EventDraft

MAX_TEXT = 8 * 1024 * 1024
"""Characters of one field that are kept; the whole stands in the source document."""
MAX_JSON = 4 * MAX_TEXT
"""Characters of one JSON column; a jsonb string may have 268 million, a row of COPY a billion."""
MAX_DEPTH = 200
"""Levels of nesting; orjson writes 254."""
MAX_IDENTIFIER = 500
"""Characters: an entry of an index may have 2,704 bytes, and a character 4."""
MAX_SMALLINT = 32_767
MAX_TOKENS = 10**12
"""Of one response: a million times what any model takes. Two million such counts still add up in a bigint."""
MAX_COST = 100_000
"""US dollars of one response; a sum may have ten digits."""
COUNTS = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "cache_write_1h_tokens",
)  # fmt: skip
_counts = attrgetter(*COUNTS)
GONE = "\N{REPLACEMENT CHARACTER}"


@overload
def text(value: str) -> str: ...
@overload
def text(value: str | None) -> str | None: ...
def text(value: str | None) -> str | None:
    """Text that a column can hold: NUL (refused by PostgreSQL) and lone surrogates (by UTF-8) become U+FFFD."""
    if value is None:
        return None
    if len(value) > MAX_TEXT:
        value = f"{value[:MAX_TEXT]}\n… {len(value) - MAX_TEXT:,} more characters in the source document"
    if "\0" in value:
        value = value.replace("\0", GONE)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            value = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


@overload
def identifier(value: str) -> str: ...
@overload
def identifier(value: str | None) -> str | None: ...
def identifier(value: str | None) -> str | None:
    """Text that is indexed and compared. A long one keeps its beginning and is told apart by a hash."""
    if value is None or len(value) <= MAX_IDENTIFIER:
        return text(value)
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{text(value[: MAX_IDENTIFIER - 40])}…{digest}"


def json_text(value: Any) -> str | None:
    """JSON for a jsonb column; None for None."""
    written = json_bytes(value)
    return None if written is None else written.decode()


def json_bytes(value: Any) -> bytes | None:
    """The same in UTF-8."""
    if value is None:
        return None
    try:
        written = orjson.dumps(value, default=str)
    except TypeError:  # lone surrogates, integers over 64 bits, keys that are no text, deep nesting
        written = orjson.dumps(storable(value))
    if b"\\u0000" in written or len(written) > MAX_TEXT:
        written = orjson.dumps(storable(value))
    if len(written) > MAX_JSON and (characters := len(written.decode())) > MAX_JSON:
        return orjson.dumps({"cut": True, "bytes": characters})
    return written


def storable(value: Any, depth: int = 0) -> Any:
    """The same value without what jsonb refuses: NUL, lone surrogates, NaN, integers over 64 bits, deep nesting."""
    if isinstance(value, str):
        return text(value)
    if depth > MAX_DEPTH and isinstance(value, (dict, list, tuple)):
        return f"(nested deeper than {MAX_DEPTH} levels)"
    if isinstance(value, dict):
        return {text(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [storable(item, depth + 1) for item in value]
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, int):
        return value if isinstance(value, bool) or abs(value) < 1 << 63 else str(value)
    return value if value is None else str(value)


def plausible(event: EventDraft) -> EventDraft:
    """The event with names and ids as columns hold them, and without numbers and times that cannot be.

    These would not fit their columns or their sums, or could not be read back; ``data["refused"]`` keeps them.
    """
    tool = event.tool
    # One look at all of them in one, and not nine: half a microsecond less for each event.
    names = f"{event.actor_name}{event.key}{event.pointer}{event.model}{event.request}"
    if tool:
        names = f"{names}{tool.call_id}{tool.name}{tool.server}{tool.status}"
    if len(names) > MAX_IDENTIFIER or not names.isascii() or "\0" in names:
        event = _named(event)
    refused = _impossible(event)
    if not refused:
        return event
    gone: dict[str, Any] = dict.fromkeys(refused)
    counts = {name: gone.pop(name) for name in COUNTS if name in gone}
    usage = replace(event.usage, **counts) if event.usage and counts else event.usage
    return replace(event, **gone, usage=usage, data={**event.data, "refused": {k: str(v) for k, v in refused.items()}})


def _named(event: EventDraft) -> EventDraft:
    tool = event.tool and replace(
        event.tool, call_id=identifier(event.tool.call_id), name=text(event.tool.name), server=text(event.tool.server),
        status=text(event.tool.status),
    )  # fmt: skip
    return replace(
        event, actor_name=text(event.actor_name), key=text(event.key), pointer=text(event.pointer),
        model=text(event.model), request=identifier(event.request), tool=tool,
    )  # fmt: skip


def _impossible(event: EventDraft) -> dict[str, Any]:
    refused: dict[str, Any] = {}
    usage, cost, at = event.usage, event.cost, event.at
    if usage is not None:
        for name, count in zip(COUNTS, _counts(usage), strict=True):
            if count is not None and not 0 <= count <= MAX_TOKENS:
                refused[name] = count
    if cost is not None and not (cost.is_finite() and 0 <= cost <= MAX_COST):
        refused["cost"] = cost
    if at is not None and not 1 < at.year < 9999:  # in another time zone it may lie outside of the calendar
        refused["at"] = at
    return refused
