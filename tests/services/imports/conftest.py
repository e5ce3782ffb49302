"""Which locks the imports of a test ask for is not left to chance."""

from __future__ import annotations

from uuid import UUID

import pytest

from sessions_app.models import Workspace
from sessions_app.services import workspaces


@pytest.fixture
def workspace(db) -> Workspace:
    """The default workspace, with an id that stays: of its sessions' 1,024 locks (``claims.LOCKS``) two that a test
    holds apart would have the same one in a run out of some hundreds, and wait for each other without end.
    """
    Workspace.objects.filter(slug=workspaces.DEFAULT).delete()
    return Workspace.objects.create(id=UUID(int=11), slug=workspaces.DEFAULT, name="Default")
