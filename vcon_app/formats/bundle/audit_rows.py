"""The audit records of a bundle: each one's hash, and that of neighbours that follow each other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

from ..common import jsonio

GENESIS = "0" * 64
"""What the first entry of a log follows."""
LONGEST = 16 * 1024 * 1024
"""Bytes of a line; details of an entry have a few hundred."""


MOST = 20
"""Faults that are told: a file of a gigabyte could have as many as lines."""


def faults(lines: BinaryIO, expected: Any, documents: set[str]) -> list[str]:
    """What is wrong, by line. ``expected`` is the number of records in the manifest.

    ``documents`` gains the SHA-256 of each file that was taken in, by what the records say.
    """
    return list(islice(_faults(lines, expected, documents), MOST))


def _faults(lines: BinaryIO, expected: Any, documents: set[str]) -> Iterator[str]:
    number, before = 0, (0, GENESIS)
    while line := lines.readline(LONGEST):
        number += 1
        row = _row(line)
        if row is None:
            yield f"line {number} is no audit record"
            continue
        yield from _row_faults(number, row, before, documents)
        before = row["seq"], row["hash"]
    if number != expected:
        yield f"it has {number:,} records, and the manifest says {str(expected)[:20]}"


def _row(line: bytes) -> dict[str, Any] | None:
    try:
        row, _ = jsonio.loads(line)
    except jsonio.Unreadable:
        return None
    texts = ("previous_hash", "hash", "entry")
    if isinstance(row, dict) and type(row.get("seq")) is int and all(isinstance(row.get(name), str) for name in texts):
        return row
    return None


def _row_faults(number: int, row: dict[str, Any], before: tuple[int, str], documents: set[str]) -> Iterator[str]:
    seq, last = row["seq"], before[0]
    digest = hashlib.sha256(f"{row['previous_hash']}{row['entry']}".encode("utf-8", "surrogatepass")).hexdigest()
    if digest != row["hash"]:
        yield f"line {number} (entry {seq}): its hash is not that of what it says"
    if seq <= last:
        yield f"line {number}: entry {seq} does not come after entry {last}"
    elif seq == last + 1 and row["previous_hash"] != before[1]:
        yield f"line {number}: entry {seq} does not follow the hash of entry {last}"
    try:
        entry = jsonio.loads(row["entry"].encode("utf-8", "replace"))[0]
    except jsonio.Unreadable:
        entry = None
    if not isinstance(entry, dict) or entry.get("seq") != seq:
        yield f"line {number}: what its hash is of is not entry {seq}"
    elif entry.get("action") == "import.started" and isinstance(details := entry.get("details"), dict):
        documents.add(str(details.get("sha256"))[:64])
