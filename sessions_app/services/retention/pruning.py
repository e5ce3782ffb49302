"""Pruning: messages of a session go out of sight. Its log is not touched; a marker says what went, and by which rule.

A session is pruned in one transaction, under the lock of its ``SessionRetention``: of two at once the second finds
nothing left to do, and one that is killed leaves nothing half done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import HiddenSpan, Pruning, Session, SessionRetention
from sessions_app.queries.retention import plans
from sessions_app.queries.retention.plans import Plan
from sessions_app.queries.retention.strategies import Strategy

from .. import audit, notify
from . import policies, summaries

BY_RULES = "rules"


@dataclass(frozen=True, slots=True)
class Advice:
    """What a model said: events to keep beside those that the rules keep, or a summary. ``method``: who said it."""

    method: str = BY_RULES
    keep: Collection[int] = field(default_factory=tuple)
    summary: str = ""
    through_seq: int = 0
    """The last event that the summary tells of."""
    spent: Mapping[str, str | int] = field(default_factory=dict)
    """What was asked of the model took so many tokens, and so much money: it is paid."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went, or would go; ``marker`` is None where nothing did."""

    plan: Plan
    method: str
    summary: str = ""
    marker: Pruning | None = None


NO_ADVICE = Advice()


def preview(session: Session, strategy: Strategy) -> Pruned:
    """What pruning would do now, by the rules alone. Raises ``policies.Held``."""
    if policies.of_session(session.pk).immutable:
        raise policies.Held
    planned = plans.plan(session, strategy)
    return Pruned(planned, BY_RULES, _summary(session, planned, NO_ADVICE))


@transaction.atomic
def prune(
    session_id: UUID,
    strategy: Strategy,
    *,
    by: audit.Actor,
    advice: Advice = NO_ADVICE,
    still_due: Callable[[Session], bool] = lambda session: True,
    leaves_shown: bool = False,
) -> Pruned | None:
    """Take messages out of sight; None where it is no longer due. Raises ``policies.Held``, ``Session.DoesNotExist``.

    What is known of the session when it is locked counts: ``still_due`` is asked then. ``leaves_shown``: what a person
    showed again stays in sight; who prunes by hand takes it, too.
    """
    row = policies.lock(session_id)
    if row.immutable:
        raise policies.Held
    session = Session.objects.defer("source_record").get(pk=session_id)
    if not still_due(session):
        return None
    shown = row.shown_through if leaves_shown else 0
    done = _apply(session, plans.plan(session, strategy, advice.keep, shown_through=shown), by, advice)
    if row.shown_through != shown and done.marker:
        SessionRetention.objects.filter(pk=session_id).update(shown_through=0)
    return done


def _apply(session: Session, planned: Plan, by: audit.Actor, advice: Advice) -> Pruned:
    if not planned.spans:
        return Pruned(planned, advice.method)
    first, last = planned.spans[0].first_seq, planned.spans[-1].last_seq
    summary = _summary(session, planned, advice)
    method = BY_RULES if summary and summary != advice.summary else advice.method
    marker = Pruning.objects.create(
        session=session, at=timezone.now(), by_kind=by.kind, by=by.name, rule=planned.strategy.rule,
        method=method, messages=planned.messages, events=planned.events, first_seq=first, last_seq=last,
        summary=summary,
    )  # fmt: skip
    _hide(session.pk, planned)
    audit.record(
        session.workspace_id, by, "session.pruned", subject=("session", session.pk), rule=marker.rule,
        method=marker.method, messages=marker.messages, events=marker.events, first_seq=first, last_seq=last,
        **advice.spent,
    )  # fmt: skip
    notify.session_changed(session.pk, session.last_seq)
    return Pruned(planned, marker.method, marker.summary, marker)


def _hide(session_id: UUID, planned: Plan) -> None:
    """Join what goes with the spans that it meets, so that a session pruned a thousand times has one of them."""
    known = HiddenSpan.objects.filter(session_id=session_id)
    before = {(span.first_seq, span.last_seq, span.messages) for span in known}
    after: list[tuple[int, int, int]] = []
    taken = {(span.first_seq, span.last_seq, span.messages) for span in planned.spans}
    for first, last, messages in sorted(before | taken):
        if after and after[-1][1] + 1 == first:
            begin, _, earlier = after.pop()
            first, messages = begin, earlier + messages
        after.append((first, last, messages))
    known.filter(first_seq__in=[span[0] for span in before.difference(after)]).delete()
    HiddenSpan.objects.bulk_create(
        HiddenSpan(session_id=session_id, first_seq=first, last_seq=last, messages=messages)
        for first, last, messages in after if (first, last, messages) not in before
    )  # fmt: skip


def _summary(session: Session, planned: Plan, advice: Advice) -> str:
    if planned.strategy.kind != "summarize_old" or not planned.spans:
        return ""
    old = plans.said_before(session.pk, planned.through_seq + 1)
    if advice.summary and advice.through_seq == planned.through_seq:
        return advice.summary
    return summaries.by_rules(session, planned.through_seq, old)
