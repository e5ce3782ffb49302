"""The bill of a session over the API."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.api.client import ok, refused
from tests.services.build import answer, append, call, result, user

pytestmark = pytest.mark.django_db
OPUS = "claude-opus-4-5"


def test_a_session_says_where_its_cost_went(api, session):
    append(
        session, user(), call("c1", "Read", request="r"), answer("r", OPUS, input_tokens=10_000, output_tokens=100),
        result("c1", text="x" * 4_000), answer("s", OPUS, cache_write_tokens=12_000), answer("t", "house-model",
        input_tokens=7),
    )  # fmt: skip
    found = ok(api.get(f"/api/v1/sessions/{session.pk}/cost"))
    assert found["cost"] == {"amount": "0.127500", "currency": "USD", "basis": "priced", "unpriced_tokens": 7}
    assert {line["name"]: Decimal(line["amount"]) for line in found["classes"]} == {
        "input": Decimal("0.05"), "cache_write": Decimal("0.075"), "output": Decimal("0.0025"),
    }  # fmt: skip
    assert [(line["name"], line["amount"] is None, line["unpriced_tokens"]) for line in found["models"]] == [
        (OPUS, False, 0),
        ("house-model", True, 7),
    ]
    read, none = found["tools"]
    assert (read["name"], read["calls"], read["result_tokens"]) == ("Read", 1, 1_000)
    assert Decimal(read["amount"]) + Decimal(none["amount"]) == Decimal("0.1275")
    first = found["places"][0]
    assert (first["kind"], first["event_seq"]) == ("begin", 3)
    assert first["text"] == "Beginning of a context: 10.0 k tokens of instructions, tools and messages"


def test_a_session_without_responses_costs_nothing_that_is_known(api, session):
    found = ok(api.get(f"/api/v1/sessions/{session.pk}/cost"))
    assert (found["cost"]["amount"], found["requests"], found["classes"], found["places"]) == (None, 0, [], [])


def test_another_workspaces_bill_is_not_found(stranger, session):
    refused(stranger.get(f"/api/v1/sessions/{session.pk}/cost"), 404)
