"""Lists of the redaction page, and places in a log where given words stand, exactly as written."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import orjson
from django.db import connection
from django.db.models import BooleanField, ExpressionWrapper, F, Min, Q, QuerySet, TextField
from django.db.models.expressions import Func
from django.db.models.functions import Left

from sessions_app.models import Event
from vcon_app.models import Redaction

ROWS = 50
HEAD = 280
"""Characters of a value that a row shows."""
KINDS = {
    "messages": ("user_message", "agent_message", "injected_context"),
    "reasoning": ("reasoning",),
    "tools": ("tool_call", "tool_result"),
    "files": ("file_change", "artifact"),
}
"""Filters of the page; anything else is "everything"."""
# Of a text a plain search, of JSON one in how PostgreSQL writes it: there quotes and line ends are escaped.
SEARCH = """
SELECT seq, text ILIKE %(plain)s,
    coalesce(arguments::text ILIKE ANY(%(both)s), false), coalesce(result::text ILIKE ANY(%(both)s), false)
FROM sessions_app_event WHERE session_id = %(session)s AND seq <= %(last)s
  AND (text ILIKE %(plain)s OR arguments::text ILIKE ANY(%(both)s) OR result::text ILIKE ANY(%(both)s))
  AND (%(only)s::int[] IS NULL OR seq = ANY(%(only)s))
ORDER BY seq
"""


@dataclass(frozen=True, slots=True)
class Row:
    """An event in a line or two, and which of its parts there are."""

    seq: int
    kind: str
    actor_kind: str
    actor_name: str
    tool_name: str | None
    said: str
    arguments: str
    result: str

    @property
    def words(self) -> str:
        """The kind as people say it."""
        return self.kind.replace("_", " ")


def parts_containing(
    session_id: UUID, words: str, last: int, only: Collection[int] | None = None
) -> dict[int, set[str]]:
    """Seq -> the columns (text, arguments, result) that contain the words, in upper or lower case."""
    plain = f"%{_literal(words)}%"
    escaped = f"%{_literal(orjson.dumps(words).decode()[1:-1])}%"
    given: dict[str, Any] = {"session": session_id, "last": last, "plain": plain, "both": [plain, escaped]}
    with connection.cursor() as cursor:
        cursor.execute(SEARCH, given | {"only": None if only is None else list(only)})
        return {
            seq: {name for name, hit in zip(("text", "arguments", "result"), hits, strict=True) if hit}
            for seq, *hits in cursor.fetchall()
        }


def _literal(words: str) -> str:
    return words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def event_rows(session_id: UUID, *, after: int, kind: str = "", words: str = "", last: int) -> tuple[list[Row], bool]:
    """A page of the log behind ``after``, and whether more follow. One query, two with words to look for."""
    found = Event.objects.filter(session_id=session_id, seq__gt=after, seq__lte=last).order_by("seq")
    if kind in KINDS:
        found = found.filter(kind__in=KINDS[kind])
    if words:
        found = found.filter(seq__in=list(parts_containing(session_id, words, last)))
    shown = found.annotate(
        said=Left("text", HEAD),
        shown_arguments=Left(_as_text("arguments"), HEAD),
        shown_result=Left(_as_text("result"), HEAD),
    )
    fields = ("seq", "kind", "actor_kind", "actor_name", "tool_name", "said", "shown_arguments", "shown_result")
    page = [Row(seq, *(value or "" for value in texts)) for seq, *texts in shown.values_list(*fields)[: ROWS + 1]]
    return page[:ROWS], len(page) > ROWS


def _as_text(column: str) -> Func:
    return Func(F(column), template="(%(expressions)s #>> '{}')", output_field=TextField())


def shapes(session_id: UUID, last: int, only: Collection[int] | None) -> Iterator[tuple[int, str, bool, bool]]:
    """Of each event up to ``last`` its number, its kind, and whether it has arguments and a result.

    ``only``: of these numbers alone.
    """
    found = Event.objects.filter(session_id=session_id, seq__lte=last)
    if only is not None:
        found = found.filter(seq__in=only)
    has_arguments = ExpressionWrapper(Q(arguments__isnull=False), BooleanField())
    has_result = ExpressionWrapper(Q(result__isnull=False), BooleanField())
    return found.order_by("seq").values_list("seq", "kind", has_arguments, has_result).iterator()


def names_of_persons(session_id: UUID, last: int) -> list[str]:
    """Names under which persons and triggers speak in a log, in the order in which they first do."""
    said = Event.objects.filter(session_id=session_id, seq__lte=last, actor_kind__in=("person", "trigger"))
    named = said.exclude(actor_name="").values("actor_name").annotate(first=Min("seq"))
    return list(named.order_by("first").values_list("actor_name", flat=True))


def finished_redactions(session_id: UUID) -> QuerySet[Redaction]:
    """The redactions of a session that became files, the newest first."""
    return Redaction.objects.filter(session_id=session_id).exclude(export=None).select_related("export").order_by("-id")


def finished_redaction(workspace_id: UUID, session_id: UUID, redaction_id: UUID) -> Redaction | None:
    """A redaction that became a file."""
    return finished_redactions(session_id).filter(workspace_id=workspace_id, pk=redaction_id).first()


def file_items(record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What the file of a session holds beside its events: ``attachments`` and ``analysis``, by index ``i``."""
    vcon = record.get("vcon")
    items = vcon if isinstance(vcon, dict) else {}
    return {name: [one for one in items.get(name) or [] if one.get("item")] for name in ("attachments", "analysis")}
