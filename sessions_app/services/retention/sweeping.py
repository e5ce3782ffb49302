"""The sweep: what is due by the policies of sessions is applied, and what is due and may not be is listed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.models import EventLink, Session, SessionRetention, Workspace
from sessions_app.queries.retention import plans, strategies
from sessions_app.queries.retention.plans import Plan
from sessions_app.queries.retention.strategies import Policy, Strategy

from .. import audit
from ..upkeep.one_at_a_time import one_at_a_time
from . import advised, policies
from .pruning import Pruned

log = logging.getLogger(__name__)
AT_ONCE = 500
"""Policies that are read together."""
NEW = Q(retention__isnull=True) | ~Q(retention__looked_seq=F("last_seq"))
"""Sessions that no sweep has looked at since something came in, or another retention was said."""
What = Literal["prune", "expired", "held", "waits"]


@dataclass(frozen=True, slots=True)
class Due:
    """A session of which something is due: ``prune`` is done by the sweep, ``expired`` (its days are over, and it is
    not to be pruned by itself), ``held`` and ``waits`` (for a person, or its agent is at work) stay."""

    session: Session
    what: What
    plan: Plan

    @property
    def strategy(self) -> Strategy:
        return self.plan.strategy

    @property
    def messages(self) -> int:
        """That would go."""
        return self.plan.messages


def sweep() -> int:
    """Apply what is due; how many sessions. A session that cannot be pruned now does not hold up the others.

    0 where another sweep is under way: of many long sessions, each with a model that is asked for a minute, one takes
    longer than the time until the next, and both would pay for the same answers.
    """
    with one_at_a_time("retention") as is_alone:
        return _sweep() if is_alone else 0


def _sweep() -> int:
    done = 0
    for row in _to_look_at():
        try:
            done += _apply(row)
        except (policies.Held, Session.DoesNotExist):
            continue
        except Exception:
            log.exception("the retention of session %s was not applied; the next sweep tries again", row.session_id)
    return done


def report(workspace_id: UUID | None = None) -> Iterator[Due]:
    """What is due now, session by session, of one workspace or of all; nothing is changed."""
    for row in _rows(NEW | Q(retention__expires_at__lte=timezone.now()), workspace_id):
        found = due_of(row)
        if found:
            yield found


def report_page(workspace_id: UUID, after: UUID | None, most: int) -> tuple[list[Due], UUID | None]:
    """A part of the report: what is due among the next ``most`` sessions, and the last one if there may be more."""
    found = _rows(NEW | Q(retention__expires_at__lte=timezone.now()), workspace_id, after)
    rows = list(islice(found, most))
    due = [one for one in map(due_of, rows) if one]
    return due, rows[-1].session_id if len(rows) == most else None


def over() -> Iterator[Session]:
    """Sessions whose days are over, and which nothing keeps: not on hold, and nobody is asked or at work in them."""
    for row in _rows(Q()):
        if not row.immutable and _is_over(row, row.session):
            yield row.session


def is_still_over(session_id: UUID) -> bool:
    """The same of one session, read anew: for who has locked it to delete it."""
    session = Session.objects.select_related("workspace", "retention").defer("source_record").get(pk=session_id)
    row = row_of(session)
    return not row.immutable and _is_over(row, session)


def row_of(session: Session) -> SessionRetention:
    """The row of a session that was read with it, and the session with the row; one that is not stored if none is."""
    row = getattr(session, "retention", None)
    row = row or SessionRetention(session=session, workspace_id=session.workspace_id)
    row.session = session
    return row


def due_of(row: SessionRetention) -> Due | None:
    """What is due of a session, and whether the sweep does it; the row comes with its session."""
    session, policy, stays = row.session, policies.in_force(row), None
    for strategy in _due(policy, session):
        planned = plans.plan(session, strategy, shown_through=row.shown_through)
        if planned.spans:
            found = Due(session, _what(row, policy, strategy), planned)
            if found.what == "prune":
                return found
            stays = stays or found
    return stays


def expires_at(row: SessionRetention) -> datetime | None:
    """When the days of a session are over: counted from the last event that came in, else from when it was made."""
    return _end(policies.in_force(row), row.session)


def _end(policy: Policy, session: Session) -> datetime | None:
    if policy.ttl_days is None:
        return None
    last = EventLink.objects.filter(session_id=session.pk).order_by("-last_seq").values_list("received_at", flat=True)
    return (last.first() or session.created_at) + timedelta(days=policy.ttl_days)


def _to_look_at() -> Iterator[SessionRetention]:
    """Sessions with something new, or whose days are over, that prune themselves."""
    for row in _rows(NEW | Q(retention__expires_at__lte=timezone.now())):
        if not row.immutable and policies.in_force(row).auto_prune:
            yield row


def _rows(
    wanted: Q, workspace_id: UUID | None = None, after: UUID | None = None
) -> Iterator[SessionRetention]:  # fmt: skip
    """Rows of the sessions that have a retention, their own or their workspace's, in the order of their ids.

    The two are asked for apart: a desk on which no workspace has one reads no session that has none.
    """
    here = Q(workspace=workspace_id) if workspace_id else Q()
    with_policy = list(Workspace.objects.exclude(retention={}).values_list("pk", flat=True))
    said = Q(retention__is_set=True) | Q(workspace__in=with_policy) if with_policy else Q(retention__is_set=True)
    found = Session.objects.filter(here, said, wanted).select_related("retention", "agent", "workspace")
    page = found.defer("source_record").order_by("pk")
    behind = Q(pk__gt=after) if after else Q()
    while some := list(page.filter(behind)[:AT_ONCE]):
        yield from map(row_of, some)
        behind = Q(pk__gt=some[-1].pk)


def _due(policy: Policy, session: Session) -> Iterator[Strategy]:
    """Strategies whose time has come: the days before the number of messages."""
    end = _end(policy, session)
    if policy.ttl_days is not None and end is not None and end <= timezone.now():
        yield strategies.after_days(policy.ttl_days)
    strategy = policy.strategy
    if strategy and plans.messages_in_sight(session.pk) > strategy.window:
        yield strategy


def _what(row: SessionRetention, policy: Policy, strategy: Strategy) -> What:
    if row.immutable:
        return "held"
    if strategy.kind == "ttl_days" and _waits(row.session):
        return "waits"
    return "prune" if policy.auto_prune else "expired"


def _is_over(row: SessionRetention, session: Session) -> bool:
    end = expires_at(row)
    return end is not None and end <= timezone.now() and not _waits(session)


def _waits(session: Session) -> bool:
    """Whether a person is asked for something, or an agent is at work: nobody loses sight of it then."""
    return session.pending_approvals > 0 or session.status == Session.Status.RUNNING


def _apply(row: SessionRetention) -> bool:
    """Apply what is due of one session, and note how far it was looked at."""
    found = due_of(row)
    done: Pruned | None = None
    if found and found.what == "prune":
        done = advised.prune_planned(
            found.session, found.plan, by=audit.SYSTEM, still_due=lambda now: _is_due(now, found), leaves_shown=True
        )  # fmt: skip
    if found is None or done is not None:
        _note_looked(row, is_over=found is None or found.strategy.kind == "ttl_days")
    return bool(done and done.marker)


@transaction.atomic
def _note_looked(row: SessionRetention, *, is_over: bool) -> None:
    """The sweep comes back when something came in, and when the days are over; ``is_over``: unless they were.

    Nothing is noted where another retention was said meanwhile, of the session or of its workspace.
    """
    end = expires_at(row)
    again = end if end and not (is_over and end <= timezone.now()) else None
    if row._state.adding:
        policies.lock(row.session_id)
    kept = row.session.workspace.retention
    still = SessionRetention.objects.filter(pk=row.session_id, looked_seq=row.looked_seq, set_at=row.set_at)
    still.filter(workspace__retention=kept).update(looked_seq=row.session.last_seq, expires_at=again)


def _is_due(session: Session, found: Due) -> bool:
    """Under the lock: something may have been said or asked, or the policy changed, since it was looked at."""
    row = SessionRetention.objects.get(pk=session.pk)
    row.session = session
    policy = policies.in_force(row)
    if not policy.auto_prune or (found.strategy.kind == "ttl_days" and _waits(session)):
        return False
    return found.strategy in _due(policy, session)
