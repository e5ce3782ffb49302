"""The sweep: what is due by the policies of sessions is applied, and what is due and may not be is listed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from django.db.models import F, Q
from django.utils import timezone

from sessions_app.models import EventLink, Session, SessionRetention
from sessions_app.queries.retention import plans, strategies
from sessions_app.queries.retention.strategies import Strategy

from .. import audit
from . import advised, policies
from .pruning import Pruned

log = logging.getLogger(__name__)
AT_ONCE = 500
"""Policies that are read together."""
What = Literal["prune", "expired", "held", "waits"]


@dataclass(frozen=True, slots=True)
class Due:
    """A session of which something is due: ``prune`` is done by the sweep, ``expired`` (its days are over, and it is
    not to be pruned by itself), ``held`` and ``waits`` (for a person, or its agent is at work) stay."""

    session: Session
    what: What
    strategy: Strategy
    messages: int
    """That would go."""


def sweep() -> int:
    """Apply what is due; how many sessions. A session that cannot be pruned now does not hold up the others."""
    done = 0
    for row in _to_look_at():
        try:
            done += _apply(row)
        except (policies.Held, Session.DoesNotExist):
            continue
        except Exception:
            log.exception("the retention of session %s was not applied; the next sweep tries again", row.session_id)
    return done


def report() -> Iterator[Due]:
    """What is due now, session by session; nothing is changed."""
    for row in _rows(Q()):
        found = due_of(row)
        if found:
            yield found


def over() -> Iterator[Session]:
    """Sessions whose days are over, and which nothing keeps: not on hold, and nobody is asked or at work in them."""
    for row in _rows(Q(immutable=False, ttl_days__isnull=False)):
        if _is_over(row, row.session):
            yield row.session


def is_still_over(session_id: UUID) -> bool:
    """The same of one session, read anew: for who has locked it to delete it."""
    row = SessionRetention.objects.filter(pk=session_id, immutable=False, is_set=True).first()
    return row is not None and _is_over(row, Session.objects.defer("source_record").get(pk=session_id))


def due_of(row: SessionRetention) -> Due | None:
    """What is due of a session, and whether the sweep does it; the row comes with its session."""
    session, stays = row.session, None
    for strategy in _due(row, session):
        planned = plans.plan(session, strategy)
        if planned.spans:
            found = Due(session, _what(row, session, strategy), strategy, planned.messages)
            if found.what == "prune":
                return found
            stays = stays or found
    return stays


def expires_at(row: SessionRetention, session: Session) -> datetime | None:
    """When the days of a session are over: counted from the last event that came in, else from when it was made."""
    if row.ttl_days is None:
        return None
    last = EventLink.objects.filter(session_id=session.pk).order_by("-last_seq").values_list("received_at", flat=True)
    return (last.first() or session.created_at) + timedelta(days=row.ttl_days)


def _to_look_at() -> Iterator[SessionRetention]:
    """Sessions with something new, or whose days are over, that prune themselves."""
    due = ~Q(looked_seq=F("session__last_seq")) | Q(expires_at__lte=timezone.now())
    return _rows(due & Q(auto_prune=True, immutable=False))


def _rows(wanted: Q) -> Iterator[SessionRetention]:
    found = SessionRetention.objects.filter(wanted, is_set=True).select_related("session", "session__agent")
    page = found.defer("session__source_record").order_by("pk")
    after: Q = Q()
    while some := list(page.filter(after)[:AT_ONCE]):
        yield from some
        after = Q(pk__gt=some[-1].pk)


def _due(row: SessionRetention, session: Session) -> Iterator[Strategy]:
    """Strategies whose time has come: the days before the number of messages."""
    end = expires_at(row, session)
    if row.ttl_days is not None and end is not None and end <= timezone.now():
        yield strategies.after_days(row.ttl_days)
    strategy = strategies.of_policy(row.prune_strategy, row.max_messages)
    if strategy and plans.messages_in_sight(session.pk) > strategy.window:
        yield strategy


def _what(row: SessionRetention, session: Session, strategy: Strategy) -> What:
    if row.immutable:
        return "held"
    if strategy.kind == "ttl_days" and _waits(session):
        return "waits"
    return "prune" if row.auto_prune else "expired"


def _is_over(row: SessionRetention, session: Session) -> bool:
    end = expires_at(row, session)
    return end is not None and end <= timezone.now() and not _waits(session)


def _waits(session: Session) -> bool:
    """Whether a person is asked for something, or an agent is at work: nobody loses sight of it then."""
    return session.pending_approvals > 0 or session.status == Session.Status.RUNNING


def _apply(row: SessionRetention) -> bool:
    """Apply what is due of one session, and note how far it was looked at."""
    session = row.session
    found = due_of(row)
    done: Pruned | None = None
    if found and found.what == "prune":
        done = advised.prune(session.pk, found.strategy, by=audit.SYSTEM, still_due=lambda now: _is_due(now, found))
    if found is None or done is not None:
        _note_looked(row, is_over=found is None or found.strategy.kind == "ttl_days")
    return bool(done and done.marker)


def _note_looked(row: SessionRetention, *, is_over: bool) -> None:
    """The sweep comes back when something came in, and when the days are over; ``is_over``: unless they were."""
    end = expires_at(row, row.session)
    again = end if end and not (is_over and end <= timezone.now()) else None
    still = SessionRetention.objects.filter(pk=row.pk, looked_seq=row.looked_seq, set_at=row.set_at)
    still.update(looked_seq=row.session.last_seq, expires_at=again)


def _is_due(session: Session, found: Due) -> bool:
    """Under the lock: something may have been said or asked, or the policy changed, since it was looked at."""
    row = SessionRetention.objects.get(pk=session.pk)
    if not row.auto_prune or (found.strategy.kind == "ttl_days" and _waits(session)):
        return False
    return found.strategy in _due(row, session)
