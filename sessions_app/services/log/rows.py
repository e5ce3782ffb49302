"""Rows of the log as PostgreSQL takes them: a few as text, many by ``COPY`` in binary form, in which it need not read
numbers, times and ids from text: a fifth less for the database, and half of it for whoever writes them.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sessions_app.event_chain import COLUMNS

_BYTES = "bytea"
"""What is made here in the binary form of its column, as it is."""
_TYPES = {
    "session_id": _BYTES, "id": _BYTES, "key": _BYTES, "arguments": _BYTES, "result": _BYTES, "data": _BYTES,
    "at": "int8", "seq": "int4", "turn": "int4", "depth": "int2", "parent_seq": "int4", "cost": "numeric",
} | dict.fromkeys(
    ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
     "cache_write_1h_tokens", '"offset"', "length"),
    "int8",
)  # fmt: skip
COPIED_TYPES = [_TYPES.get(name, "text") for name in COLUMNS]
"""Types of what ``copied`` returns: in binary form PostgreSQL reads no value of another."""
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_SECONDS, _MICROSECONDS = 86_400, 1_000_000
_AT = COLUMNS.index("at")
_JSON = tuple(COLUMNS.index(name) for name in ("arguments", "result", "data"))
_VERSION = b"\1"
"""Before JSON as ``jsonb`` is received."""


def copied(row: list[Any]) -> list[Any]:
    """The values of ``COLUMNS``, as an append has them, for ``COPY``: the same list, changed."""
    row[_AT] = _moment(row[_AT])
    for place in _JSON:
        if (written := row[place]) is not None:
            row[place] = _VERSION + written
    return row


def inserted(row: list[Any]) -> list[str | None]:
    """The same as PostgreSQL reads them from the text of a statement."""
    for place in _JSON:
        if (written := row[place]) is not None:
            row[place] = written.decode()
    return [value.hex() if isinstance(value, bytes) else None if value is None else str(value) for value in row]


def _moment(at: datetime | None) -> int | None:
    """Microseconds since 2000, as ``timestamptz`` is received."""
    if at is None:
        return None
    since = (at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH
    return (since.days * _SECONDS + since.seconds) * _MICROSECONDS + since.microseconds
