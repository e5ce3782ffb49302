"""GitHub Copilot: ``events.jsonl`` of the CLI, its older files, and chat sessions of VS Code.

The events are those of CLI 0.0.420 to 1.0.77 and of the Copilot SDK; VS Code's chat sessions were read in its
sources (``chatModel.ts``), no real file was at hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ...drafts import Draft
from ..common.head import open_plain, telling
from ..common.records import lines_or_list
from ..contract import Spec
from . import hooks, timeline, vscode, vscode_log
from .detection import detect as detect
from .reading import EventsReading

NAME = "copilot-cli"
SPEC = Spec(
    name=NAME,
    title="GitHub Copilot (CLI, VS Code)",
    # Also VS Code's rewritten documents: their keys are natural, so a later one only adds what is new.
    grows="lines",
)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of a session; lines are read one at a time, documents whole.

    ``source`` can be sought and may be compressed with gzip. Raises ``FormatError`` when it holds no JSON object
    among its first lines, or is a document that is too large or cannot be parsed.
    """
    return _read(source, unfinished_too=False)


def read_anyway(source: BinaryIO) -> Iterator[Draft]:
    """As ``read``, with what VS Code's log tells of a request that is still being answered."""
    return _read(source, unfinished_too=True)


def _read(source: BinaryIO, *, unfinished_too: bool) -> Iterator[Draft]:
    plain = open_plain(source)
    head = telling(plain, detect)
    if timeline.is_timeline(head):
        return timeline.TimelineReading().run(timeline.document(plain))
    if vscode_log.is_log(head):
        return vscode.ChatReading().run(vscode_log.session_in(plain, unfinished_too=unfinished_too))
    if vscode.is_document(head):
        return vscode.ChatReading().run(timeline.document(plain))
    return EventsReading(hooks.HANDLERS).run(lines_or_list(source, NAME))
