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
LONGEST = 10
"""Digits: no list has as many pages."""


def before(found: QuerySet, query: QueryDict, *first: str) -> tuple[list[Any], str]:
    """The next rows of a list by id, and the query string of those after them ("" at the end).

    ``first`` is what stands before the id in the index that has this order, the same in all rows.
    """
    begins = list_place(query, "before")
    rows = found.filter(id__lt=begins) if begins else found
    rows = list(rows.order_by(*first, "-id")[: ROWS + 1])
    if len(rows) <= ROWS:
        return rows, ""
    following = query.copy()
    following["before"] = str(rows[ROWS - 1].id)
    return rows[:ROWS], f"?{following.urlencode()}"


def no_place() -> Http404:
    """What is raised for a page of a list that an address names, and that is none."""
    return Http404(gettext("This part of the list cannot be found; start from its beginning."))


def list_place(query: QueryDict, name: str) -> UUID | None:
    """The id in an address where a page begins; None at the beginning. Raises ``Http404`` for what is no id."""
    if not query.get(name):
        return None
    if (place := uuid_in(query[name])) is None:
        raise no_place()
    return place


def page_number(query: QueryDict, name: str = "page") -> int:
    """The number in an address, 1 without one. Raises ``Http404`` for what is no number of a page.

    A list may have become shorter than it was: what is behind its last page is for ``Paginator.get_page``.
    """
    text = query.get(name) or "1"
    if not (text.isascii() and text.isdecimal() and len(text) < LONGEST and int(text)):
        raise no_place()
    return int(text)


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
