"""What the session list is sorted by: the same expressions stand in its queries and in the indexes of ``Session``.

PostgreSQL takes an index on an expression only for a query with that very expression, constants included.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import DateTimeField, F, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce, Left

NEVER = datetime.fromisoformat("0001-01-02T00:00:00+00:00")
"""Stands for "has not started" where sessions are put in order."""
TITLE_LETTERS = 200
"""Of a title, by which it is sorted: a row of an index holds 2,704 bytes, and files state titles of any length."""

STARTED = Coalesce(F("started_at"), Value(NEVER), output_field=DateTimeField())
LASTING: dict[str, Combinable] = {
    "created": F("created_at"),
    "started": STARTED,
    "title": Left("title", TITLE_LETTERS),
}
"""Orders by what hardly ever changes. Those by what changes with most events are in ``SessionMeasures``."""
