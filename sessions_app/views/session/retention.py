"""Retention of a session, as its page says it: the policy, what is due by it and when, and what was pruned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sessions_app.models import Pruning, Session, SessionRetention
from sessions_app.queries.retention import hidden
from sessions_app.services.retention import sweeping
from sessions_app.services.retention.sweeping import Due

SHOWN = 5
"""Acts of pruning that the page lists, the newest."""


@dataclass(frozen=True, slots=True)
class Shown:
    """``over``: when its days are over, if nothing comes in until then."""

    policy: SessionRetention
    over: datetime | None
    due: Due | None
    prunings: Sequence[Pruning]


def of_session(session: Session) -> Shown | None:
    """None where nobody has said a policy or pruned, which costs no query: see ``access.session_read``."""
    row = getattr(session, "retention", None)
    if row is None:
        return None
    over, due = sweeping.expires_at(row, session), sweeping.due_of(row)
    return Shown(row, over, due, hidden.markers(session.pk, SHOWN))
