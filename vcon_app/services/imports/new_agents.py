"""Agents that the files of an import name and that nobody has made yet.

They are made at the end of the transaction. Whoever makes the row of an agent keeps every other who would make it from
going on until the commit, so at the beginning of a long file this held up all other files of that agent; the rows that
name it do not mind, since PostgreSQL looks for what they refer to at the commit.
"""

from __future__ import annotations

from uuid import UUID

from sessions_app.models import Agent, Session
from sessions_app.services import agents

from .claims import BeginAgain


class NewAgents:
    """Those of one attempt of an import."""

    def __init__(self, workspace_id: UUID) -> None:
        self.workspace_id = workspace_id
        self._planned: dict[UUID, Agent] = {}

    def named(self, name: str) -> Agent:
        """The agent of this name; one that is not there yet has an id already, and nothing else."""
        agent = agents.find_or_plan(self.workspace_id, name)
        if agent._state.adding:
            return self._planned.setdefault(agent.pk, agent)
        return agent

    def make(self) -> None:
        """Make those that have a session: a member of an archive that was refused leaves none.

        Raises ``BeginAgain`` where somebody has made one meanwhile under an id of their own.
        """
        used = [agent for agent in self._planned.values() if Session.objects.filter(agent_id=agent.pk).exists()]
        if used and not agents.make_planned(used):
            raise BeginAgain
