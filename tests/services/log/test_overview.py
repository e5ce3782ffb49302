"""The overview of a session is made when it is asked for, of what is new, and is what the log says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Session, SessionOverview
from sessions_app.rendering.overview import buckets as pure
from sessions_app.rendering.overview.buckets import Buckets
from sessions_app.services.log import overview, projections
from tests.services.build import answer, append, at_once, call, event, result, user

pytestmark = pytest.mark.django_db
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def read(session: Session) -> Buckets:
    session.refresh_from_db()
    return Buckets.of(overview.read_on(session).buckets)


def counts(buckets: Buckets) -> dict[str, int]:
    return {name: sum(column) for name, column in buckets.counts.items() if any(column)}


def turn(number: int, **fields: Any) -> list:
    status = "ok" if number % 5 else "error"
    at = START + timedelta(minutes=number)
    return [
        user(at=at), call(f"c{number}", "Bash", at=at), result(f"c{number}", status, text="boom\nmore", at=at),
        answer(request=f"r{number}", model="m-1", cost=Decimal("0.5"), output_tokens=3),
    ]  # fmt: skip


def test_each_lane_counts_its_kind_of_event(session):
    append(
        session, user(), event("reasoning"), answer(), call("1", "Read"), result("1"), call("2", "Edit"),
        call("3", "Bash"), result("3", "error", text="exit 1\ntail"), call("4", "AskUserQuestion"), call("5", "Odd"),
        call("6", "Task"), event("agent_message", depth=1, text="inside"), call("7", "Grep", depth=1),
        event("compaction"), event("error", text="overloaded"), event("system"),
    )  # fmt: skip
    found = read(session)
    assert counts(found) == {
        "person": 1, "agent": 2, "read": 2, "write": 1, "run": 1, "ask": 1, "other": 1, "subagent": 3, "errors": 2,
        "compactions": 1,
    }  # fmt: skip
    assert [(mark.seq, mark.text) for mark in found.errors] == [(7, "tail"), (15, "overloaded")]
    assert found.compactions == [14] and found.counts["errors"][6] == found.counts["errors"][14] == 1


def test_of_an_error_the_line_is_told_that_says_why(session):
    append(
        session, user(), call("1", "Bash"),
        result("1", "error", text="% Total    % Received\n╭───╮\nfatal: no such gate"),
        event("error", text="error", data={"subtype": "api_error"}), call("2", "Bash"), result("2", "error"),
    )  # fmt: skip
    assert [mark.text for mark in read(session).errors] == ["fatal: no such gate", "api_error", "Bash"]


def test_what_is_read_piece_by_piece_is_what_is_read_at_once(agent, monkeypatch):
    monkeypatch.setattr(pure, "MOST", 8)
    whole, grown = (Session.objects.create(workspace_id=agent.workspace_id, agent=agent) for _ in range(2))
    for number in range(15):
        append(grown, *turn(number))
        read(grown)
    append(whole, *(one for number in range(15) for one in turn(number)))
    expected, found = read(whole), read(grown)
    assert (found.step, found.seq, len(found)) == (8, 60, 8)
    assert found.kept() == expected.kept()
    assert found.running_costs()[-1] == Decimal("7.5")
    assert SessionOverview.objects.get(pk=whole.pk).pictures == SessionOverview.objects.get(pk=grown.pk).pictures


def test_a_result_that_comes_late_makes_an_error_of_an_older_call(session):
    append(session, user(), call("c", "Bash"))
    assert not any(read(session).counts["errors"])
    append(session, user(), result("c", "error", text="late"))
    found = read(session)
    assert found.counts["errors"] == [0, 1, 0, 0] and found.errors[0].text == "late"


def test_the_cost_of_a_response_that_goes_on_is_counted_once(session):
    append(session, user(), answer(request="r", model="m-1", cost=Decimal("1"), output_tokens=3))
    assert read(session).running_costs()[-1] == 1
    append(session, answer(request="r", model="m-1", cost=Decimal("2"), output_tokens=9))
    assert read(session).running_costs() == [None, None, Decimal(2)]


def test_what_is_kept_is_not_read_again(session):
    append(session, *turn(0))
    session.refresh_from_db()
    first = overview.read_on(session)
    assert overview.is_current(first, session)
    with CaptureQueriesContext(connection) as captured:
        assert overview.read_on(session).pictures == first.pictures
    assert not [query for query in captured if "sessions_app_event" in query["sql"]]
    append(session, user())
    assert not overview.is_current(first, session)


def test_a_long_log_is_read_over_several_requests(session, monkeypatch):
    monkeypatch.setattr(overview, "EVENTS_AT_ONCE", 7)
    append(session, *(one for number in range(5) for one in turn(number)))
    assert [read(session).seq for _ in range(4)] == [7, 14, 20, 20]
    assert counts(read(session)) == {"person": 5, "agent": 5, "run": 5, "errors": 1}


def test_a_newer_way_of_drawing_makes_it_anew(session, monkeypatch):
    append(session, *turn(0))
    read(session)
    SessionOverview.objects.update(version=0, buckets={"of": "long ago"})
    assert counts(read(session)) == {"person": 1, "agent": 1, "run": 1, "errors": 1}


def test_a_rebuild_throws_it_away(session):
    append(session, *turn(0))
    before = read(session).kept()
    projections.rebuild(session.pk)
    assert not SessionOverview.objects.exists()
    assert read(session).kept() == before


@pytest.mark.django_db(transaction=True)
def test_many_who_ask_at_once_do_not_wait_for_each_other(session):
    append(session, *turn(0))
    read(session)
    append(session, *turn(1))
    with transaction.atomic():
        overview.read_on(session)  # holds its row
        (other,) = at_once(lambda: overview.read_on(session))
        assert isinstance(other, SessionOverview) and other.seq == 4
    found = at_once(*[lambda: overview.read_on(session)] * 3)
    assert {type(one) for one in found} == {SessionOverview}
    assert counts(read(session)) == {"person": 2, "agent": 2, "run": 2, "errors": 1}
