"""Kept totals say what the turns say: to the cent, for any period, while everything that they are of changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from random import Random
from typing import Any
from uuid import uuid4

import pytest
from django.db.models import Min
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sessions_app.models import (
    Member,
    Session,
    SessionMeasures,
    SessionUsage,
    Turn,
    TurnInFlight,
    UsageChange,
    UsageFillIn,
    UsageTotal,
    Workspace,
)
from sessions_app.queries.money import dearest_sessions, usage, usage_of_turns, usage_totals
from sessions_app.services import agents, audit
from sessions_app.services.approvals.requests import Question
from sessions_app.services.log import events, links, projections
from sessions_app.services.money import folding, totals
from sessions_app.services.oversight import planting
from tests.services.build import answer, call, user
from tests.services.log.test_rebuild import NOON, logs
from tests.services.log.test_shared_responses import FILES, drop
from tests.views.money.spending import ran
from vcon_app.services.erasure import erasing

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
BY = audit.Actor("member", "somebody", "Somebody")
COSTS = ("0", "0.1", "0.2", "0.3", "5", "9")


def scopes(workspace: Workspace, moment: datetime) -> list[dict[str, Any]]:
    """Whole days and months, periods that begin or end within a day around a moment, and every filter."""
    midnight = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    minutes = timedelta(minutes=3)
    everything = {"workspace": workspace.pk, "from": None, "to": None, "agent": "", "origin": "", "tag": ""}
    return [
        everything | asked
        for asked in (
            {},
            {"from": midnight, "tag": "red"},
            {"to": midnight, "agent": "refund-agent"},
            {"from": midnight - 3 * DAY, "to": midnight + 70 * DAY},
            {"from": moment, "origin": "import"},
            {"from": moment - minutes, "to": moment + minutes},
            {"from": moment - 40 * DAY, "to": moment + DAY, "tag": "red"},
        )
    ]


def check(workspace: Workspace, moment: datetime, groupings: tuple[str, ...] = usage.GROUPS) -> None:
    """The totals, and the groups of all groupings, are what the turns add up to."""
    check_first_days()
    for number, scope in enumerate(scopes(workspace, moment)):
        assert usage_totals.total(scope) == usage_of_turns.total(scope), scope
        for by in groupings:
            asked = scope | {"nameless": False, "past": None, "limit": 1_000}
            read = "groups" if number % 2 else "ranked"
            assert getattr(usage_totals, read)(by, asked) == getattr(usage_of_turns, read)(by, asked), (by, scope)


def check_before_and_after_a_fold(workspace: Workspace, moment: datetime) -> None:
    check(workspace, moment)
    totals.fold()
    assert not UsageChange.objects.exists()
    check(workspace, moment)


def one_of_each(agent: Any) -> list[Session]:
    """Sessions of two agents with tools, prices and none, over two months, some of them here."""
    other = agents.get_or_create_agent(agent.workspace_id, "Another")
    found = [
        ran(agent, "0.5", at=NOON, tool="search", price="0.25", model="m-1"),
        ran(agent, None, at=NOON - DAY, tool="", here=False, origin="import", tags=["red"]),
        ran(other, "0.1", at=NOON + 40 * DAY, tool="edit", tags=["red", "blue", "red"], model="m-2"),
        ran(other, "0.2", at=NOON, tool="search", here=False, status="error"),
    ]
    for session in found[:3]:
        later = [
            user(at=NOON + 3 * DAY), call("x", "search", request="q"), call("y", "edit", request="q"),
            answer("q", "m-1", input_tokens=10, output_tokens=7, cost=Decimal("0.1")), user(), answer("z", "m-3"),
        ]  # fmt: skip
        events.append(session.pk, later, origin=links.RUNTIME)
    return found


def test_every_grouping_filter_and_period_is_what_the_turns_say(agent, workspace):
    one_of_each(agent)
    check_before_and_after_a_fold(workspace, NOON)
    check(workspace, NOON + 3 * DAY)


def test_days_are_paged_through_without_adding_up_those_that_follow(agent, workspace):
    for back in (0, 1, 2, 9, 400, 401, 3_000):
        ran(agent, "0.5", at=NOON - back * DAY, tags=["red"] if back % 2 else [])
    for asked in scopes(workspace, NOON):
        everything = usage_of_turns.groups("day", asked | {"nameless": False, "past": None, "limit": 99})
        for limit in (1, 2, 3):
            read, past = [], None
            while page := usage_totals.groups("day", asked | {"nameless": False, "past": past, "limit": limit}):
                read, past = [*read, *page], page[-1][0]
            assert read == everything, asked
    whole = scopes(workspace, NOON)[0] | {"past": "not a day", "limit": 2}
    assert usage_totals.groups("day", whole | {"nameless": False}) == []
    assert usage_totals.groups("day", whole | {"past": "2000-01-01", "nameless": True}) == []


@pytest.mark.parametrize("by", ["agent", "model", "tool"])
def test_names_in_each_month_are_the_sums_of_their_days(agent, workspace, by):
    one_of_each(agent)
    for is_folded in (False, True):
        for scope in scopes(workspace, NOON):
            filters = {name: scope[name] for name in ("agent", "origin", "tag")}
            period = usage.Period(workspace.pk, scope["from"], scope["to"], **filters)
            groups = period.groups(by, limit=99)
            names = [each.name or "" for each in groups]
            spent = {
                part: sum(used.all_costs.cost_amount or 0 for _, _, used in period.by_part(part, by, names))
                for part in ("day", "month")
            }
            assert spent["month"] == spent["day"] == sum(each.all_costs.cost_amount or 0 for each in groups), scope
            if names:
                last = [each for each in period.by_part("month", by, names) if each[1] == names[-1]]
                assert period.by_part("month", by, names[-1:]) == last != []
        assert is_folded or totals.fold()


def test_sessions_are_ranked_without_adding_all_of_them_up(agent, workspace, document_storage, monkeypatch):
    monkeypatch.setattr(dearest_sessions, "FEW", 0)
    made = [*one_of_each(agent), *(ran(agent, cost, at=NOON) for cost in ("0.2", "0.2", "0", None, None, "0.7"))]
    events.append(made[4].pk, [answer("late", cost=Decimal("3"))], origin=links.RUNTIME)
    erasing.erase_session(made[5], by=BY)
    for batch, days in ((1, 0), (2, 0), (500, 0), (500, 400)):
        monkeypatch.setattr(dearest_sessions, "BATCH", batch)
        monkeypatch.setattr(dearest_sessions, "DAYS", days)
        for since, until in ((None, None), (NOON - 9 * DAY, NOON), (NOON, None), (None, NOON + 2 * DAY)):
            bounds = {name: at and at.replace(hour=0) for name, at in (("from", since), ("to", until))}
            for limit in (1, 2, 3, 5, 8, 20):
                asked = scopes(workspace, NOON)[0] | bounds | {"limit": limit, "nameless": False, "past": None}
                assert usage_totals.ranked("session", asked) == usage_of_turns.ranked("session", asked), asked
                expected = usage_of_turns.groups("session", asked)
                assert usage_totals.groups("session", asked) == expected
                if expected and expected[-1][0]:
                    asked |= {"past": expected[-1][0]}
                    assert usage_totals.groups("session", asked) == usage_of_turns.groups("session", asked)


def test_the_dearest_of_any_period_are_exact_where_sessions_span_days(agent, workspace, monkeypatch):
    """Sessions of one to five days in any order of money: every period of two weeks, whatever is read at once."""
    monkeypatch.setattr(dearest_sessions, "FEW", 0)
    dice = Random(11)
    for _ in range(40):
        session = Session.objects.create(workspace=workspace, agent=agent, origin="api")
        begun = dice.randrange(12)
        days = sorted({begun, *(begun + dice.randrange(5) for _ in range(dice.randrange(4)))})
        log = [(user(at=NOON + day * DAY), answer(f"r{day}", cost=Decimal(dice.choice(COSTS)))) for day in days]
        events.append(session.pk, [event for turn in log for event in turn], origin=links.RUNTIME)
    check_first_days()
    midnights = [None, *(NOON.replace(hour=0) + day * DAY for day in (0, 1, 4, 5, 8, 11, 15))]
    for since, until in product(midnights, repeat=2):
        for limit in (1, 4, 17, 60):
            asked = scopes(workspace, NOON)[0] | {"from": since, "to": until, "limit": limit}
            assert usage_totals.ranked("session", asked) == usage_of_turns.ranked("session", asked), asked


def check_first_days() -> None:
    """What is kept of each session's first day is what its days say."""
    said = SessionUsage.objects.filter(kind="turn").exclude(origin="")
    first = dict(said.values_list("session").annotate(first=Min("day")))
    kept = dict(SessionMeasures.objects.values_list("session", "first_used"))
    assert kept == {session: first.get(session) for session in kept}


