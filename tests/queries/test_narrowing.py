"""Several filters of the session list at once, looked up or asked of each session that the list comes to: the same."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from sessions_app.models import Role, RunFinding, Session
from sessions_app.queries.sessions import narrowing, session_list
from sessions_app.queries.sessions.session_list import SessionFilter
from sessions_app.services import agents, audit
from sessions_app.services.people import members
from tests.services.build import answer, append, user

pytestmark = pytest.mark.django_db
BEGAN = datetime(2026, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
CHOICES: dict[str, list[Any]] = {
    "agent": ["refund-agent", "other", "nobody"],
    "status": ["idle", "archived"], "ended": ["idle", "completed", "error"], "origin": ["api", "chat"], "tag": ["vip"],
    "from_": [BEGAN + 4 * DAY], "to": [BEGAN + 12 * DAY], "min_cost": [Decimal("0.1")], "has_errors": [True, False],
    "model": ["m-1"], "tool": ["search"], "used_from": [BEGAN + 6 * DAY], "used_to": [BEGAN + 9 * DAY],
    "verdict": ["none", "pass", "any"], "assignee": ["none"], "finding": ["any", "none"],
    "q": ["errors>0", "-tag:vip cost<0.1", "-ended:error"],
}  # fmt: skip


@pytest.fixture
def many(workspace, agent) -> list[Session]:
    """Sessions with every mixture of what is filtered by; some have not begun, some began at the same moment."""
    dice = random.Random(3)
    two = [agent, agents.get_or_create_agent(workspace.pk, "Other")]
    member, _ = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)
    rows = [
        Session(
            workspace=workspace, agent=dice.choice(two), title=f"T {number % 7}",
            status=dice.choice(("idle", "archived")),
            origin=dice.choice(("api", "chat")), tags=dice.choice(([], ["vip"], ["vip", "x"])),
            started_at=BEGAN + DAY * dice.randint(0, 15) if number % 6 else None, error_count=dice.choice((0, 0, 1)),
            cost_priced=dice.choice((None, Decimal("0.05"), Decimal(2))), model_names=dice.choice(([], ["m-1"])),
            tools_invoked=dice.choice((["search"], ["read"])), verdict=dice.choice(("", "pass", "fail")),
            assignee=dice.choice((None, member)),
        )
        for number in range(60)
    ]  # fmt: skip
    made = Session.objects.bulk_create(rows)
    for session in dice.sample(made, 25):
        append(session, user("Look", at=BEGAN + DAY * dice.randint(0, 15)), answer(model="m-1", output_tokens=3))
    found = dice.sample(made, 20)
    RunFinding.objects.bulk_create(
        RunFinding(session=one, rule="loop", workspace=workspace, agent=one.agent) for one in found
    )
    return list(Session.objects.order_by("pk"))


def drawn(dice: random.Random) -> SessionFilter:
    names = dice.sample([*CHOICES], dice.choice((1, 2, 2, 3, 4)))
    sort = dice.choice(("-", "")) + dice.choice([*session_list.SORTS])
    return SessionFilter(**{name: dice.choice(CHOICES[name]) for name in names}, sort=sort)


def walk(workspace_id: UUID, wanted: SessionFilter, size: int) -> tuple[list[UUID], list[session_list.Page]]:
    """Ids of all sessions that pass, page by page."""
    pages, cursor = [], None
    while not pages or cursor:
        pages.append(session_list.found_page(workspace_id, wanted, size, cursor))
        cursor = pages[-1].next_cursor
    return [row.pk for page in pages for row in page.items], pages


def expected(workspace_id: UUID, wanted: SessionFilter) -> list[UUID]:
    """The same by PostgreSQL's own ways."""
    sessions = Session.objects.filter(workspace_id=workspace_id)
    for one in session_list._conditions(workspace_id, wanted, session_list.read_typed(wanted.q)):
        sessions = sessions.filter(one.passing)
    return [row.pk for row in session_list.page(sessions, wanted.sort, 1_000, None).items]


@pytest.mark.parametrize("few", [0, 4, 1_500])
def test_pages_hold_every_session_that_passes_once_in_order(workspace, many, monkeypatch, few):
    monkeypatch.setattr(narrowing, "FEW", few)
    monkeypatch.setattr(session_list, "STRETCH", 4)
    monkeypatch.setattr(session_list, "STRETCHES", 3)
    dice, found, cut, walked = random.Random(few), 0, 0, 0
    for number in range(60):
        wanted = drawn(dice)
        ids, pages = walk(workspace.pk, wanted, 1 + number % 9)
        assert ids == expected(workspace.pk, wanted), wanted
        assert set(session_list.filtered(workspace.pk, wanted).values_list("pk", flat=True)) == set(ids), wanted
        assert all(page.next_cursor and page.is_walked for page in pages if page.is_cut)
        found, cut = found + len(ids), cut + sum(page.is_cut for page in pages)
        walked += any(page.is_walked for page in pages)
    assert found > 200
    assert few == 4 or (cut > 10 and walked > 10 if few == 0 else (cut, walked) == (0, 0))


def test_a_page_ends_where_enough_sessions_were_looked_at(workspace, many, monkeypatch):
    monkeypatch.setattr(narrowing, "FEW", 0)
    monkeypatch.setattr(session_list, "STRETCH", 5)
    monkeypatch.setattr(session_list, "STRETCHES", 2)
    page = session_list.found_page(workspace.pk, SessionFilter(tag="vip", model="nobody has it"), 50, None)
    assert (page.items, page.is_walked, page.is_cut) == ([], True, True)
    listed = session_list.page(Session.objects.filter(workspace=workspace), session_list.DEFAULT_SORT, 10, None)
    assert page.next_cursor == listed.next_cursor
