"""Langfuse's own exports: a trace with its observations, as its page or its API gives it, or rows of observations.

A trace is a session. Generations are counted, each once, as Langfuse counts them; tools are observations of the type
TOOL, and calls that stand in messages only are named with the message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Finding, FormatError
from ..common.head import Head
from ..common.lines import Line
from ..common.reading import Findings
from ..common.records import part_of, records
from ..common.values import dict_of, list_of, text_of
from ..contract import Spec
from .trace import Trace

NAME = "langfuse"
MAX_BYTES = 256 * 1024 * 1024
"""Rows of one trace may stand anywhere in a file, so it is held in memory."""
SPEC = Spec(
    name=NAME,
    title="Langfuse export",
    max_bytes=MAX_BYTES,
)

ROW = frozenset({"id", "traceId", "type", "startTime"})
ROWS_OWN = ("parentObservationId", "usageDetails", "costDetails", "completionStartTime")


def detect(head: Head) -> bool:
    """By a trace with observations, or by the keys of an observation."""
    return _is_ours(head.keys, head, "") or _is_ours(head.keys_of_item, head, "item.")


def _is_ours(keys: frozenset[str], head: Head, place: str) -> bool:
    listed = {name for name in ("observations", "trace.observations") if head.shape.get(f"{place}{name}") == "["}
    if head.shape.get(f"{place}trace") == "{" and listed:
        return True
    if "observations" in listed and {"id", "projectId"} <= keys:
        return True
    return keys >= ROW and not keys.isdisjoint(ROWS_OWN)


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all traces. Raises ``FormatError`` for what is no JSON, and for more than ``MAX_BYTES`` of it."""
    findings = Findings(NAME)
    rows: dict[str, list[Line]] = {}
    size = 0
    for item in records(source, NAME):
        if isinstance(item, Finding):
            yield from findings.limit(item)
        elif isinstance(item, Line):
            size += len(item.raw)
            if size > MAX_BYTES:
                raise FormatError(f"it holds more than {MAX_BYTES // 1024**2} MB of observations; split it first")
            if keys_of_row(item.value):
                rows.setdefault(text_of(item.value.get("traceId")), []).append(item)
            else:
                yield from _trace(item, findings)
    for id, lines in rows.items():
        first = part_of(lines[0], {"id": id}, "")
        yield from Trace(first, {"id": id, "name": _name(lines)}, lines, findings).drafts()
    yield from findings.close()


def keys_of_row(value: dict[str, Any]) -> bool:
    """Whether this is an observation by itself."""
    return value.keys() >= ROW


def _trace(line: Line, findings: Findings) -> Iterator[Draft]:
    value = dict_of(line.value.get("trace")) or line.value
    listed, path = list_of(line.value.get("observations")), "/observations"
    if not listed:  # the page's export has them twice, these without their content
        listed, path = list_of(value.get("observations")), "/trace/observations"
    held = [part_of(line, item, f"{path}/{index}") for index, item in enumerate(listed) if isinstance(item, dict)]
    if not held and "observations" not in value and "observations" not in line.value:
        message = "neither a trace nor an observation; left out"
        yield from findings.limit(Finding(f"{NAME}.no-trace", "warning", line.pointer, message))
        return
    yield from Trace(line, value, held, findings).drafts()


def _name(lines: list[Line]) -> str:
    """Name of the observation that nothing is above."""
    roots = (line.value.get("name") for line in lines if not line.value.get("parentObservationId"))
    return next(filter(None, map(text_of, roots)), "")
