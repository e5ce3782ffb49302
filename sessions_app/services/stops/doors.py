"""The doors that a stop shuts: what an agent would do next asks here first, in the transaction that begins it.

Who asks shares a lock that making a stop takes alone, so that a stop comes before or after what is being begun, and
never in its middle: what began before it is there when the stop is carried out.
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection

from sessions_app.models import Agent, Stop
from sessions_app.queries import stops as queries

from ..agents import NotActive

SHARED = "SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))"
ALONE = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


class Stopped(NotActive):
    """The agent, or every agent of the workspace, is stopped; the message says by whom, until when and why."""


def stop_of(agent: Agent) -> Stop | None:
    """The stop that holds an agent. Inside a transaction: no stop begins before it ends."""
    return stop_in(agent.workspace_id, agent.pk)


def stop_in(workspace_id: UUID, agent_id: UUID) -> Stop | None:
    """The same, by ids."""
    _lock(SHARED, workspace_id)
    return queries.of_agent(workspace_id, agent_id)


def refuse_where_stopped(agent: Agent) -> None:
    """Raises ``Stopped``. Inside a transaction, as ``stop_of``."""
    if stop := stop_of(agent):
        raise Stopped(queries.sentence(stop))


def lock_alone(workspace_id: UUID) -> None:
    """Wait until nothing is at a door of this workspace, and let nothing in until the transaction ends."""
    _lock(ALONE, workspace_id)


def _lock(how: str, workspace_id: UUID) -> None:
    # Two statements: one that waits for a lock and then reads sees what was there before it waited.
    with connection.cursor() as cursor:
        cursor.execute(how, [f"stops:{workspace_id}"])
