"""What tests of services start from: a workspace, an agent, an empty session."""

from __future__ import annotations

import pytest

from sessions_app.models import Agent, Session, Workspace
from sessions_app.services import agents, people


@pytest.fixture
def workspace(db) -> Workspace:
    return people.default_workspace()


@pytest.fixture
def agent(workspace) -> Agent:
    return agents.named(workspace.id, "Porter")


@pytest.fixture
def session(agent) -> Session:
    return Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
