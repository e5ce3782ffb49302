"""What tests of the API start from: workspaces, keys of each role, and a client that speaks JSON."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from sessions_app.models import Role, Workspace
from sessions_app.services import audit, workspaces
from sessions_app.services.people import api_keys

from .client import Api
from .things import make_things


@pytest.fixture
def other_workspace(db) -> Workspace:
    return workspaces.create_workspace("elsewhere")


@pytest.fixture
def key_for() -> Callable[[Workspace, Role], Api]:
    """Makes a client with a new key of a role in a workspace."""

    def make(workspace: Workspace, role: Role = Role.REVIEWER, name: str = "") -> Api:
        _, secret = api_keys.create_api_key(workspace, name or f"{role} key", role, by=audit.SYSTEM)
        return Api(secret)

    return make


@pytest.fixture
def api(workspace, key_for) -> Api:
    """A reviewer's key."""
    return key_for(workspace, Role.REVIEWER)


@pytest.fixture
def viewer(workspace, key_for) -> Api:
    return key_for(workspace, Role.VIEWER)


@pytest.fixture
def admin(workspace, key_for) -> Api:
    return key_for(workspace, Role.ADMIN)


@pytest.fixture
def stranger(other_workspace, key_for) -> Api:
    """An admin of another workspace."""
    return key_for(other_workspace, Role.ADMIN)


@pytest.fixture
def things(agent, session) -> dict[str, UUID]:
    """One of each thing of the workspace, by the name that paths give to its id."""
    return make_things(agent, session)
