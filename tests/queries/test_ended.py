"""How sessions ended: the word of the filter is that of the database, and an index has them in the list's order."""

from __future__ import annotations

from itertools import product

import pytest
from django.db import connection

from sessions_app.models import Session
from sessions_app.models.session_order import ENDED, ENDINGS
from sessions_app.queries.sessions import session_list
from sessions_app.queries.sessions.session_list import SessionFilter
from sessions_app.services.log import run_summaries

pytestmark = pytest.mark.django_db


def in_every_state(agent, times: int) -> list[Session]:
    """So many sessions of each state that there can be."""
    states = product(range(times), (0, 1), Session.Phase.values, Session.Status.values, ("", *run_summaries.ENDINGS))
    return Session.objects.bulk_create(
        Session(
            workspace_id=agent.workspace_id, agent=agent, pending_approvals=waits, phase=phase, status=status,
            ending=ending, origin="import" if ending else "api",
        )
        for _, waits, phase, status, ending in states
    )  # fmt: skip


def test_the_database_and_the_page_have_the_same_word_for_each_session(workspace, agent):
    every = in_every_state(agent, 1)
    by_database = dict(Session.objects.annotate(word=ENDED).values_list("pk", "word"))
    assert by_database == {one.pk: one.ended for one in every}
    assert set(by_database.values()) == set(ENDINGS)
    for word in ENDINGS:
        page = session_list.found_page(workspace.pk, SessionFilter(ended=word), 200, None)
        assert {row.pk for row in page.items} == {one.pk for one in every if one.ended == word}, word
        page = session_list.found_page(workspace.pk, SessionFilter(q=f"-ended:{word}"), 200, None)
        assert {row.pk for row in page.items} == {one.pk for one in every if one.ended != word}, word


def test_the_list_of_each_word_reads_an_index_in_its_order(workspace, agent):
    in_every_state(agent, 20)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_session")
    for wanted in (*(SessionFilter(ended=word) for word in ENDINGS), SessionFilter(q="ended:broke-off")):
        found = session_list.filtered(workspace.pk, wanted).annotate(sort_value=session_list.SORTS["started"])
        plan = found.order_by("-sort_value", "-pk")[:50].explain()
        assert "session_by_ended" in plan and "Sort" not in plan, (wanted, plan)
