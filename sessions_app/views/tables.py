"""Long tables: page by page on a page, and as CSV with exact numbers, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict

ROWS = 50
CSV_ROWS = 100_000

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet runs a text that begins with one of these (OWASP, CSV injection)."""


def before(found: QuerySet, query: QueryDict) -> tuple[list[Any], str]:
    """The next rows of a list by id, and the query string of those after them ("" at the end)."""
    try:
        rows = found.filter(id__lt=UUID(query["before"])) if query.get("before") else found
    except ValueError:
        raise Http404("This part of the list cannot be found; begin at its start.") from None
    rows = list(rows.order_by("-id")[: ROWS + 1])
    if len(rows) <= ROWS:
        return rows, ""
    following = query.copy()
    following["before"] = str(rows[ROWS - 1].id)
    return rows[:ROWS], f"?{following.urlencode()}"


def uuid_in(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


def csv_response(filename: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> HttpResponse:
    """None is an empty cell, a number itself, a moment RFC 3339; text that would be a formula gets ``'`` in front."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    response = HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, str):
        value = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        return f"'{value}" if value.lstrip(" ").startswith(FORMULA) else value
    return value if value is None or isinstance(value, int) else f"{value:f}"
