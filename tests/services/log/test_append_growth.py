"""One more event reads and writes as much in a long session as in a short one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from sessions_app.drafts import EventDraft, ToolDraft, Usage
from sessions_app.models import Session
from sessions_app.services.log import events, links, projections

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
# Of the tables that hold a session, in this transaction: what plans read, by sequence and by index.
READ = """
SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
WHERE relid IN (SELECT relid FROM pg_partition_tree('sessions_app_event'))
   OR relname IN ('sessions_app_turn', 'sessions_app_toolcall', 'sessions_app_modelrequest',
                  'sessions_app_session', 'sessions_app_eventlink')
"""


def rows_read() -> int:
    with connection.cursor() as cursor:
        cursor.execute(READ)
        return int(cursor.fetchone()[0])


def grown(agent, turns: int, size: int) -> Session:
    """A session of so many turns of so many events."""
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    log = [
        EventDraft("user_message" if at == 0 else "agent_message", f"{turn} {at}", text="Words", at=NOON)
        for turn in range(turns)
        for at in range(size)
    ]
    events.append(session.pk, log, origin=links.RUNTIME)
    return session


def cost_of(session: Session, event: EventDraft) -> int:
    before = rows_read()
    assert events.append(session.pk, [event], origin=links.RUNTIME).accepted == 1
    return rows_read() - before


TABLES = ("event", "toolcall", "modelrequest", "turn")
MORE = {
    "a message of the agent": EventDraft("agent_message", "new", text="Words", at=NOON + timedelta(hours=1)),
    "a message to the agent": EventDraft("user_message", "new", text="Words", at=NOON + timedelta(hours=1)),
    "a tool call": EventDraft("tool_call", "new", tool=ToolDraft("c", "bash"), at=NOON + timedelta(hours=1)),
    "a result": EventDraft("tool_result", "new", tool=ToolDraft("c", "bash"), at=NOON + timedelta(hours=1)),
}


def take_statistics() -> None:
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ANALYZE sessions_app_{table}")


@pytest.mark.parametrize("event", MORE.values(), ids=MORE)
@pytest.mark.parametrize(("turns", "size"), [(1, 400), (200, 2)], ids=["a long turn", "many turns"])
def test_an_event_costs_the_same_in_a_long_session(agent, event, turns, size):
    short, long = grown(agent, 2, 2), grown(agent, turns, size)
    with connection.cursor() as cursor:
        # Tables of a test are too small for an index to pay. Checks of foreign keys keep the plan they had before.
        cursor.execute("SET LOCAL enable_seqscan = off; DISCARD PLANS")
    take_statistics()
    assert cost_of(long, event) <= cost_of(short, event) + 2


def worked(agent, turns: int) -> tuple[Session, int]:
    """A session whose log comes in at once, of so many turns, each with a call, its result and tokens; the rows that
    were read meanwhile."""
    session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    log = []
    for turn in range(turns):
        call = ToolDraft(f"c{turn}", "bash", arguments={"command": "ls"})
        log += [
            EventDraft("user_message", f"{turn} asked", text="Words", at=NOON),
            EventDraft("tool_call", f"{turn} call", tool=call, request=f"r{turn}", usage=Usage(1, 0, 0, 1), at=NOON),
            EventDraft("tool_result", f"{turn} result", tool=ToolDraft(f"c{turn}", status="ok"), at=NOON),
        ]
    before = rows_read()
    events.append(session.pk, log, origin=links.RUNTIME)
    return session, rows_read() - before


def test_a_log_reads_as_little_when_the_statistics_know_all_sessions_but_this(agent):
    """PostgreSQL expects one row of a session that its most common values leave no room for: any index does then."""
    worked(agent, 400)
    take_statistics()
    _, read = worked(agent, 390)
    assert read < 20_000


def test_statistics_know_a_long_log_when_it_is_in(agent, monkeypatch):
    """They are taken before what reads pages, and other imports, are planned by them."""
    monkeypatch.setattr(projections, "MANY", 500)
    worked(agent, 400)
    take_statistics()
    session, _ = worked(agent, 390)
    with connection.cursor() as cursor:
        for table in TABLES[:3]:
            cursor.execute(projections.EXPECTED.format(f"sessions_app_{table}"), [session.pk])
            assert cursor.fetchone()[0][0]["Plan"]["Plan Rows"] > 100, table
