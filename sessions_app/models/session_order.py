"""What the session list is sorted by, and how its sessions ended: the same expressions stand in its queries and in the
indexes of ``Session``.

PostgreSQL takes an index on an expression only for a query with that very expression, constants included.
"""

from __future__ import annotations

from datetime import datetime

from django.db.models import Case, DateTimeField, F, TextField, Value, When
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

ENDED = Case(
    When(pending_approvals__gt=0, then=Value("waiting")),
    When(phase="crashed", then=Value("error")),
    When(phase="timed_out", then=Value("error")),
    When(phase="cancelled", then=Value("cancelled")),
    When(status="idle", phase="completed", ending="", then=Value("completed")),
    When(status="idle", phase="completed", ending="ended_in_error", then=Value("error")),
    When(status="idle", phase="completed", then=F("ending")),
    default=F("status"),
    output_field=TextField(),
)
"""How a session ended, or how it stands, as one of ``ENDINGS``: what matters most of it. Its badge says the same."""
ENDINGS = (
    "completed", "broke_off", "error", "no_reply", "cancelled", "waiting", "running", "idle", "archived",
)  # fmt: skip
