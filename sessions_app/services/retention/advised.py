"""Pruning with what a model says, where there is one: it is asked before anything is locked."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from sessions_app.models import Session
from sessions_app.queries.retention import plans
from sessions_app.queries.retention.strategies import Strategy

from .. import audit
from . import advice, policies, pruning
from .pruning import Pruned


def prune(
    session_id: UUID,
    strategy: Strategy,
    *,
    by: audit.Actor,
    still_due: Callable[[Session], bool] = lambda session: True,
    leaves_shown: bool = False,
) -> Pruned | None:
    """As ``pruning.prune``, which it ends in."""
    session = Session.objects.select_related("agent").defer("source_record").get(pk=session_id)
    row = policies.of_session(session_id)
    if row.immutable:
        raise policies.Held
    shown = row.shown_through if leaves_shown else 0
    said = advice.ask(session, plans.plan(session, strategy, shown_through=shown))
    return pruning.prune(
        session_id, strategy, by=by, advice=said, still_due=still_due, leaves_shown=leaves_shown
    )  # fmt: skip
