"""Stops as tests make and lift them."""

from __future__ import annotations

from typing import Any

from sessions_app.models import Agent, Role, Stop
from sessions_app.services import audit
from sessions_app.services.stops import stops

OLGA = audit.Actor("member", "olga", "Olga")
WHY = "it refunds the wrong people"


def stop(agent: Agent, *, everybody: bool = False, by: audit.Actor = OLGA, **more: Any) -> Stop:
    """A stop by a reviewer."""
    fields = {"role": Role.REVIEWER, "reason": WHY, "agent": None if everybody else agent} | more
    return stops.make(agent.workspace, by=by, **fields)


def lift(stopped: Stop, by: audit.Actor = OLGA, role: Role = Role.REVIEWER, **more: Any) -> Stop:
    return stops.lift(stopped, by=by, role=role, **more)
