"""A desk that is connected to a Slack workspace; turns are run for real, so everything is committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from sessions_app.channels.slack import install, replies
from sessions_app.models import Member, Role, Session, SlackInstallation, Workspace
from sessions_app.services import audit, sessions
from sessions_app.services.people import members
from sessions_app.services.slack import installations
from tests.fakes.slack import SECRET, TOKEN, FakeSlack

BY = audit.Actor("member", "m", "Ines")


@pytest.fixture
def slack(settings, monkeypatch) -> Iterator[FakeSlack]:
    """Slack on loopback, with Kim in it, and a desk that talks to it."""
    monkeypatch.setattr(replies, "SECONDS_BETWEEN", 0.1)
    with FakeSlack().serving() as server:
        settings.SLACK_API_URL, settings.PUBLIC_URL = server.api_url, "https://desk.example.org"
        server.user("U0KIM0001", "Kim", "kim@example.org")
        yield server


@pytest.fixture
def workspace(transactional_db, workspace) -> Workspace:
    """The default workspace, committed: other connections read it."""
    return workspace


@pytest.fixture
def installation(workspace, scripted_agent, slack) -> SlackInstallation:
    made = install.connect_with_token(workspace.id, TOKEN, SECRET, by=BY, desk="https://desk.example.org")
    installations.configure(
        made, agent=scripted_agent, escalation_channel="C0PEOPLE1", outsiders="reject", allow_list=[], by=BY
    )  # fmt: skip
    slack.calls.clear()
    return installations.connected().get(pk=made.pk)


@pytest.fixture
def allow(installation) -> Callable[..., None]:
    """Set the policy for outsiders."""

    def set_policy(outsiders: str, *allow_list: str) -> None:
        installation.outsiders, installation.allow_list = outsiders, list(allow_list)
        installation.save(update_fields=["outsiders", "allow_list"])

    return set_policy


@pytest.fixture
def member(workspace) -> Callable[[str, Role], Member]:
    """Somebody of the desk: their name is the first part of their e-mail."""

    def make(name: str, role: Role = Role.REVIEWER) -> Member:
        return members.add_member(workspace, f"{name.lower()}@example.org", name, role, by=audit.COMMAND)[0]

    return make


@pytest.fixture
def client(installation) -> Client:
    """Slack's way in."""
    return Client()


@pytest.fixture
def connected_session(scripted_agent, installation) -> Session:
    """A session of an agent that asks in the escalation channel."""
    return sessions.create(scripted_agent, by=BY, title="Order 4711")
