"""Retention of a session, as its page says it: the policy, what is due by it and when, and what was pruned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sessions_app.models import Pruning, Session, SessionRetention
from sessions_app.queries.retention import hidden
from sessions_app.queries.retention.strategies import Policy
from sessions_app.services.retention import policies, sweeping
from sessions_app.services.retention.sweeping import Due

SHOWN = 5
"""Acts of pruning that the page lists, the newest."""


@dataclass(frozen=True, slots=True)
class Shown:
    """``over``: when its days are over, if nothing comes in until then."""

    row: SessionRetention
    policy: Policy
    over: datetime | None
    due: Due | None
    prunings: Sequence[Pruning]


def of_session(session: Session) -> Shown | None:
    """None where nobody has said a retention or pruned, which costs no query where the session was read with its row
    and its workspace."""
    row = sweeping.row_of(session)
    policy = policies.in_force(row)
    if row._state.adding and policy.of is None:
        return None
    over, due = sweeping.expires_at(row), sweeping.due_of(row)
    return Shown(row, policy, over, due, hidden.markers(session.pk, SHOWN))
