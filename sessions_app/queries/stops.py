"""Stops: which are in force, and what they say."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from sessions_app.compiled import Compiled
from sessions_app.models import Stop

STRIPS = 5
"""Stops that a page shows at most; the page of stops has them all."""


def in_force(workspace_id: UUID) -> QuerySet[Stop]:
    """Stops of a workspace that hold now, those of every agent first, then those that last longest."""
    return _holding(workspace_id, timezone.now())


def _holding(workspace_id: UUID, at: datetime) -> QuerySet[Stop]:
    holding = Stop.objects.filter(Q(until=None) | Q(until__gt=at), workspace_id=workspace_id, lifted_at=None)
    # Every page asks, and there is hardly ever one: an agent's columns in each statement were a third of its CPU.
    return holding.prefetch_related("agent").order_by(
        F("agent").asc(nulls_first=True), F("until").desc(nulls_first=True), "id"
    )


_STRIPS = Compiled[Stop](lambda workspace_id, at: _holding(workspace_id, at)[:STRIPS])


def strips(workspace_id: UUID) -> list[Stop]:
    """The first of them, which every page shows."""
    return _STRIPS(workspace_id, timezone.now())


def of_agent(workspace_id: UUID, agent_id: UUID) -> Stop | None:
    """The stop that holds an agent now; of several the one of every agent, or that lasts longest."""
    holding = in_force(workspace_id).filter(Q(agent=None) | Q(agent=agent_id))
    # Each turn asks three times, and there is hardly ever one: building the columns of the answer takes 1 ms.
    return holding.first() if holding.exists() else None


def of_agents(workspace_id: UUID) -> dict[UUID | None, Stop]:
    """The stop in force for each agent that has one of its own; under None the one of every agent."""
    found: dict[UUID | None, Stop] = {}
    for stop in in_force(workspace_id):
        found.setdefault(stop.agent_id, stop)
    return found


def recent(workspace_id: UUID) -> QuerySet[Stop]:
    """Every stop of a workspace, with what it ended."""
    return Stop.objects.filter(workspace_id=workspace_id).select_related("agent").prefetch_related("sessions")


def holds(stop: Stop) -> bool:
    """Whether it is in force now."""
    return stop.lifted_at is None and (stop.until is None or stop.until > timezone.now())


def key_of(stops: Iterable[Stop]) -> str:
    """A text that is another one when other stops are shown: a page that stays open tells by it what it shows."""
    return ",".join(str(stop.pk) for stop in stops)


def sentence(stop: Stop) -> str:
    """What somebody is told who meets it: what is stopped, by whom, until when and why."""
    what = stop.agent.name if stop.agent else "every agent of this workspace"
    until = f"until {stop.until:%Y-%m-%d %H:%M} UTC" if stop.until else "until somebody lifts it"
    return f"{what} is stopped by {stop.made_by}, {until}: {stop.reason}"
