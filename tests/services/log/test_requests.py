"""Tokens are counted once per model response, however many events repeat them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sessions_app.drafts import Usage
from sessions_app.models import ModelRequest, Session

from ..build import answer, append, event, user

pytestmark = pytest.mark.django_db


def test_repeats_of_a_response_count_once_with_the_greatest_output(session):
    append(session, *(answer("r", input_tokens=10, output_tokens=out) for out in (3, 90, 40)))
    assert (session.input_tokens, session.output_tokens, session.total_tokens) == (10, 90, 100)


def test_a_response_that_goes_on_in_a_later_append_counts_once(session):
    append(session, user(), answer("r", input_tokens=10, output_tokens=3))
    append(session, user(), answer("r", input_tokens=10, output_tokens=90))
    append(session, answer("r", input_tokens=10, output_tokens=2))
    assert (session.input_tokens, session.output_tokens) == (10, 90)
    only = ModelRequest.objects.get(session=session)
    assert (only.seq, only.turn) == (5, 1)
    assert list(session.turns.order_by("index").values_list("output_tokens", flat=True)) == [90, None]


def test_all_counts_come_from_the_same_line(session):
    append(session, answer("r", input_tokens=5, cache_read_tokens=7, output_tokens=1))
    append(session, answer("r", input_tokens=6, output_tokens=2))
    assert (session.input_tokens, session.cache_read_tokens, session.output_tokens) == (6, None, 2)


def test_responses_without_an_id_are_one_each(session):
    append(session, answer(output_tokens=1), answer(output_tokens=1))
    assert (session.output_tokens, ModelRequest.objects.filter(session=session).count()) == (2, 2)


def test_token_counts_that_no_event_states_stay_unknown(session):
    append(session, user(), answer("r", output_tokens=4), answer("s"))
    assert (session.input_tokens, session.cache_read_tokens, session.output_tokens, session.total_tokens) == (
        None,
        None,
        4,
        4,
    )
    append(session, user())
    assert session.turns.get(index=2).total_tokens is None


def test_stated_zero_is_kept_as_zero(session):
    append(session, answer("r", input_tokens=0, output_tokens=0))
    assert (session.input_tokens, session.total_tokens) == (0, 0)


def test_empty_usage_makes_no_request(session):
    append(session, event("agent_message", usage=Usage(), request="r"))
    assert not ModelRequest.objects.filter(session=session).exists()
    assert session.total_tokens is None


def test_reasoning_is_part_of_the_output(session):
    append(session, answer("r", output_tokens=10, reasoning_tokens=8))
    assert (session.reasoning_tokens, session.total_tokens) == (8, 10)


def test_a_response_belongs_to_the_turn_and_time_it_began_in(session):
    late, early = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
    append(session, user(), event("agent_message", request="r", at=None, usage=Usage(output_tokens=1)))
    append(session, user(), event("agent_message", request="r", at=late, usage=Usage(output_tokens=2)))
    append(session, event("agent_message", request="r", at=early, usage=Usage(output_tokens=3)))
    only = ModelRequest.objects.get(session=session)
    assert (only.turn, only.at, only.seq) == (1, early, 5)


def test_the_model_is_the_first_that_is_said(session):
    append(
        session,
        answer("r", output_tokens=9),
        answer("r", "first", output_tokens=1),
        answer("r", "second", output_tokens=5),
    )
    assert session.model_names == ["first"]


def test_models_are_listed_once_in_order(session):
    append(session, *(answer(model=name, output_tokens=1) for name in ("b", "a", "b")))
    append(session, user(), answer(model="c", output_tokens=1))
    assert session.model_names == ["a", "b", "c"]


def test_quality_is_that_of_the_line_that_counts(session):
    append(
        session,
        event("agent_message", request="r", usage=Usage(output_tokens=1, quality="placeholder")),
        event("agent_message", request="r", usage=Usage(output_tokens=2, quality="interrupted")),
    )
    assert ModelRequest.objects.get(session=session).quality == "interrupted"


def test_turns_and_session_add_up(session):
    append(
        session,
        answer(output_tokens=1),
        user(),
        answer(output_tokens=2),
        answer(output_tokens=3),
        user(),
        answer(output_tokens=4),
    )
    assert list(session.turns.order_by("index").values_list("output_tokens", flat=True)) == [1, 5, 4]
    assert session.output_tokens == 10


def test_times_of_a_turn_are_of_its_earliest_and_latest_event(session):
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    Session.objects.filter(pk=session.pk).update(origin=Session.Origin.IMPORT)
    append(session, user(at=noon), event(at=noon - timedelta(hours=1)), event(), event(at=noon + timedelta(hours=1)))
    turn = session.turns.get()
    assert (turn.started_at, turn.ended_at) == (noon - timedelta(hours=1), noon + timedelta(hours=1))
    assert (session.started_at, session.ended_at) == (turn.started_at, turn.ended_at)
