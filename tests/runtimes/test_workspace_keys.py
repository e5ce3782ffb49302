"""A workspace's own key of the Anthropic API: it wins over the environment's, and is never mistaken for it."""

from __future__ import annotations

import pytest
from django.db import connection

from sessions_app.models import Session
from sessions_app.runtimes.managed import upkeep
from sessions_app.services import secrets
from tests.fakes import managed_agents, messages_api
from tests.fakes.managed_agents_steps import Calls, Say, Use
from tests.fakes.messages_api import text

from .conftest import BY, say, told, work

pytestmark = pytest.mark.django_db(transaction=True)
WRONG = "sk-ant-of-somebody-else"


def keep(session: Session, key: str) -> None:
    secrets.store_secret(session.workspace_id, secrets.PROVIDER_KEY, key, secrets.provider_origin(), by=BY)


@pytest.fixture
def clerk(make_session, api) -> Session:
    return make_session("Clerk", "local", model="claude-opus-5-5")


def test_local_turn_uses_the_workspace_key(clerk, api, settings):
    settings.ANTHROPIC_API_KEY = WRONG
    keep(clerk, messages_api.KEY)
    api.says(text("Here I am."))
    say(clerk, "Hello")
    work(clerk)
    assert told(clerk)[-1] == ("agent_message", "Here I am.")


def test_managed_turn_uses_the_workspace_key(managed, settings):
    settings.ANTHROPIC_API_KEY = None
    keep(managed, managed_agents.KEY)
    say(managed, "Hello")
    work(managed)
    assert "agent_message" in dict(told(managed))


def test_wrong_workspace_key_is_reported_and_not_logged(clerk, caplog):
    keep(clerk, WRONG)
    with caplog.at_level("DEBUG"):
        say(clerk, "Hello")
        work(clerk)
    assert "the API refuses the key (401" in told(clerk)[-1][1]
    assert WRONG not in caplog.text + str(told(clerk))


def test_unreadable_workspace_key_is_reported_without_fallback_to_the_installations(clerk, api):
    keep(clerk, messages_api.KEY)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sessions_app_secret SET value = 'sealed with another key'")
    say(clerk, "Hello")
    work(clerk)
    assert "was encrypted under another SECRET_KEY; enter it again" in told(clerk)[-1][1]
    assert api.requests == []


def test_only_workspaces_with_a_key_are_looked_after_elsewhere(managed, settings, fake):
    fake.world.scripts.append([Calls([Use("bash", permission="ask")]), Say("Done.")])
    say(managed, "Hello")
    work(managed)
    settings.ANTHROPIC_API_KEY = None
    assert upkeep.look_again() == 0
    keep(managed, managed_agents.KEY)
    assert upkeep.look_again() == 1
