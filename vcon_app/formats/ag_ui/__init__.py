"""AG-UI: the events that an agent sends to a user interface, recorded as a list, lines or an event stream.

The types are those of ag-ui-protocol 1.0 and, for old recordings, the THINKING types before it. Messages and tool
calls come in pieces and are put together; a session is a thread. An interrupt and the answer to it (``resume`` in
the input of a later run) become ``approval`` events. What is begun and not ended in a recording that may still
grow is told as a finding and read when the file has grown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.head import Head
from ..common.records import first_records, records
from ..contract import Spec
from .events import CLOSERS, HANDLERS, run_started
from .reading import Reading

NAME = "ag-ui"
SPEC = Spec(
    name=NAME,
    title="AG-UI",
)

INPUT = frozenset({"threadId", "runId", "messages"})
"""Keys of the input of a run (``RunAgentInput``)."""
VAGUE = ("RAW", "CUSTOM")
"""Types that others have too."""


def detect(head: Head) -> bool:
    """By the name of an event, in a list, on a line, or in lists by name; or by the input of a run."""
    if any(_is_ours(line.get("type")) for line in first_records(head)) or head.keys >= INPUT:
        return True
    places = (path for path in head.shape if path == "type" or (path.endswith("item.type") and path.count(".") <= 2))
    return any(_is_ours(head.shape[path]) for path in places)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all threads, one event in memory at a time. Raises ``FormatError`` for what is no JSON."""
    return Reading(NAME, HANDLERS, run_started, CLOSERS).run(records(source, NAME))


def _is_ours(kind: object) -> bool:
    return isinstance(kind, str) and kind in HANDLERS and kind not in VAGUE
