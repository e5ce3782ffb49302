"""The first files of an agent: none waits for another to be read, and all are of one agent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from sessions_app.models import Agent, AgentVersion, Session
from sessions_app.services import agents, audit
from vcon_app.models import Import
from vcon_app.services.documents.jobs import Heartbeat
from vcon_app.services.imports import import_jobs

from ..files import transcript
from .test_claims import waiting_for_locks
from .test_imports import drop, start
from .uncommitted import PATIENCE, held

pytestmark = pytest.mark.django_db(transaction=True)
ANOTHER = "bbbbbbbb-0000-4000-8000-000000000000"


@pytest.fixture
def all_but_done(workspace):
    """Another process that has read the first file of an agent, and cannot say so before the test lets it."""
    imported = start(workspace, transcript(6))
    Import.objects.filter(pk=imported.pk).update(status=Import.Status.RUNNING)

    def read() -> None:
        try:
            import_jobs.read(imported, Heartbeat(Import, imported.pk))
        finally:
            connection.close()

    with (
        ThreadPoolExecutor(1) as threads,
        held(lambda: Import.objects.select_for_update().get(pk=imported.pk)) as let_go,
    ):
        reading = threads.submit(read)
        waiting_for_locks(1)

        def finish() -> None:
            let_go()
            reading.result(PATIENCE)

        yield finish


def impatient() -> None:
    """Whoever waits from here on fails."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '5s'")


def test_a_file_of_a_new_agent_does_not_wait_for_another_that_is_read(workspace, all_but_done):
    impatient()
    assert drop(workspace, transcript(4, ANOTHER)).status == Import.Status.DONE
    all_but_done()
    assert sorted(Session.objects.values_list("agent__name", "event_count")) == [("Claude Code", 4), ("Claude Code", 6)]
    assert (Agent.objects.count(), AgentVersion.objects.count()) == (1, 1)


def test_a_file_whose_agent_a_person_makes_meanwhile_is_of_that_one(workspace, all_but_done):
    impatient()
    made = agents.create(workspace.pk, "Claude Code", by=audit.COMMAND)
    all_but_done()
    session = Session.objects.get()
    assert (session.agent_id, session.event_count) == (made.pk, 6)
    assert Agent.objects.get() == made and Import.objects.get().status == Import.Status.DONE


def test_what_an_api_names_meanwhile_is_the_same_agent(workspace, all_but_done):
    impatient()
    named = agents.get_or_create_agent(workspace.pk, "Claude Code")
    all_but_done()
    assert Session.objects.get().agent == Agent.objects.get() == named
