"""The bill of a session is its cost to the last digit, whoever recorded it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sessions_app.models import ModelRequest, Session
from sessions_app.services.money import bills
from tests.services.build import answer, append, call, event, user

pytestmark = pytest.mark.django_db
OPUS = "claude-opus-4-5"
"""5 dollars a million tokens in, 0.50 from the cache, 6.25 and 10 into it, 25 out."""


def parts(session: Session) -> dict[str | None, Decimal]:
    bill = bills.make(session)
    assert bill.total == session.cost_amount
    for lines in (bill.classes, bill.models, bill.agents, bill.tools):
        assert sum((line.amount for line in lines), Decimal(0)) == bill.total
    return {line.name: line.amount for line in bill.classes if line.amount}


def test_classes_have_the_prices_of_the_table(session):
    tokens = {"input_tokens": 1_000_000, "cache_read_tokens": 1_000_000, "cache_write_tokens": 3_000_000}
    more = {"cache_write_1h_tokens": 1_000_000, "output_tokens": 100_000, "reasoning_tokens": 40_000}
    append(session, answer("r", OPUS, **tokens, **more))
    assert parts(session) == {
        "input": 5, "cache_read": Decimal("0.5"), "cache_write_5m": Decimal("12.5"), "cache_write_1h": 10,
        "output": Decimal("1.5"), "reasoning": 1,
    }  # fmt: skip


def test_what_the_recorder_states_is_not_divided(session):
    append(session, answer("r", OPUS, cost=Decimal("0.25"), input_tokens=1_000), answer("s", OPUS, input_tokens=1_000))
    assert parts(session) == {"stated": Decimal("0.25"), "input": Decimal("0.005")}


def test_an_amount_of_another_price_table_is_not_divided_by_this_one(session):
    append(session, answer("r", OPUS, input_tokens=1_000))
    ModelRequest.objects.filter(session=session).update(cost_priced=Decimal("0.04"), price_source="genai-prices/0.0.1")
    Session.objects.filter(pk=session.pk).update(cost_priced=Decimal("0.04"))
    session.refresh_from_db()
    assert parts(session) == {"other_table": Decimal("0.04")}


def test_a_response_is_shared_among_the_tools_that_it_asks_for(session):
    append(
        session, user(), call("c1", "Read", request="r"), call("c2", "Bash", request="r"),
        call("c3", "Bash", request="r"), answer("r", OPUS, input_tokens=1_000), answer("s", OPUS, input_tokens=1_000),
    )  # fmt: skip
    lines = {line.name: (line.calls, line.amount) for line in bills.make(session).tools}
    assert lines == {
        "Bash": (2, Decimal("0.0033333333")), "Read": (1, Decimal("0.0016666667")), None: (0, Decimal("0.005")),
    }  # fmt: skip


def test_the_requests_of_a_sub_agent_are_a_line_of_its_own(session):
    append(
        session, user(), call("c1", "Task", key="task", request="r"), answer("r", OPUS, input_tokens=1_000),
        event("agent_message", text="Found", request="n", model=OPUS, depth=1, parent="task", actor_kind="subagent",
              actor_name="Explore", usage=answer("n", input_tokens=2_000).usage),
    )  # fmt: skip
    own, explore = bills.make(session).agents
    assert (own.seq, own.amount) == (None, Decimal("0.005"))
    assert (explore.seq, explore.name, explore.amount) == (2, "Explore", Decimal("0.01"))


def test_a_bill_is_made_again_when_the_session_goes_on(session):
    append(session, answer("r", OPUS, input_tokens=1_000))
    assert bills.of(session) is bills.of(session)
    append(session, answer("s", OPUS, input_tokens=1_000))
    assert bills.of(session).total == Decimal("0.01")


def test_a_session_without_responses_has_an_empty_bill(session):
    append(session, user())
    bill = bills.make(session)
    assert (bill.total, bill.classes, bill.places, bill.requests) == (None, [], [], 0)
