"""Statements that are planned once for any values, and those over much data, which are planned for theirs."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from django.db import connection

from sessions_app.models import Session
from sessions_app.prepared import Statement, by_ids, fetch

pytestmark = pytest.mark.django_db
SOON = datetime(2999, 1, 1, tzinfo=UTC)
SENT = Statement("SELECT current_query() WHERE %s::text <> ''")


@pytest.mark.parametrize("keep", [True, False])
def test_only_a_statement_whose_plan_is_not_kept_has_its_values_in_its_text(keep):
    """What has parameters is planned for any values, kept or not, where ``plan_cache_mode`` says so."""
    ((sent,),) = fetch(SENT, ["a value"], keep=keep)
    assert ("a value" in sent) is not keep


def prepared_for(table: str) -> list[tuple[str, list[str]]]:
    """Statements of this connection that PostgreSQL keeps and that name a table, with the types of their parameters."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement, parameter_types::text[] FROM pg_prepared_statements")
        return [(text, types) for text, types in cursor.fetchall() if table in text]


def test_what_django_asks_by_ids_is_prepared_once_for_all_of_them(workspace, agent):
    made = [Session.objects.create(workspace_id=workspace.id, agent=agent, title=f"No. {n}") for n in range(5)]

    @by_ids
    def title(pk: UUID) -> str:
        return Session.objects.values_list("title", flat=True).get(pk=pk, status="idle", created_at__lt=SOON)

    assert [title(one.pk) for one in made] == [f"No. {n}" for n in range(5)]
    ((text, types),) = prepared_for("sessions_app_session")
    assert types == ["uuid"]
    assert "'idle'" in text and "LIMIT 21" in text and "2999" in text, "a plan for any status knows no partial index"


def test_outside_of_it_and_without_ids_nothing_is_prepared(workspace, agent):
    one = Session.objects.create(workspace_id=workspace.id, agent=agent)
    for _ in range(4):
        assert Session.objects.get(pk=one.pk) == one
        assert by_ids(list)(Session.objects.filter(title="None of this name")) == []
    assert prepared_for("sessions_app_session") == []


@pytest.mark.parametrize("title", ["100 %", "%s and %%s", 'it\'s \\ "quoted"', "日本 $1"])
def test_values_that_stay_in_the_text_are_found_as_they_are(workspace, agent, title):
    own = {"workspace_id": workspace.id, "agent": agent}
    one = Session.objects.create(title=title, tags=["50 %"], metadata={"a%": [1]}, cost_recorded=Decimal("0.5"), **own)
    other = Session.objects.create(title="other", **own)
    found = Session.objects.filter(
        workspace_id=workspace.id, pk__in=[one.pk, other.pk], title__contains=title, tags__contains=["50 %"],
        metadata={"a%": [1]}, cost_recorded__gte=Decimal("0.1"), created_at__lt=SOON, parent=None,
    )  # fmt: skip
    assert by_ids(list)(found) == [one]
    assert by_ids(list)(found.iterator()) == [one]
    assert by_ids(found.count)() == 1


def test_lists_of_ids_are_sent_beside_the_text(workspace, agent):
    made = [Session.objects.create(workspace_id=workspace.id, agent=agent).pk for _ in range(3)]

    @by_ids
    def how_many(ids: list[UUID]) -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM sessions_app_session WHERE id = ANY(%s)", [ids])
            return cursor.fetchone()[0]

    assert [how_many(made[:n]) for n in (1, 2, 3, 1)] == [1, 2, 3, 1]
    assert [types for _, types in prepared_for("sessions_app_session")] == [["uuid[]"]]


def test_what_reads_a_log_is_planned_for_the_session_that_it_is_of(workspace, agent):
    one = Session.objects.create(workspace_id=workspace.id, agent=agent)
    for _ in range(4):
        assert by_ids(list)(one.events.order_by("seq")[:50]) == []
    assert prepared_for("sessions_app_event") == []
