"""Tokens: messages state their output, the shutdown everything; together they count once."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from bench.formats.corpus import tokens_in
from vcon_app.drafts import Draft, Usage
from vcon_app.formats import copilot_cli

from ..checks import drafts_of, events, jsonl, session


def line(kind: str, id: str, day: str = "2026-10-05", **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": id, "timestamp": f"{day}T08:00:00.000Z"}


def message(id: str, output: int | None, model: str = "claude-sonnet-4.6", **more: Any) -> dict[str, Any]:
    return line("assistant.message", id, messageId=id, content="x", outputTokens=output, model=model, **more)


def shutdown(id: str = "end", **models: Any) -> dict[str, Any]:
    return line("session.shutdown", id, modelMetrics={name: {"usage": usage} for name, usage in models.items()})


def drafts(*values: dict[str, Any]) -> list[Draft]:
    return drafts_of(copilot_cli, jsonl(line("session.start", "s", sessionId="c0ffee"), *values))


USAGE = {"inputTokens": 1000, "cacheReadTokens": 700, "cacheWriteTokens": 100, "outputTokens": 60}
TOTAL = {"input": 200, "output": 60, "cache_read": 700, "cache_write": 100, "reasoning": 0}


def test_without_a_shutdown_only_outputs_are_known() -> None:
    found = drafts(message("m1", 12), message("m2", None), message("m3", 3))
    assert [event.usage for event in events(found)[1:]] == [Usage(output_tokens=12), None, Usage(output_tokens=3)]


def test_the_shutdown_adds_what_the_messages_did_not_say() -> None:
    found = drafts(message("m1", 40), message("m2", 15), shutdown(**{"claude-sonnet-4.6": USAGE}))
    assert tokens_in(found) == TOTAL
    rest, ended = events(found)[-2:]
    assert ended.data["type"] == "session.shutdown"
    assert rest.usage and (rest.usage.output_tokens, rest.usage.quality, rest.model) == (
        5,
        "aggregate",
        "claude-sonnet-4.6",
    )


def test_a_shutdown_alone_says_everything() -> None:
    assert tokens_in(drafts(shutdown(**{"claude-sonnet-4.6": USAGE}))) == TOTAL


def test_outputs_without_a_model_are_taken_from_all_of_them() -> None:
    nameless = [message("m1", 50, model=""), message("m2", 25, model="")]
    found = drafts(*nameless, shutdown(a=USAGE, b={"inputTokens": 10, "outputTokens": 20}))
    assert tokens_in(found)["output"] == 80 and tokens_in(found)["input"] == 210


def test_each_leg_of_a_session_is_counted_for_itself() -> None:
    leg = [message("m1", 60), shutdown("e1", **{"claude-sonnet-4.6": USAGE}), line("session.resume", "r")]
    again = [message("m2", 60), shutdown("e2", **{"claude-sonnet-4.6": USAGE})]
    assert tokens_in(drafts(*leg, *again)) == {name: 2 * count for name, count in TOTAL.items()}


def test_a_response_in_several_lines_counts_once() -> None:
    chunks = [message(f"m{n}", 12, apiCallId="api-1", chunkIndex=n) for n in range(3)]
    assert tokens_in(drafts(*chunks))["output"] == 12
    assert tokens_in(drafts(*chunks, shutdown(**{"claude-sonnet-4.6": USAGE}))) == TOTAL


def test_a_response_with_all_its_tokens_leaves_nothing_for_the_shutdown() -> None:
    usage = line("assistant.usage", "u1", model="claude-sonnet-4.6", apiCallId="api-1", **USAGE)
    found = drafts(usage, message("m1", 60, apiCallId="api-1"), shutdown(**{"claude-sonnet-4.6": USAGE}))
    assert sum(event.usage is not None and event.usage.quality == "aggregate" for event in events(found)) == 0


def test_a_shutdown_without_usage_counts_nothing() -> None:
    found = drafts(message("m1", 12), line("session.shutdown", "e", modelMetrics={"gpt-5": {"requests": 2}}))
    assert tokens_in(found)["output"] == 12 and sum(event.usage is not None for event in events(found)) == 1


def test_credits_are_money_since_they_are_the_price() -> None:
    def cost(day: str) -> Any:
        return session(drafts(line("session.shutdown", "e", day, totalNanoAiu=3236385000))).metadata.get(
            "total_cost_usd"
        )

    assert (cost("2026-06-01"), cost("2026-05-31")) == ("0.03236385", None)


@pytest.mark.parametrize(("credits", "cost"), [(3236385000, Decimal("0.03236385")), (0, None), (None, None)])
def test_cost_of_a_leg_covers_the_responses_before_it(credits: Any, cost: Any) -> None:
    end = shutdown(**{"claude-sonnet-4.6": USAGE})
    end["data"]["totalNanoAiu"] = credits
    found = events(drafts(message("m1", 40), end | {"timestamp": "2026-06-01T08:00:00Z"}))
    assert found[-1].cost == cost and ("cost_covers" in found[-1].data) == (cost is not None)
    assert all(event.cost is None for event in found[:-1])
