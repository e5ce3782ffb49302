"""What a session is sorted by and that changes while it is at work, in a small table beside it."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from .agents import Agent
from .fields import AMOUNT
from .sessions import Session
from .workspaces import Workspace

SPENT = F("cost") + F("data")
"""What usage of a session costs in all: by it sessions are ranked."""


class SessionMeasures(models.Model):
    """A projection of its session, kept by a trigger (``migrations/_measures_0023.py``), so by whatever writes one.

    An index on ``session`` over one of these columns would make every event write to all indexes of that table: 17
    and not 1 (HOT), 150 µs of CPU in place of 25, and 11 kB of WAL in place of 0.5, measured at 100,000 sessions.
    The trigger takes 20 to 80 µs and 0.65 kB of WAL of an update that changes one of them, and nothing of others.
    """

    session = models.OneToOneField(
        Session, models.DO_NOTHING, primary_key=True, related_name="measures", db_constraint=False
    )
    """The database deletes it with its session."""
    workspace = models.ForeignKey(Workspace, models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False)
    cost = models.DecimalField(**AMOUNT)
    """US dollars, as ``Money.cost_amount``, and 0 where it is unknown."""
    tokens = models.BigIntegerField()
    turns = models.IntegerField()
    errors = models.IntegerField()
    last_day = models.DateField(null=True)
    """Day in UTC of the last thing that happened in it."""
    is_bad = models.BooleanField()
    """It had errors, or ended badly."""
    agent = models.ForeignKey(
        Agent, models.DO_NOTHING, null=True, related_name="+", db_index=False, db_constraint=False
    )
    """Of a session from before this was measured NULL, until the migration has filled it in."""
    seen = models.DateTimeField(null=True)
    """Minute of its end, beginning or coming, whichever is known first."""
    data = models.DecimalField(**AMOUNT, default=0, db_default=0)
    """US dollars that its tool calls took from the data wallet."""
    first_used = models.DateField(null=True)
    """Day in UTC of its first turn that usage counts; NULL: there is none (``migrations/_first_used_0067.py``)."""

    class Meta:
        indexes = [
            *(
                models.Index(F("workspace"), F(name), F("session"), name=f"measures_by_{name}")
                for name in ("cost", "tokens", "turns", "errors")
            ),
            models.Index(fields=["workspace", "last_day"], condition=Q(is_bad=True), name="measures_bad_days"),
            models.Index(fields=["agent", "seen"], name="measures_seen"),
            models.Index(F("workspace"), SPENT, F("session"), name="measures_by_spent"),
            # An index of what usage of a day costs would make each change of usage write to all indexes of that table.
            models.Index(F("workspace"), F("first_used"), SPENT.desc(), F("session"), name="measures_by_first_used"),
        ]
