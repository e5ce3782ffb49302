"""Turns that are run for real: workers in threads, each with a connection of its own, so everything is committed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sessions_app.models import Agent, Event, Session, Workspace
from sessions_app.runtimes import worker
from sessions_app.services import agents, audit, sessions
from sessions_app.services.turns import messages
from tests.fakes import mcp_server, messages_api
from tests.fakes.managed_agents import KEY, FakeManagedAgents

BY = audit.Actor("member", "m", "Ines")


@pytest.fixture(autouse=True)
def loopback_is_listed(settings) -> None:
    """MCP servers of these tests are on this machine, which an operator has to allow."""
    settings.PRIVATE_HOSTS = frozenset({("127.0.0.1", None)})


@pytest.fixture
def workspace(transactional_db, workspace) -> Workspace:
    """The default workspace, committed: workers read it through connections of their own."""
    return workspace


@pytest.fixture
def make_session(workspace) -> Callable[..., Session]:
    """A session of a scripted agent with these fields."""

    def make(name: str = "Parrot", runtime: str = "scripted", **fields: Any) -> Session:
        agent = Agent.objects.filter(name=name).first()
        agent = agent or agents.create(workspace.id, name, by=BY, runtime=runtime, **fields)
        return sessions.create(agent, by=BY, origin=Session.Origin.CHAT)

    return make


@pytest.fixture
def scripted_session(make_session) -> Session:
    return make_session()


@pytest.fixture
def fake(settings) -> Iterator[FakeManagedAgents]:
    """Managed Agents on loopback, and a desk that has its key."""
    with FakeManagedAgents().serving() as server:
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = KEY, server.base_url
        yield server


@pytest.fixture
def managed(make_session, fake) -> Session:
    """A session that runs there."""
    tools = [
        {"type": "builtin", "name": "bash"},
        {"type": "mcp", "name": "billing", "url": "https://mcp.example.org"},
        {"type": "custom", "name": "print_label", "description": "Prints a label", "input_schema": {"type": "object"}},
    ]
    return make_session("Billing", runtime="managed", model="claude-opus-5-5", tools=tools)


def say(session: Session, text: str, **more: Any) -> messages.Submitted:
    session.refresh_from_db()
    return messages.submit(session.pk, text, by=BY, **more)


def work(session: Session) -> Session:
    """What a worker does with one task."""
    worker.run(session.pk)
    session.refresh_from_db()
    return session


def told(session: Session) -> list[tuple[str, str]]:
    """Kind and text of the log."""
    return list(Event.objects.filter(session=session).order_by("seq").values_list("kind", "text"))


@pytest.fixture
def api(settings) -> Iterator[messages_api.FakeMessagesApi]:
    """A Messages API that the ``local`` runtime talks to."""
    fake = messages_api.FakeMessagesApi()
    with fake.serving():
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL = messages_api.KEY, fake.base_url
        yield fake


@pytest.fixture
def shop() -> Iterator[mcp_server.Shop]:
    """An MCP server."""
    with mcp_server.Shop().serving() as server:
        yield server


@pytest.fixture
def install_tools(tmp_path, monkeypatch) -> Callable[..., str]:
    """Install a package with these functions as tools, for the time of a test; the name of the last one."""

    def install(source: str, *names: str, package: str = "my_tools") -> str:
        (tmp_path / f"{package}.py").write_text(source)
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        points = "\n".join(f"{name} = {package}:{name}" for name in names)
        (info / "entry_points.txt").write_text(f"[countersign.tools]\n{points}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, package, raising=False)
        return names[-1]

    return install
