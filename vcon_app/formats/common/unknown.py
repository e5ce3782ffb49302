"""Unknown records: kept raw, counted, and reported once for each type."""

from __future__ import annotations

from typing import Any

from ...drafts import EventDraft
from .lines import Line
from .reading import RAW_LIMIT, Findings
from .values import bounded, text_of


def unknown_event(
    findings: Findings, line: Line, what: str, value: dict[str, Any] | None = None, *, path: str = "", **place: Any
) -> EventDraft:
    """The event of a record, or of one part of it (``value`` at ``path``), that nobody can read."""
    value = line.value if value is None else value
    findings.unknown(what, line.pointer + path)
    data: dict[str, Any] = {"type": text_of(value.get("type"))[:100] or None}
    if len(line.raw) <= RAW_LIMIT:
        data["raw"] = bounded(value, len(line.raw))
    return line.event("unknown", at_path=path, actor=("unknown", ""), data=data, **place)
