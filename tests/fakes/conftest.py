from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest

from .managed_agents import KEY, FakeManagedAgents


@pytest.fixture
def fake() -> Iterator[FakeManagedAgents]:
    with FakeManagedAgents().serving() as server:
        yield server


@pytest.fixture
def client(fake: FakeManagedAgents) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key=KEY, base_url=fake.base_url, max_retries=0) as made:
        yield made


@pytest.fixture
def sessions(client: anthropic.Anthropic) -> Any:
    return client.beta.sessions


@pytest.fixture
def places(client: anthropic.Anthropic) -> tuple[str, str]:
    """Ids of an agent and an environment."""
    agent = client.beta.agents.create(name="Clerk", model="claude-opus-5-5")
    return agent.id, client.beta.environments.create(name="here").id


@pytest.fixture
def remote_session(sessions: Any, places: tuple[str, str]) -> str:
    return sessions.create(agent=places[0], environment_id=places[1]).id
