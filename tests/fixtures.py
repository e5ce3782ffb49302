"""Fixtures that tests of several folders start from; those of one folder are in its conftest.py.

A fixture whose object differs from these has a name of its own that says how: ``imported_session``, ``local_session``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import override_settings

from sessions_app.models import Agent, Session, Workspace
from sessions_app.services import agents, audit, workspaces
from vcon_app.models import Import
from vcon_app.services.imports import import_jobs


@pytest.fixture
def workspace(db) -> Workspace:
    """The default workspace, with nobody in it."""
    return workspaces.default_workspace()


@pytest.fixture
def agent(workspace) -> Agent:
    """An agent that runs elsewhere: its sessions are imported or sent in."""
    return agents.get_or_create_agent(workspace.id, "Refund agent")


@pytest.fixture
def scripted_agent(workspace) -> Agent:
    """An agent whose turns run here, by the scripted runtime, which does what its messages say."""
    return agents.create(workspace.id, "Parrot", by=audit.SYSTEM, runtime="scripted")


@pytest.fixture
def session(agent) -> Session:
    """A session without title and events, of which the audit log says nothing yet."""
    return Session.objects.create(workspace_id=agent.workspace_id, agent=agent)


@pytest.fixture
def document_storage(settings, tmp_path) -> Path:
    """Documents and exports of one test, in a directory of its own."""
    settings.DATA_DIR, settings.DOCUMENTS_DIR = tmp_path, tmp_path / "documents"
    return settings.DOCUMENTS_DIR


@pytest.fixture
def import_document(workspace, document_storage) -> Callable[..., Import]:
    """Imports a document, given as JSON or bytes, and returns the finished import."""

    def run_import(document: Any, name: str = "session.vcon", place: Workspace = workspace) -> Import:
        data = document if isinstance(document, bytes) else json.dumps(document, ensure_ascii=False).encode()
        started = import_jobs.start_import(place, name, [data], by=audit.COMMAND)
        import_jobs.run(started.id)
        started.refresh_from_db()
        return started

    return run_import


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Static files as production has them: what collectstatic writes."""
    root = tmp_path_factory.mktemp("static")
    storage = settings.STORAGES | {"staticfiles": {"BACKEND": "config.static_files.HashedFilesStorage"}}
    with override_settings(STATIC_ROOT=root, STORAGES=storage):
        call_command("collectstatic", verbosity=0, interactive=False)
    return root
