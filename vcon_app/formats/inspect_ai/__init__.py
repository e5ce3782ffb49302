"""Inspect AI eval logs: ``.eval`` (a zip) and ``.json``, log versions 1 to 3.

Each sample in each epoch is a session. Requests of graders and calls inside of tools stand one level deeper; what an
approver decided is an approval. Responses are counted but for those that came out of Inspect's cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft, Finding
from ..common.head import Head
from ..common.lines import Line, named
from ..common.reading import Findings
from ..contract import Spec
from .archive import Archive, header_of, json_samples
from .sample import Sample

NAME = "inspect"
SPEC = Spec(
    name=NAME,
    title="Inspect AI eval log",
)

ZIP = b"PK\x03\x04"
NAME_LENGTH, NAME_START = 26, 30
"""Of a local header in a zip: where the length of the name stands, and the name (APPNOTE 4.3.7)."""


def detect(head: Head) -> bool:
    """By names of members at the beginning of a zip, or by the header of a log."""
    if head.raw.startswith(ZIP):
        return _members(head.raw)
    shape = head.shape
    return (
        shape.get("eval") == "{"
        and {"version", "status"} <= head.keys
        and any(f"eval.{name}" in shape for name in ("task", "task_id", "run_id"))
    )


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all samples, one sample in memory at a time.

    Raises ``FormatError`` for what is no log, for zips that unpack to too much, and for members in Zstandard.
    """
    findings = Findings(NAME)
    packed = source.read(len(ZIP)) == ZIP
    source.seek(0)
    archive = Archive(source) if packed else None
    header = archive.header() if archive else header_of(source)
    for item in named(NAME, archive.samples()) if archive else json_samples(source):
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line):
            yield from Sample(item, header, findings).drafts()
    yield from findings.close()


def _members(data: bytes) -> bool:
    """Whether a log's members are among those at the beginning of a zip, whose directory is at its end."""
    at = 0
    while at >= 0:
        length = int.from_bytes(data[at + NAME_LENGTH : at + NAME_LENGTH + 2], "little")
        name = data[at + NAME_START : at + NAME_START + length]
        in_folder = name.startswith((b"_journal/", b"samples/")) and name.endswith(b".json")
        if in_folder or name == b"header.json":
            return True
        at = data.find(ZIP, at + 4)
    return False
