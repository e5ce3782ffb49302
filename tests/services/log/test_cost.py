"""What a session costs: recorded before priced, each response once, and never 0 for unknown."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from sessions_app.models import ModelRequest
from sessions_app.services.log import pricing

from ..build import answer, append, event, user

pytestmark = pytest.mark.django_db
OPUS = "claude-opus-4-5"
"""5 dollars a million tokens in, 25 out."""


def money(session) -> tuple:
    return session.cost_amount, session.cost_basis, session.unpriced_tokens


def test_a_known_model_is_priced(session):
    append(session, answer("r", OPUS, input_tokens=1_000_000, output_tokens=100_000))
    assert money(session) == (Decimal("7.5"), "priced", 0)
    assert ModelRequest.objects.get(session=session).price_source == pricing.source()


def test_recorded_cost_beats_the_price_table(session):
    append(session, answer("r", OPUS, cost=Decimal("0.25"), input_tokens=1_000_000))
    assert money(session) == (Decimal("0.25"), "recorded", 0)


def test_a_recorded_cost_counts_once_for_a_repeated_response(session):
    append(
        session,
        answer("r", OPUS, cost=Decimal("0.25"), output_tokens=1),
        answer("r", OPUS, cost=Decimal("0.25"), output_tokens=1),
    )
    append(session, answer("r", OPUS, cost=Decimal("0.25"), output_tokens=1))
    assert money(session) == (Decimal("0.25"), "recorded", 0)


def test_a_recorded_cost_needs_no_tokens(session):
    append(session, answer("r", cost=Decimal("0.25")))
    assert money(session) == (Decimal("0.25"), "recorded", 0)
    assert session.total_tokens is None


def test_a_recorded_cost_of_zero_is_zero(session):
    append(session, answer("r", OPUS, cost=Decimal(0), input_tokens=10))
    assert money(session) == (0, "recorded", 0)


def test_session_with_recorded_and_priced_costs_is_mixed(session):
    append(session, answer("r", cost=Decimal("0.25")), answer("s", OPUS, input_tokens=100_000))
    assert money(session) == (Decimal("0.75"), "mixed", 0)
    assert [turn.cost_basis for turn in session.turns.all()] == ["mixed"]


def test_an_unknown_model_is_unpriced_and_its_tokens_say_how_much(session):
    append(session, answer("r", "no-such-model", input_tokens=10, output_tokens=5))
    assert money(session) == (None, "none", 15)
    assert ModelRequest.objects.get(session=session).price_source == pricing.UNPRICED


def test_cost_of_a_partly_priced_session_is_a_lower_bound(session):
    append(
        session,
        user(),
        answer("r", OPUS, input_tokens=1_000_000),
        user(),
        answer("s", "no-such-model", input_tokens=10),
    )
    assert money(session) == (Decimal(5), "priced", 10)
    assert [(turn.cost_amount, turn.unpriced_tokens) for turn in session.turns.order_by("index")] == [
        (5, 0),
        (None, 10),
    ]


def test_a_response_without_a_model_is_unpriced(session):
    append(session, answer("r", input_tokens=10))
    assert money(session) == (None, "none", 10)


def test_a_session_without_responses_costs_nothing_known(session):
    append(session, user())
    assert money(session) == (None, "none", 0)


def test_a_response_that_grew_is_priced_again(session):
    append(session, answer("r", OPUS, output_tokens=1))
    append(session, answer("r", OPUS, output_tokens=1_000_000))
    assert money(session) == (Decimal(25), "priced", 0)


def test_a_response_is_priced_at_its_own_date(session):
    before, after = datetime(2025, 6, 1, tzinfo=UTC), datetime(2025, 7, 1, tzinfo=UTC)  # o3 fell by 80 % in between
    usage = answer("r", "o3", input_tokens=1_000_000)
    append(session, event("agent_message", model="o3", at=before, usage=usage.usage, request="a"))
    append(session, event("agent_message", model="o3", at=after, usage=usage.usage, request="b"))
    first, second = ModelRequest.objects.filter(session=session).order_by("key").values_list("cost_priced", flat=True)
    assert first > second
