"""Grants: what a person allowed for more than one call. Each use is counted, and none is made beyond the last."""

from __future__ import annotations

from typing import Any

from django.db.models import Case, F, Q, Value, When
from django.utils import timezone

from sessions_app.models import Agent, Grant, Session
from sessions_app.policy import predicates
from sessions_app.policy.faults import Faults
from sessions_app.policy.matching import read_predicates

TRIED = 50
"""Grants of one tool that a call is compared with, the newest first."""
USED_UP = "used up"


def in_force(agent: Agent) -> Q:
    """Condition of the grants of an agent that hold now."""
    return Q(agent=agent, ended_at=None, expires_at__gt=timezone.now())


def use(
    session: Session, agent: Agent, tool: str, server: str | None, arguments: Any, fingerprint: str
) -> Grant | None:  # fmt: skip
    """A grant that lets this call through, with this use counted; None where there is none.

    Two calls at once cannot both have the last use: each takes it from the row by compare-and-set.
    """
    of_tool = Grant.objects.filter(in_force(agent), tool_name=tool, tool_server=server)
    same = of_tool.filter(agent_version=agent.version, tool_fingerprint=fingerprint)
    here = same.filter(Q(session=None) | Q(session=session.pk)).order_by("-id")
    for grant in here[:TRIED]:
        if fits(grant, arguments) and _count_use(grant):
            grant.refresh_from_db()
            return grant
    return None


def fits(grant: Grant, arguments: Any) -> bool:
    """Whether every condition of a grant holds for the arguments; what cannot be told does not hold."""
    faults = Faults()
    conditions = read_predicates(grant.arguments, "", "the grant", faults)
    if faults.found:
        return False
    return all(predicates.compiled(one, allows=True)(arguments) is True for one in conditions)


def _count_use(grant: Grant) -> bool:
    now = timezone.now()
    usable = Grant.objects.filter(Q(uses_left=None) | Q(uses_left__gt=0), pk=grant.pk, ended_at=None)
    last = When(uses_left=1, then=Value(now))
    return bool(
        usable.filter(expires_at__gt=now).update(
            uses=F("uses") + 1,
            uses_left=F("uses_left") - 1,
            last_used_at=now,
            ended_at=Case(last, default=F("ended_at")),
            end_reason=Case(When(uses_left=1, then=Value(USED_UP)), default=F("end_reason")),
        )
    )
