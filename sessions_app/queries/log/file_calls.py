"""Events of a session that may change files, with their results, as ``changes`` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection

from sessions_app.changes.calls import Call, changes_of
from sessions_app.changes.change import Change
from sessions_app.changes.paths import normal
from sessions_app.changes.stated import failed, stated

MOST = 512 * 1024
"""Bytes of arguments, and characters of a text, that are read; of a call with more only the file is known."""
HEAD = 8_000
"""Characters of a result that say what came of a call."""
AT_ONCE = 40
"""Events of one query: 40 times 1 MB at the worst."""
TOOLS = (
    "edit|write|create|patch|replace|insert|delete|remove|rename|move|notebook|read|view|open|file|save|bash|shell|exec"
    "|terminal|command|run|cmd"
)
"""What is in the name of every tool that ``changes.calls`` knows. Arguments of the others are never read."""

_FITS = "pg_column_size({0}) <= %(most)s AND octet_length(({0})::text) <= %(most)s"
READ = f"""
SELECT e.seq, e.kind, e.tool_name, e.parent_seq, t.status, t.result_seq IS NOT NULL,
    CASE WHEN e.kind <> 'tool_call' THEN NULL
        WHEN {_FITS.format("e.arguments")} THEN e.arguments
        WHEN jsonb_typeof(e.arguments) = 'string' THEN to_jsonb(left(e.arguments #>> '{{}}', %(most)s)) END,
    CASE WHEN e.kind = 'tool_call' AND jsonb_typeof(e.arguments) = 'object'
        THEN left(coalesce(e.arguments ->> 'file_path', e.arguments ->> 'filePath', e.arguments ->> 'path'), 4000) END,
    CASE WHEN e.kind = 'file_change' THEN left(e.text, %(most)s) ELSE left(r.text, %(head)s) END,
    CASE WHEN {_FITS.format("r.result")} THEN r.result END,
    CASE WHEN e.kind = 'file_change' AND {_FITS.format("e.data")} THEN e.data END
FROM sessions_app_event e
LEFT JOIN sessions_app_toolcall t ON t.session_id = %(session)s AND t.seq = e.seq
LEFT JOIN sessions_app_event r ON r.session_id = %(session)s AND r.seq = t.result_seq
WHERE e.session_id = %(session)s AND e.seq = ANY(%(seqs)s) ORDER BY e.seq
"""


@dataclass(frozen=True, slots=True)
class Told:
    """What one event says of files. ``outcome``: done, failed, or unknown, where no result is recorded."""

    seq: int
    parent_seq: int | None
    is_call: bool
    outcome: str
    changes: list[Change]


def told(session_id: UUID, seqs: Sequence[int], cwd: str, head: int = HEAD) -> Iterator[Told]:
    """What events say of files, in their order. ``head``: how many characters of the results are read."""
    for start in range(0, len(seqs), AT_ONCE):
        some = seqs[start : start + AT_ONCE]
        with connection.cursor() as cursor:
            cursor.execute(READ, {"session": session_id, "seqs": list(some), "most": MOST, "head": head})
            rows = cursor.fetchall()
        yield from (_told_from_row(row, cwd) for row in rows)


def _told_from_row(row: tuple[Any, ...], cwd: str) -> Told:
    seq, kind, name, parent_seq, status, has_result, arguments, path, text, result, data = row
    if kind == "file_change":
        about = _json(data)
        about = about if isinstance(about, dict) else {}
        return Told(seq, parent_seq, False, "failed" if failed(about) else "done", stated(text or "", about, cwd))
    outcome = "failed" if status not in (None, "ok") else "done" if has_result else "unknown"
    if arguments is None and path:  # too long to be read: which file it is, is all that is known
        changes = [Change(normal(path, cwd), "edited", name or "")] if normal(path, cwd) else []
    else:
        changes = changes_of(Call(name, _json(arguments), _json(result), text or "", cwd))
    return Told(seq, parent_seq, True, outcome, changes)


def _json(value: str | None) -> Any:
    return None if value is None else orjson.loads(value)
