"""Each order of the session list: every session once, however many are equal, in pages of any size, both ways."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.models.session_order import NEVER
from sessions_app.queries.sessions import session_list

BEGAN = datetime(2026, 5, 1, tzinfo=UTC)
KEYS = {
    "created": lambda row: row.created_at,
    "started": lambda row: row.started_at or NEVER,
    "cost": lambda row: (row.cost_recorded or 0) + (row.cost_priced or 0),
    "tokens": lambda row: row.total_tokens or 0,
    "turns": lambda row: row.turn_count,
    "errors": lambda row: row.error_count,
    "title": lambda row: row.title[:200],
}


@pytest.fixture
def many(agent) -> list[Session]:
    """Sessions of which some are equal in each order, and some have not started or say nothing of tokens and cost."""
    rows = [
        Session(
            workspace_id=agent.workspace_id, agent=agent, title=f"Title {number % 3}" * (1 + 40 * (number % 2)),
            started_at=BEGAN + timedelta(hours=number % 4) if number % 5 else None, turn_count=number % 3,
            error_count=number % 2, input_tokens=number % 4 * 10 if number % 3 else None, output_tokens=7,
            cost_priced=Decimal("0.1") * (number % 3) if number % 4 else None, cost_recorded=Decimal(number % 2),
        )
        for number in range(23)
    ]  # fmt: skip
    return Session.objects.bulk_create(rows)


def walk(workspace_id: UUID, sort: str, size: int) -> list[UUID]:
    """Ids of all sessions, page by page."""
    found = session_list.filtered(workspace_id, session_list.SessionFilter())
    page = session_list.page(found, sort, size, None)
    seen = [row.pk for row in page.items]
    while page.next_cursor:
        page = session_list.page(found, sort, size, page.next_cursor)
        seen += [row.pk for row in page.items]
    return seen


def test_every_order_is_tested():
    assert KEYS.keys() == session_list.SORTS.keys()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("name", KEYS)
def test_pages_hold_every_session_once_in_order(workspace, many, name, descending):
    stored = list(Session.objects.all())
    expected = [row.pk for row in sorted(stored, key=lambda row: (KEYS[name](row), row.pk), reverse=descending)]
    sort = f"-{name}" if descending else name
    assert walk(workspace.id, sort, 4) == expected
    assert walk(workspace.id, sort, 500) == expected


def test_a_title_of_any_length_is_stored_and_put_in_order(agent):
    long = [Session(workspace_id=agent.workspace_id, agent=agent, title=f"{letter}" * 20_000) for letter in "ab"]
    Session.objects.bulk_create(long)
    assert walk(agent.workspace_id, "title", 1) == [row.pk for row in long]


@pytest.mark.parametrize(
    "since", ["0001-01-01T00:00:00+00:00", "0001-01-02T00:00:00+00:00", "2026-04-01T00:00:00+00:00"]
)
def test_who_has_not_started_is_in_no_period(workspace, many, since):
    wanted = [
        session_list.SessionFilter(from_=datetime.fromisoformat(since)),
        session_list.SessionFilter(to=timezone.now() + timedelta(days=1)),
    ]
    started = Session.objects.exclude(started_at=None).count()
    assert 0 < started < len(many)
    for one in wanted:
        assert session_list.filtered(workspace.id, one).count() == started
