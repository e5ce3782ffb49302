"""Every operation answers as its description says, whatever it is sent: no 500, no status, type or shape of its own."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from django.db import transaction
from pytest_django import DjangoDbBlocker

from sessions_app.models import Session
from sessions_app.services import agents, workspaces
from tests.api.things import make_things

from .operations import ENDING, NAMES, OF_FILES, ask


@pytest.fixture(scope="module")
def things(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, UUID]]:
    """Made once for all operations: what a test does to them is undone at its end."""
    with django_db_blocker.unblock(), transaction.atomic():
        agent = agents.get_or_create_agent(workspaces.default_workspace().pk, "Refund agent")
        yield make_things(agent, Session.objects.create(workspace_id=agent.workspace_id, agent=agent))
        transaction.set_rollback(True)


def test_every_operation_that_is_described_has_a_name_here(schema):
    assert sorted(found.ok().label for found in schema.get_all_operations()) == sorted(NAMES)


@pytest.mark.parametrize("name", [name for name in ENDING if name not in OF_FILES])
@pytest.mark.django_db
def test_an_answer_is_as_described(name, schema, values, admin, things):
    ask(schema, values, name, admin.key, things)
