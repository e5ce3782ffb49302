"""Long tables: page by page on a page, and as CSV with exact numbers, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import Http404, HttpResponse, QueryDict
from django.utils.translation import gettext

from sessions_app.rendering.cells import cell

ROWS = 50
CSV_ROWS = 100_000


def before(found: QuerySet, query: QueryDict, *first: str) -> tuple[list[Any], str]:
    """The next rows of a list by id, and the query string of those after them ("" at the end).

    ``first`` is what stands before the id in the index that has this order, the same in all rows.
    """
    try:
        rows = found.filter(id__lt=UUID(query["before"])) if query.get("before") else found
    except ValueError:
        raise Http404(gettext("This part of the list cannot be found; start from its beginning.")) from None
    rows = list(rows.order_by(*first, "-id")[: ROWS + 1])
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
    """Rows of values as ``rendering.cells`` writes them."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(head)
    writer.writerows([cell(value) for value in row] for row in rows)
    response = HttpResponse(written.getvalue(), content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{filename}"'
    return response
