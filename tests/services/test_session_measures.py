"""What sessions are sorted by stands beside them and follows whatever writes a session; it goes with its session."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

from django.db import connection

from sessions_app.models import Session, SessionMeasures
from sessions_app.services.log import projections
from tests import database_roles
from tests.views.build import session_of


def measures_of(session: Session) -> tuple[Decimal, int, int, int]:
    row = SessionMeasures.objects.get(session=session)
    return row.cost, row.tokens, row.turns, row.errors


def test_they_are_there_from_the_first_moment(session):
    assert measures_of(session) == (0, 0, 0, 0)
    row = SessionMeasures.objects.get(session=session)
    assert (row.workspace_id, row.last_day, row.is_bad) == (session.workspace_id, None, False)


def test_they_follow_the_log_and_its_rebuild(agent):
    session = session_of(agent, cost="0.25", errors=2)
    assert measures_of(session) == (Decimal("0.25"), 1_200, 1, 2)
    assert SessionMeasures.objects.get(session=session).is_bad
    projections.rebuild(session.pk)
    assert measures_of(session) == (Decimal("0.25"), 1_200, 1, 2)


def test_they_follow_a_statement_of_sql(session):
    at = datetime(2026, 3, 1, 23, 59, tzinfo=UTC)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE sessions_app_session SET cost_recorded = 1.5, cost_priced = 0.5, input_tokens = 7,"
            " phase = 'crashed', ended_at = %s WHERE id = %s",
            [at, session.pk],
        )
    assert measures_of(session) == (2, 7, 0, 0)
    row = SessionMeasures.objects.get(session=session)
    assert (row.last_day, row.is_bad) == (date(2026, 3, 1), True)


def test_they_go_with_the_session(session):
    with database_roles.as_owner() as cursor:
        cursor.execute("DELETE FROM sessions_app_session WHERE id = %s", [session.pk])
    assert not SessionMeasures.objects.exists()
