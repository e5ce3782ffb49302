"""People at the desk: an admin, a reviewer, a viewer, and Charlie, who works elsewhere and must see nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from sessions_app.models import Member, Role, Workspace
from sessions_app.services import audit, workspaces
from sessions_app.services.people import members

SignedIn = Callable[[Member], Client]


@pytest.fixture
def elsewhere(db) -> Workspace:
    return workspaces.create_workspace("elsewhere", "Elsewhere")


def member_of(workspace: Workspace, role: Role, name: str) -> Member:
    return members.add_member(workspace, f"{name}@example.org".lower(), name, role, by=audit.COMMAND)[0]


def signed_in(member: Member) -> Client:
    client = Client()
    client.force_login(member.user)
    return client


@pytest.fixture
def admin(workspace) -> Client:
    return signed_in(member_of(workspace, Role.ADMIN, "Ada"))


@pytest.fixture
def reviewer(workspace) -> Client:
    return signed_in(member_of(workspace, Role.REVIEWER, "Rosa"))


@pytest.fixture
def viewer(workspace) -> Client:
    return signed_in(member_of(workspace, Role.VIEWER, "Vito"))


@pytest.fixture
def charlie(elsewhere) -> Client:
    return signed_in(member_of(elsewhere, Role.ADMIN, "Charlie"))