def test_what_a_session_is_of_changes(agent, workspace):
    first, second, third, _ = one_of_each(agent)
    totals.fold()
    Session.objects.filter(pk=first.pk).update(tags=["red"], origin="import")
    Session.objects.filter(pk=second.pk).update(tags=[], started_at=NOON - 9 * DAY)
    Session.objects.filter(pk=third.pk).update(agent=agent)
    check_before_and_after_a_fold(workspace, NOON)


def test_a_turn_in_flight_is_here_until_it_is_gone(agent, workspace):
    session = ran(agent, "0.5", at=NOON, here=False)
    totals.fold()
    flight = TurnInFlight.objects.create(session=session, turn=1)
    check(workspace, NOON)
    assert usage.Period(workspace.pk).total().here.any
    flight.delete()
    check_before_and_after_a_fold(workspace, NOON)
    assert not usage.Period(workspace.pk).total().here.any


def test_a_deleted_session_leaves_what_it_took_from_the_wallets(agent, workspace, document_storage):
    for session in one_of_each(agent)[:3]:
        erasing.erase_session(session, by=BY)
    check_before_and_after_a_fold(workspace, datetime.now(UTC))
    assert not Turn.objects.exclude(session__tags=[]).exists()


def test_a_planted_call_is_in_no_total(agent, workspace, django_user_model):
    user_of_admin = django_user_model.objects.create(username="a")
    admin = Member.objects.create(workspace=workspace, role="admin", user=user_of_admin)
    approval = planting.plant(agent, Question("refund", {"amount": 4}), by=admin)
    events.append(approval.session_id, [user(), answer("r", "m", output_tokens=5)], origin=links.RUNTIME)
    assert usage.Period(workspace.pk).total().sessions == 0
    check_before_and_after_a_fold(workspace, NOON)


