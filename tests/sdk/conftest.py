"""The package in ``sdk/`` as its users have it: imported here, and as the commands that its installer writes."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config.database.postgres import wait_until
from sessions_app.models import Approval, Member, Role, Workspace
from sessions_app.services import audit
from sessions_app.services.approvals import decisions
from sessions_app.services.people import api_keys, members
from tests.browser import server
from tests.places import ROOT

SOURCE = ROOT / "sdk" / "src"
if str(SOURCE) not in sys.path:
    sys.path.insert(0, str(SOURCE))
PATIENCE = 60


@pytest.fixture(scope="session")
def desk_server(process_environment: dict[str, str]) -> Iterator[str]:
    """A desk on loopback, as production runs it, on the test database."""
    with server.running(process_environment) as url:
        yield url


@pytest.fixture
def workspace(transactional_db: None, workspace: Workspace) -> Workspace:
    """The default workspace, committed: the desk reads it."""
    return workspace


@pytest.fixture
def agent_key(workspace: Workspace) -> str:
    return api_keys.create_api_key(workspace, "Laptop", Role.AGENT, by=audit.COMMAND)[1]


@pytest.fixture
def reviewer_member(workspace: Workspace) -> Member:
    return members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]


@pytest.fixture
def asked(workspace: Workspace) -> Callable[[], Approval]:
    """Waits for the next question that nobody has decided."""

    def wait() -> Approval:
        assert wait_until(lambda: Approval.objects.filter(status="pending").exists(), PATIENCE), "nothing was asked"
        return Approval.objects.get(status="pending")

    return wait


@pytest.fixture
def decide(reviewer_member: Member) -> Callable[..., Approval]:
    """Rosa decides an approval."""

    def make(approval: Approval, verdict: str, **more: Any) -> Approval:
        actor = audit.Actor("member", str(reviewer_member.pk), str(reviewer_member))
        decider = decisions.Decider(actor, Role.REVIEWER, "web", reviewer_member.pk)
        shown = {"version": approval.version, "digest": approval.digest}
        return decisions.decide(approval, decider, decisions.Decision(verdict, **shown, sure=True, **more))

    return make


def a_moment() -> None:
    """Long enough for a client to do what it must not do."""
    time.sleep(0.5)
