"""Queues of sessions to review: made, changed and closed by admins and reviewers."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.http import QueryDict
from django.utils import timezone

from sessions_app.models import Member, ReviewQueue, Role
from sessions_app.queries.reviews import queues as queries
from sessions_app.queries.sessions.conditions import BadFilter

from .. import audit
from ..log.sanitise import text
from .problems import Refused, require

MOST = 50
MOST_NAME, MOST_FILTER, MOST_WANTED, MOST_SEED = 60, 2_000, 9, 32


@dataclass(frozen=True, slots=True)
class Rules:
    """Which sessions. ``filter`` is a query string of the session list; the same ``seed`` gives the same share."""

    name: str
    filter: str = ""
    percent: Decimal = Decimal(100)
    wanted: int = 1
    seed: str = ""


@transaction.atomic
def make(member: Member, rules: Rules, *, by: audit.Actor) -> ReviewQueue:
    """A new queue. Raises ``Refused`` and ``NotAllowed``."""
    require(member, Role.REVIEWER)
    name, seed = " ".join(text(rules.name).split()), text(rules.seed).strip() or secrets.token_hex(4)
    filter_ = QueryDict(text(rules.filter).strip().removeprefix("?"), mutable=True)
    for name_ in ("sort", "cursor", "totals"):
        filter_.pop(name_, None)
    queue = ReviewQueue(
        workspace_id=member.workspace_id, name=name, filter=filter_.urlencode(), percent=rules.percent, seed=seed,
        wanted=rules.wanted, made_by=text(by.name),
    )  # fmt: skip
    _check(queue)
    if ReviewQueue.objects.filter(workspace_id=member.workspace_id, closed_at=None).count() >= MOST:
        raise Refused("name", f"there are {MOST} queues already; close one first")
    try:
        with transaction.atomic():
            queue.save(force_insert=True)
    except IntegrityError:
        raise Refused("name", f'there is a queue "{name}" already') from None
    audit.record(
        queue.workspace_id, by, "review_queue.made", subject=("review_queue", queue.pk), name=name,
        filter=queue.filter, percent=str(queue.percent), seed=seed, wanted=queue.wanted,
    )  # fmt: skip
    return queue


@transaction.atomic
def close(queue: ReviewQueue, member: Member, *, by: audit.Actor) -> None:
    """Nothing is given out of it any more; verdicts stay. A second time changes nothing."""
    require(member, Role.REVIEWER)
    if ReviewQueue.objects.filter(pk=queue.pk, closed_at=None).update(closed_at=timezone.now()):
        audit.record(queue.workspace_id, by, "review_queue.closed", subject=("review_queue", queue.pk), name=queue.name)


def _check(queue: ReviewQueue) -> None:
    if not 0 < len(queue.name) <= MOST_NAME:
        raise Refused("name", f"has {len(queue.name)} characters; use 1 to {MOST_NAME}")
    if len(queue.filter) > MOST_FILTER:
        raise Refused("filter", f"has {len(queue.filter):,} characters; use at most {MOST_FILTER:,}")
    if not queue.percent.is_finite() or not Decimal("0.01") <= queue.percent <= 100:
        raise Refused("percent", f"{queue.percent} is no share; use 0.01 to 100")
    if not 1 <= queue.wanted <= MOST_WANTED:
        raise Refused("wanted", f"{queue.wanted} is no number of reviewers; use 1 to {MOST_WANTED}")
    if len(queue.seed) > MOST_SEED:
        raise Refused("seed", f"use at most {MOST_SEED} characters")
    try:
        queries.sessions_in(queue)
    except BadFilter as bad:
        raise Refused("filter", f"{bad.field}: {bad}") from None
