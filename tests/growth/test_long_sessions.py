"""A long session among many short ones is read as far as it is shown, whatever PostgreSQL takes it for."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from sessions_app.models import Role, Session
from sessions_app.services import audit
from sessions_app.services.people import api_keys, members
from tests import database_roles
from tests.api.client import Api
from tests.services.build import answer, append, call, result, user

from .copies import Template
from .reads import counted

SHORT, TURNS = 2_000, 1_200
MOST = 1_000
"""Rows of one table or index; the session has 1,200 calls and 4,800 events."""


KNOWN = """
SELECT schemaname, tablename, inherited, null_frac, avg_width, n_distinct FROM pg_stats WHERE attname = 'session_id'
"""
FORGET = "SELECT pg_clear_attribute_stats(%s, %s, 'session_id', %s)"
AVERAGE = """
SELECT pg_restore_attribute_stats('schemaname', %s::text, 'relname', %s::text, 'attname', 'session_id',
    'inherited', %s, 'null_frac', %s::real, 'avg_width', %s::integer, 'n_distinct', %s::real)
"""


def forget_common_sessions() -> None:
    """Of which sessions have most rows, of which an installation of many knows a hundred; the average stays."""
    with database_roles.as_owner() as cursor:
        cursor.execute(KNOWN)
        for known in cursor.fetchall():
            cursor.execute(FORGET, known[:3])
            cursor.execute(AVERAGE, known)


@pytest.mark.django_db
def test_a_page_of_a_long_session_among_short_ones_reads_its_own_rows(workspace, agent):
    append(Session.objects.create(workspace=workspace, agent=agent, title="Short"), *_turn(1))
    template = Template()
    long = Session.objects.create(workspace=workspace, agent=agent, title="Long")
    append(long, *(event for number in range(TURNS) for event in _turn(number)))
    template.copy(1, SHORT)
    forget_common_sessions()
    member, _ = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)
    client = Client()
    client.force_login(member.user)
    api = Api(api_keys.create_api_key(workspace, "key", Role.ADMIN, by=audit.COMMAND)[1])
    page = reverse("session-detail", args=[agent.pk, long.pk])
    rows = reverse("session-rows", args=[agent.pk, long.pk])
    ahead = reverse("session-next", args=[agent.pk, long.pk])
    asked = [
        (client, f"{page}?event=2400"), (client, f"{page}?turn=1100"), (client, f"{rows}?after=2400"),
        (client, f"{ahead}?what=error&after=1"), (api, f"/api/v1/sessions/{long.pk}/events?after=2400"),
    ]  # fmt: skip
    for reader, address in asked:
        with counted() as reads:
            assert reader.get(address).status_code in (200, 302), address
        assert max(reads.by_relation.values()) < MOST, f"{address}: {reads}"


@pytest.mark.django_db
def test_a_month_of_events_that_is_made_later_is_planned_like_those_that_are_there():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT c.relname, a.attoptions::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'session_id'"
            " WHERE i.inhparent = 'sessions_app_event'::regclass"
        )
        found = dict(cursor.fetchall())
        cursor.execute("SELECT pg_get_functiondef('countersign_make_event_months'::regproc)")
        (making,) = cursor.fetchone()
    assert len(found) >= 3 and set(found.values()) == {"{n_distinct=-0.0005}"}
    assert "SET (n_distinct = -0.0005)" in making


def _turn(number: int) -> list:
    called, status = f"c{number}", "ok" if number % 10 else "error"
    return [user("Look it up"), call(called), result(called, status), answer(model="m-1", output_tokens=5)]
