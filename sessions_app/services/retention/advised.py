"""Pruning with what a model says, where there is one: it is asked before anything is locked."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from sessions_app.models import Session
from sessions_app.queries.retention import plans
from sessions_app.queries.retention.plans import Plan
from sessions_app.queries.retention.strategies import Strategy

from .. import audit
from . import advice, policies, pruning
from .pruning import Pruned


def prune(session_id: UUID, strategy: Strategy, *, by: audit.Actor) -> Pruned | None:
    """As ``pruning.prune``, which it ends in."""
    session = Session.objects.select_related("agent").defer("source_record").get(pk=session_id)
    if policies.of_session(session_id).immutable:
        raise policies.Held
    return prune_planned(session, plans.plan(session, strategy), by=by)


def prune_planned(
    session: Session,
    planned: Plan,
    *,
    by: audit.Actor,
    still_due: Callable[[Session], bool] = lambda session: True,
    leaves_shown: bool = False,
) -> Pruned | None:
    """The same with what was planned just now: a model is asked about that, and what goes is planned under the lock."""
    said = advice.ask(session, planned)
    return pruning.prune(
        session.pk, planned.strategy, by=by, advice=said, still_due=still_due, leaves_shown=leaves_shown
    )  # fmt: skip
