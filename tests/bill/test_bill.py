"""A bill adds up to the same money by class, model, agent and tool; its places say where it went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from sessions_app.bill.bill import Bill, bill_of
from sessions_app.bill.context import carried, stretches
from sessions_app.bill.places import Place
from sessions_app.bill.request import Call, PerToken, Request
from sessions_app.bill.words import sentence

PRICES = PerToken(Decimal("0.000005"), Decimal("0.0000005"), Decimal("0.00000625"))
"""Dollars a token: 5 plain, 0.50 from the cache, 6.25 into it, each a million."""
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
RATES = {"input": PRICES.input, "cache_read": PRICES.cache_read, "cache_write": PRICES.cache_write}
PER_TOKEN = RATES | {"output": Decimal("0.000025"), "reasoning": Decimal("0.000025")}


def request(seq: int, *, minutes: float = 0, model: str = "m", **tokens: Any) -> Request:
    more = {name: tokens.pop(name) for name in ("flow", "agent") if name in tokens}
    money = {name: PER_TOKEN[name] * number for name, number in tokens.items()}
    at = NOON + timedelta(minutes=minutes)
    return Request(f"r{seq}", seq, at, model, tokens=tokens, money=money, prices=PRICES, **more)


def stated(seq: int, amount: str) -> Request:
    return Request(f"r{seq}", seq, NOON, "m", tokens={"input": 10}, money={"stated": Decimal(amount)}, prices=PRICES)


def sums(bill: Bill) -> list[Decimal]:
    groups = (bill.classes, bill.models, bill.agents, bill.tools)
    return [sum((line.amount for line in lines), Decimal(0)) for lines in groups]


def test_each_division_is_the_whole_to_the_last_digit():
    requests = [
        request(1, input=7, output=3, reasoning=1),
        request(2, cache_read=7, cache_write=11, output=1, model="other"),
        request(4, input=13, output=5, agent=(3, "Explore"), flow=3),
        stated(5, "0.0000000007"),
    ]
    calls = [Call(6, "Read", "r5"), Call(7, "Bash", "r5"), Call(8, "Bash", "r5"), Call(9, "Read", "r1")]
    bill = bill_of(requests, calls, [])
    assert bill.total == sum(each.amount for each in requests)
    assert sums(bill) == [bill.total] * 4
    for lines in (bill.classes, bill.models, bill.agents, bill.tools):
        assert sum(line.per_mille or 0 for line in lines) == 1000


def test_a_stated_amount_is_not_divided_into_classes():
    bill = bill_of([stated(1, "0.25")], [], [])
    assert bill.is_stated
    assert [(line.name, line.amount, line.tokens) for line in bill.classes] == [
        ("input", 0, 10),
        ("stated", Decimal("0.25"), None),
    ]


def test_a_request_without_a_price_is_named_and_not_taken_for_free():
    unpriced = Request("r1", 1, NOON, "house-model", tokens={"input": 900, "output": 100}, is_unpriced=True)
    bill = bill_of([unpriced, request(2, input=1_000)], [], [])
    assert [(line.name, line.unpriced_tokens) for line in bill.unpriced] == [("house-model", 1_000)]
    assert not bill.unpriced[0].is_known
    assert bill_of([unpriced], [], []).total is None


def test_a_copy_and_what_a_statement_covers_cost_nothing_here():
    copy = Request("r1", 1, NOON, "m", tokens={"input": 5}, is_counted=False)
    within = Request("r2", 2, NOON, "m", tokens={"input": 5})
    bill = bill_of([copy, within, stated(3, "1")], [], [])
    assert (bill.total, bill.copied, bill.covered, bill.requests) == (1, 1, 1, 2)


def test_a_result_is_paid_when_it_comes_in_and_in_each_later_request():
    line = [request(1, input=1_000), request(4, cache_write=2_000), request(5, cache_read=2_000, input=10)]
    (found,) = carried(stretches(line, []), [Call(2, "Read", "r1", result_seq=3, size=2_400)])
    assert (found.tokens, found.requests) == (600, 1)
    assert found.amount == 600 * (PRICES.cache_write + PRICES.cache_read)


def test_results_are_never_more_tokens_than_the_context_grew_by():
    line = [request(1, input=1_000), request(6, input=1_300)]
    calls = [Call(2, "Read", "r1", result_seq=4, size=8_000), Call(3, "Grep", "r1", result_seq=5, size=4_000)]
    assert [each.tokens for each in carried(stretches(line, []), calls)] == [200, 100]


@pytest.mark.parametrize("cut", ["compaction", "shrunk"])
def test_a_result_is_carried_until_the_context_is_made_smaller(cut):
    after = 900 if cut == "compaction" else 100
    line = [request(1, input=500), request(4, input=1_000), request(6, input=after), request(7, input=after)]
    compactions = [(0, 5)] if cut == "compaction" else []
    (found,) = carried(stretches(line, compactions), [Call(2, "Read", "r1", result_seq=3, size=400)])
    assert found.requests == 0


def test_side_calls_with_a_small_context_do_not_end_the_large_one():
    line = [request(1, input=9_000), request(2, input=50), request(3, input=9_500)]
    (stretch,) = stretches(line, [])
    assert [each.seq for each in stretch.requests] == [1, 3]


def test_a_result_that_comes_before_its_response_is_logged_whole_is_not_read_by_it():
    line = [request(5, input=1_000), request(8, input=2_000), request(9, input=2_000)]
    (found,) = carried(stretches(line, []), [Call(2, "Read", "r5", result_seq=3, size=40)])
    assert (found.tokens, found.requests) == (10, 1)


def test_what_a_sub_agent_reads_is_not_carried_by_others():
    line = [request(1, input=500), request(4, input=600, flow=2), request(6, input=900)]
    (found,) = carried(stretches(line, []), [Call(2, "Read", "r1", flow=2, result_seq=3, size=400)])
    assert found.requests == 0


def places(*requests: Request, calls: Any = (), compactions: Any = ()) -> dict[str, Any]:
    return {place.kind: place for place in bill_of(requests, [*calls], [*compactions]).places}


def test_a_cache_lost_after_a_pause_is_a_place():
    found = places(
        request(1, cache_write=50_000), request(2, minutes=6, cache_write=51_000), request(3, minutes=7, input=1)
    )["lost"]
    assert (found.seq, found.reason, found.seconds, found.tokens) == (2, "pause", 360, 50_000)
    assert found.amount == 50_000 * PRICES.cache_write


def test_a_cache_lost_without_a_pause_has_no_reason_but_another_model():
    lost = places(request(1, cache_write=50_000), request(2, minutes=1, cache_write=50_000))["lost"]
    assert (lost.reason, lost.name) == ("unknown", "")
    lost = places(request(1, cache_write=50_000), request(2, minutes=9, model="b", cache_write=50_000))["lost"]
    assert (lost.reason, lost.name) == ("model", "b")


def test_a_compaction_loses_no_cache():
    line = (request(1, cache_write=50_000), request(3, minutes=9, cache_write=50_000))
    found = places(*line, compactions=[(0, 2)])
    assert "lost" not in found
    assert "begin" in found


def test_a_large_context_is_one_place_with_its_requests():
    found = places(*(request(seq, cache_read=180_000) for seq in range(1, 6)))["context"]
    assert (found.seq, found.requests, found.tokens) == (1, 5, 180_000)
    assert found.amount == 5 * 180_000 * PRICES.cache_read


def test_places_below_half_a_percent_are_none_and_ten_are_shown():
    line = [request(seq, output=1_000) for seq in range(1, 30)]
    bill = bill_of([*line, request(30, output=1)], [], [])
    assert [place.seq for place in bill.places] == list(range(1, 11))


def test_a_negative_amount_has_no_shares():
    bill = bill_of([stated(1, "-1"), stated(2, "3")], [], [])
    assert bill.total == 2
    assert [line.per_mille for line in bill.models] == [1000]


def test_an_answer_is_not_called_long():
    assert str(sentence(Place("output", 4, Decimal("0.01"), 12, 1))) == "Answer of 12 tokens"
