"""Events as the rules of a run summary read them, from the log: without what those rules do not look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import orjson

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.prepared import Statement, fetch
from sessions_app.summary.lines import TAIL
from sessions_app.summary.secret_shapes import SCANNED

KINDS = ("user_message", "agent_message", "tool_call", "tool_result", "error", "artifact")
MOST = 512 * 1024
"""Bytes of arguments or of a result that are read; longer ones say no more than that there are some."""
AT_ONCE = 1_000
"""Events of one query: of so many that all have the longest arguments, 0.5 GB."""
READ = Statement(f"""
SELECT seq, kind, parent_seq, depth,
    CASE WHEN length(text) > {SCANNED + TAIL} THEN left(text, {SCANNED}) || right(text, {TAIL}) ELSE text END,
    call_id, tool_name, tool_status,
    CASE WHEN kind = 'tool_call' AND pg_column_size(arguments) <= {MOST} THEN arguments::text END,
    CASE WHEN kind = 'tool_result' AND pg_column_size(result) <= {MOST} THEN result::text
        WHEN kind = 'error' AND pg_column_size(data) <= {MOST} THEN data::text
        WHEN kind = 'artifact' AND pg_column_size(data) <= {MOST}
            THEN jsonb_build_object('type', data->'type', 'name', data->'name')::text END
FROM sessions_app_event
WHERE session_id = %(session)s AND seq > %(since)s AND seq <= %(until)s AND kind = ANY(%(kinds)s) ORDER BY seq
""")


def read(session_id: UUID, since: int, until: int) -> Iterator[tuple[int, int | None, EventDraft]]:
    """Events after ``since`` up to ``until``, each with its number and that of its parent."""
    for start in range(since, until, AT_ONCE):
        scope = {"session": session_id, "since": start, "until": min(start + AT_ONCE, until), "kinds": list(KINDS)}
        for row in fetch(READ, scope, keep=until - since < AT_ONCE):
            yield row[0], row[2], _draft(row)


def _draft(row: tuple[Any, ...]) -> EventDraft:
    _, kind, _, depth, text, call_id, name, status, arguments, more = row
    tool = None
    if kind.startswith("tool_"):
        result = _json(more) if kind == "tool_result" else None
        tool = ToolDraft(call_id, name, arguments=_json(arguments), result=result, status=status)
    data = _json(more) if kind in ("error", "artifact") else None
    return EventDraft(kind, key="", text=text, tool=tool, depth=depth, data=data if isinstance(data, dict) else {})


def _json(value: str | None) -> Any:
    return None if value is None else orjson.loads(value)
