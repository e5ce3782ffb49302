"""Rows of the lenses beside the story: a tool call, a model request and an event as it is kept, each on one line."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from django.utils.translation import gettext

from sessions_app.models import ModelRequest
from sessions_app.queries.log import lenses
from sessions_app.queries.log.model_requests import RequestFacts
from sessions_app.queries.log.timeline import Entry, Window
from sessions_app.rendering import numbers, text

from .layout import Form
from .row_kinds import Call, Row, weight
from .rows import row_of
from .said import Said

SECTION = "sessions/lenses/_section.html"
KEPT = 160
"""Characters of an event as it is kept that its line has."""
STEPS = 20
"""Widths that a bar can have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow(Call):
    """A tool call in the table of them."""

    template = "sessions/lenses/_tool.html"
    has_cells = True
    frame = 1_400

    @property
    def size(self) -> int:
        return self.base_size() + weight(self.line.verb, self.line.subject, self.glance)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow(Row):
    """A model request in the table of them."""

    template = "sessions/lenses/_request.html"
    has_cells = True
    frame = 2_000
    asked: ModelRequest
    facts: RequestFacts
    stop: str
    """Why the model stopped, as the recorder states it; else what the response ends with."""
    is_stated: bool

    @property
    def context(self) -> int | None:
        """Tokens that the model was sent."""
        parts = (self.asked.input_tokens, self.asked.cache_read_tokens, self.asked.cache_write_tokens)
        known = [part for part in parts if part is not None]
        return sum(known) if known else None

    @property
    def bar(self) -> int:
        """Its share of the largest context of the session, in ``STEPS``."""
        return round(STEPS * self.context / self.facts.largest) if self.context and self.facts.largest else 0

    @property
    def cached(self) -> str:
        return numbers.percent(self.asked.cache_read_tokens, self.context)


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRow(Row):
    """An event as it is kept: all that stands in its columns, on one line of JSON."""

    template = "sessions/lenses/_raw.html"
    has_cells = False
    frame = 1_400
    kept: str

    @property
    def size(self) -> int:
        return self.base_size() + weight(self.kept)


def _tool_row(entry: Entry, window: Window, mark: Said | None) -> ToolRow:
    call: Any = row_of(entry, window, mark)
    return ToolRow(**{one.name: getattr(call, one.name) for one in fields(call)} | {"arguments": None, "results": None})


def _request_row(entry: Entry, window: Window, mark: Said | None) -> RequestRow:
    stated = text.first_line(str(entry.data.get("stop_reason") or ""), 40)
    return RequestRow(
        **_common(entry, window, mark),
        asked=window.requests[entry.seq],
        facts=window.facts[entry.seq],
        stop=stated or {"tool_call": gettext("tool call"), "agent_message": gettext("message")}.get(entry.kind, ""),
        is_stated=bool(stated),
    )


def _raw_row(entry: Entry, window: Window, mark: Said | None) -> RawRow:
    own = {
        "call": entry.call_id, "tool": entry.tool_name, "status": entry.tool_status, "arguments": entry.light_arguments,
        "result": entry.light_result, "text": entry.head[:KEPT], "data": entry.light_data,
    }  # fmt: skip
    kept = {name: value for name, value in own.items() if value not in (None, "", {}, [])}
    line = json.dumps(kept, ensure_ascii=False, default=str)
    return RawRow(**_common(entry, window, mark), kept=text.first_line(line, KEPT))


def _common(entry: Entry, window: Window, mark: Said | None) -> dict[str, Any]:
    request = window.requests.get(entry.seq)
    return {"entry": entry, "actor": "system", "label": "", "request": request, "nested": None, "mark": mark}


FORMS = {
    lenses.TOOLS: Form(_tool_row, template=SECTION),
    lenses.REQUESTS: Form(_request_row, template=SECTION),
    lenses.RAW: Form(_raw_row, template=SECTION),
}
"""How the rows of each lens beside the story are put together."""
ORDERED = Form(_tool_row, template="sessions/lenses/_ordered.html", by_turn=False)
"""Tool calls in another order than they happened: one table, whatever turns they are of."""