def test_halves_copies_and_deletions(workspace):
    for cut in (3, 100):
        for name, data in reversed(FILES.items()):
            lines = data.splitlines(keepends=True)
            drop(workspace, b"".join(lines[:cut] if name != "fourth" else lines), name)
        check(workspace, datetime(2026, 10, 5, 9, 30, tzinfo=UTC))
        totals.fold()
    scope = scopes(workspace, NOON)[0]
    for session in Session.objects.order_by("external_id"):
        erasing.erase_session(session, by=BY)
        assert usage_totals.total(scope) == usage_of_turns.total(scope)
    totals.fold()
    assert not UsageTotal.objects.exists() and not SessionUsage.objects.exists()


@settings(max_examples=5, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(log=logs, cut=st.integers(0, 25), is_folded=st.booleans())
def test_any_log_in_two_pieces(agent, log, cut, is_folded):
    workspace = Workspace.objects.create(slug=str(uuid4()))
    agent = agents.get_or_create_agent(workspace.id, "Refund agent")
    session = Session.objects.create(workspace=workspace, agent=agent, origin="import", tags=["red"])
    for piece in (log[:cut], log[cut:]):
        events.append(session.pk, piece, origin=links.RUNTIME)
        if is_folded:
            totals.fold()
    # A response that turns share belongs to its own: by tool it stood in that of its calls.
    check(workspace, NOON, ("day", "agent", "session", "model"))
    by_tool, total = usage.Period(workspace.pk).groups("tool", limit=99), usage.Period(workspace.pk).total()
    assert sum(each.unpriced_tokens for each in by_tool) >= total.unpriced_tokens
    assert sum(each.cost_amount or 0 for each in by_tool) == pytest.approx(total.cost_amount or 0)


def test_a_fold_takes_some_at_a_time_and_nothing_twice(agent, workspace, monkeypatch):
    one_of_each(agent)
    monkeypatch.setattr(folding, "MOST_CHANGES", 7)
    waiting = UsageChange.objects.count()
    assert folding._fold_some(UsageChange, totals.FOLD, totals.LOCK) == 7
    check(workspace, NOON)
    assert totals.fold() == waiting - 7
    assert totals.fold() == 0
    check(workspace, NOON)


def test_an_event_without_tokens_changes_no_total(agent, workspace):
    session = ran(agent, at=NOON)
    totals.fold()
    events.append(session.pk, [answer(None)], origin=links.RUNTIME)
    assert not UsageChange.objects.exists()


def test_sessions_from_before_there_were_totals_are_filled_in(agent, workspace, document_storage, monkeypatch):
    gone, *_ = one_of_each(agent)
    erasing.erase_session(gone, by=BY)
    Turn.objects.update(began_at=None)
    SessionUsage.objects.all().delete()
    totals.fold()
    assert not UsageTotal.objects.exists()
    UsageFillIn.objects.create()
    monkeypatch.setattr(usage._FilledIn, "known", False)
    monkeypatch.setattr(totals, "FILL_IN_SECONDS", -1.0)
    assert usage._reader() is usage_of_turns
    assert "being counted" in totals.late_notice()
    assert totals._fill_in_one() == 1, "killed after the first, it goes on with the second"
    monkeypatch.setattr(totals, "FILL_IN_SECONDS", 60.0)
    assert totals.fill_in() == Session.objects.count() - 1
    assert usage._reader() is usage_totals and totals.late_notice() is None
    check_before_and_after_a_fold(workspace, NOON)


def test_totals_that_were_spoilt_are_made_anew(agent, workspace):
    first, *_ = one_of_each(agent)
    totals.fold()
    UsageTotal.objects.update(turns=99)
    SessionUsage.objects.filter(session=first).update(turns=77)
    projections.rebuild(first.pk)
    totals.rebuild()
    check_before_and_after_a_fold(workspace, NOON)


def test_changes_that_nobody_takes_in_are_noticed(agent, monkeypatch):
    ran(agent)
    assert totals.late_notice() is None
    UsageChange.objects.update(made_at=NOON)
    assert "wait for" in totals.late_notice()
