"""What agents log by OpenTelemetry, as OTLP's JSON (one document or lines): Claude Code, Codex, Gemini CLI, Qwen Code,
and any program that logs the events of the conventions for generative AI.

A session is what its records name, else a trace. Prompts and what a tool was given and brought are in the log only
where the agent was told to log them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

from ...drafts import Draft, FormatError
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.records import records
from ..contract import Spec
from .reading import NAME, LogReading, folded
from .shape import is_logged, records_in

MAX_BYTES = 256 * 1024 * 1024
"""A session is written among others, so a file is held in memory."""
SPEC = Spec(name=NAME, title="OpenTelemetry logs of agents", grows="lines", max_bytes=MAX_BYTES)


def detect(head: Head) -> bool:
    """By log records in which an agent that is known here is named."""
    return is_logged(head)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all sessions. Raises ``FormatError``, also where no message, call or use of a model is logged."""
    sessions: dict[str, list[Item]] = {}
    others: list[Item] = []
    size = 0
    for item in records(source, NAME):
        if not isinstance(item, Line):
            others.append(item)
            continue
        for record in records_in(item):
            size += len(record.raw)
            if size > MAX_BYTES:
                raise FormatError(f"it holds more than {MAX_BYTES // 1024**2} MB of logs; split it by session first")
            own = record.value["session"] or record.value["trace"]
            if record.value["name"]:
                sessions.setdefault(own, []).append(record)
    told = {own: held for own, held in sessions.items() if any(map(LogReading.tells, held))}
    if not told:
        raise FormatError("it is a log of OpenTelemetry, but no message, call of a tool or use of a model is in it")
    for own, held in told.items():
        yield from LogReading(own).run(chain(others, folded(held)))
        others = []  # what is no record stands with the first session
