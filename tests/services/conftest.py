"""What tests of services start from: a workspace, an agent, an empty session."""

from __future__ import annotations

from pathlib import Path

import pytest

from sessions_app.models import Agent, Session, Workspace
from sessions_app.services import agents, people


@pytest.fixture(autouse=True)
def storage(settings, tmp_path) -> Path:
    """Documents and exports of one test, in a directory of its own."""
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"
    return settings.DOCUMENTS_DIR


@pytest.fixture
def workspace(db) -> Workspace:
    return people.default_workspace()


@pytest.fixture
def agent(workspace) -> Agent:
    return agents.named(workspace.id, "Porter")


@pytest.fixture
def session(agent) -> Session:
    return Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
