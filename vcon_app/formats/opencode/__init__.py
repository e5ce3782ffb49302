"""OpenCode: ``opencode export``, the output of ``opencode run --format json``, dumps of its folder, ``opencode.db``.

A dump is one JSON document after the other (projects, sessions, messages, parts), maybe of many sessions; a
part may stand before the message that says whose it is. So a file is read twice: first for what messages and
sessions say, then for the events, in the order of the file. Parts have ids and times of their own and do not
change once they are complete; a key is the part's id with a digest of its content, so a later export of the
same session adds what is new. From ``message-v2.ts`` of 1.4 and files of 1.1.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from typing import BinaryIO

from ...drafts import Draft
from ..common.head import Head, open_plain
from ..common.lines import Line, json_documents
from ..common.sqlite.opening import MAGIC, is_sqlite, open_store
from ..contract import Spec
from .documents import is_ours
from .others import HANDLERS
from .reading import OpenCodeReading
from .store import documents as rows
from .store import is_store

NAME = "opencode"
SPEC = Spec(
    name=NAME,
    title="OpenCode",
    # Also a document that is exported again: keys are natural, so it only adds what is new (see above).
    grows="lines",
    spread=True,
)

LOOKED_AT = 40
"""Documents at the start of a file that may say whose it is."""


def detect(head: Head) -> bool:
    """By a session, message or part among the first documents; only OpenCode spells ``sessionID`` so."""
    if is_store(head):
        return True
    if b'"sessionID"' not in head.data or head.data.startswith(MAGIC):
        return False
    items = json_documents(io.BytesIO(head.data), NAME)
    documents = islice((item.value for item in items if isinstance(item, Line)), LOOKED_AT)
    shape = head.shape  # a whole export is cut off in the head
    exported = shape.get("messages") == "[" and shape.get("info") == "{" and isinstance(shape.get("info.id"), str)
    return any(map(is_ours, documents)) or (exported and "info.role" not in shape)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions of a file.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when nothing of a session is
    found in it.
    """
    if is_sqlite(source):
        yield from _read_store(source)
        return
    plain = open_plain(source)
    packed = plain is not source
    reading = OpenCodeReading(HANDLERS)
    for item in json_documents(plain, NAME, packed=packed):
        if isinstance(item, Line):
            reading.read_facts(item.value)
    plain.seek(0)
    yield from reading.run(json_documents(plain, NAME, packed=packed))


def _read_store(source: BinaryIO) -> Iterator[Draft]:
    reading = OpenCodeReading(HANDLERS)
    with open_store(source) as store:
        for item in rows(store):
            if isinstance(item, Line):
                reading.read_facts(item.value)
        yield from reading.run(rows(store))
