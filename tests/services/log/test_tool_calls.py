"""A tool call and its result become one row, whichever way the result says whose it is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sessions_app.models import ToolCall

from ..build import append, call, event, result, user

pytestmark = pytest.mark.django_db


def pairs(session) -> list[tuple[int, int | None]]:
    return list(ToolCall.objects.filter(session=session).order_by("seq").values_list("seq", "result_seq"))


def test_a_result_finds_its_call_by_id(session):
    append(session, call("a"), call("b"), result("b"), result("a"))
    assert pairs(session) == [(1, 4), (2, 3)]


def test_a_result_finds_its_call_as_parent(session):
    append(session, call(key="c1"), call(key="c2"), result(parent="c1"))
    assert pairs(session) == [(1, 3), (2, None)]


def test_the_parent_beats_the_id(session):
    append(session, call("same", key="c1"), call("same"), result("same", parent="c1"))
    assert pairs(session) == [(1, 3), (2, None)]


def test_a_parent_that_is_no_call_leaves_it_to_the_id(session):
    append(session, user(key="u"), call("a"), result("a", parent="u"))
    assert pairs(session) == [(2, 3)]


def test_an_id_that_is_used_again_belongs_to_the_latest_call_before_the_result(session):
    append(session, call("x"), result("x"), call("x"), result("x"))
    assert pairs(session) == [(1, 2), (3, 4)]


def test_a_result_of_nobody_is_joined_with_nothing(session):
    append(session, result("x"), result(), call("x"), call())
    assert pairs(session) == [(3, None), (4, None)]


def test_the_first_of_two_results_counts(session):
    append(session, call("a"), result("a", "error"), result("a", "ok"))
    append(session, result("a", "ok"))
    assert pairs(session) == [(1, 2)]
    assert ToolCall.objects.get(session=session).status == "error"


def test_a_result_that_comes_in_a_later_append_is_joined(session):
    append(session, user(), call("a"))
    append(session, user(), result("a", "error"))
    assert pairs(session) == [(2, 4)]
    errors = list(session.turns.order_by("index").values_list("index", "tool_calls", "errors"))
    assert errors == [(1, 1, 1), (2, 0, 0)]


def test_a_call_without_an_outcome_has_no_status(session):
    append(session, call("open"), call("silent"), result("silent", status=None))
    assert set(ToolCall.objects.filter(session=session).values_list("status", flat=True)) == {None}
    assert session.error_count == 0


def test_times_and_names_are_those_of_call_and_result(session):
    start, end = (datetime(2026, 1, 1, 12, minute, tzinfo=UTC) for minute in (0, 5))
    append(session, call("a", name="bash", at=start), result("a", at=end), call(name="bash"), call(name="edit"))
    row = ToolCall.objects.filter(session=session).order_by("seq").first()
    assert (row.name, row.started_at, row.ended_at, row.turn) == ("bash", start, end, 0)
    assert (session.tool_call_count, session.tools_invoked) == (3, ["bash", "edit"])


def test_errors_are_those_of_calls_and_of_error_events(session):
    append(
        session,
        event("error"),
        user(),
        call("a"),
        result("a", "error"),
        event("error"),
        call("b"),
        result("b", "denied"),
    )
    assert list(session.turns.order_by("index").values_list("errors", flat=True)) == [1, 2]
    assert session.error_count == 3
