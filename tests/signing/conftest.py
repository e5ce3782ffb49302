"""A workspace, and a place for documents that goes away with the test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from sessions_app.models import Workspace
from sessions_app.services import audit, people
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs


@pytest.fixture
def workspace(db, document_storage) -> Workspace:
    return people.default_workspace()


@pytest.fixture
def drop(workspace) -> Callable[..., Import]:
    """Import a document, given as JSON or bytes; the import as it is then."""

    def dropped(document: Any, name: str = "session.vcon", place: Workspace = workspace) -> Import:
        data = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
        started = import_jobs.start_import(place, name, [data], by=audit.COMMAND)
        import_jobs.run(started.id)
        started.refresh_from_db()
        return started

    return dropped
