"""How an agent fares: the tools that it uses, and what goes wrong in its latest sessions, by kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.expressions import OrderBy
from django.utils import timezone

from sessions_app.models import Agent, RunSummary, Session
from sessions_app.models.session_order import STARTED
from sessions_app.summary.failures import TOOL, Failures, Group
from sessions_app.summary.lines import alike, cut

from ..money.usage import Period

LOOKED_AT = 100
"""Sessions whose errors are put together: their run summaries are at most 16 KB each."""
KINDS, TOOLS, DAYS = 8, 10, 30


@dataclass(slots=True)
class Kind:
    """Errors of one tool for one reason in several sessions; ``line``, ``session_id`` and ``seq`` are of the latest."""

    tool: str
    line: str
    session_id: UUID
    seq: int
    count: int = 0
    sessions: int = 0
    left: int = 0
    """Sessions that did not recover from it."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """Calls of a tool in the last days, and how many errors the latest of those days' sessions had with it."""

    name: str
    calls: int
    errors: int
    share: float
    """Of the calls of the most used one."""


@dataclass(frozen=True, slots=True)
class Health:
    """``looked_at``: the latest sessions of which ``kinds`` tell."""

    tools: list[ToolUse]
    kinds: list[Kind]
    more_kinds: int
    looked_at: int


def health_of(agent: Agent) -> Health:
    """Three queries, and no more rows however many sessions there are."""
    order = (OrderBy(STARTED, descending=True), OrderBy(F("id"), descending=True))
    latest = dict(Session.objects.filter(agent=agent).order_by(*order).values_list("pk", STARTED)[:LOOKED_AT])
    told: dict[UUID, Any] = dict(RunSummary.objects.filter(pk__in=latest).values_list("session_id", "told__failures"))
    # Whole days, whose totals are kept: of a part of one the turns would be read.
    since = timezone.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=DAYS - 1)
    kinds: dict[tuple[str, str], Kind] = {}
    errors: Counter[str] = Counter()
    for session_id, started in latest.items():
        for group in Failures.read(told.get(session_id) or []).groups:
            _count(kinds, group, session_id)
            if started >= since and group.tool is not None:
                errors[group.tool] += group.count
    ranked = sorted(kinds.values(), key=lambda kind: (-kind.left, -kind.sessions, -kind.count, kind.tool, kind.line))
    return Health(_tools(agent, since, errors), ranked[:KINDS], max(0, len(ranked) - KINDS), len(told))


def _count(kinds: dict[tuple[str, str], Kind], group: Group, session_id: UUID) -> None:
    if group.tool is None:  # several kinds that nobody has told apart
        return
    key = group.tool, alike(group.line)
    kind = kinds.setdefault(key, Kind(group.tool, group.line, session_id, group.last))
    kind.count += group.count
    kind.sessions += 1
    kind.left += group.is_recovered is False


def _tools(agent: Agent, since: datetime, errors: Counter[str]) -> list[ToolUse]:
    used = Period(agent.workspace_id, since, agent=str(agent.pk)).dearest("tool", limit=200)
    called = sorted((each for each in used if each.about and each.name), key=lambda each: (-each.about, each.name))
    most = max((each.about for each in called), default=1)
    return [
        ToolUse(each.name or "", each.about, errors[cut(each.name or "", TOOL)], each.about / most)
        for each in called[:TOOLS]
    ]
