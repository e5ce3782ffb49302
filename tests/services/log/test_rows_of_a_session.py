"""What is written of a log has no foreign key, so a session is not deleted before its rows are."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction

from sessions_app.drafts import EventDraft
from sessions_app.models import ModelRequest, Session, ToolCall, Turn
from sessions_app.services.log import events, links

pytestmark = pytest.mark.django_db
ROWS = [
    (Turn, {"index": 0, "first_seq": 1, "last_seq": 1}),
    (ToolCall, {"seq": 1, "turn": 0}),
    (ModelRequest, {"key": "r", "seq": 1, "turn": 0}),
]
GONE = "DELETE FROM sessions_app_session WHERE id = %s"
MOVED = "UPDATE sessions_app_session SET id = gen_random_uuid() WHERE id = %s"


@pytest.mark.parametrize("statement", [GONE, MOVED], ids=["deleted", "another id"])
@pytest.mark.parametrize(("model", "values"), ROWS, ids=[model.__name__ for model, _ in ROWS])
def test_a_session_stays_while_rows_of_it_are_there(agent, model, values, statement):
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    model.objects.create(session=session, **values)
    refused = pytest.raises(IntegrityError, match="has turns, tool calls or requests")
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, [session.pk])
    model.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(GONE, [session.pk])
        assert cursor.rowcount == 1


def test_a_session_stays_while_its_log_is_there(agent):
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    events.append(session.pk, [EventDraft("user_message", "1", text="Words")], origin=links.RUNTIME)
    Turn.objects.all().delete()
    with pytest.raises(IntegrityError, match="has events"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(GONE, [session.pk])
