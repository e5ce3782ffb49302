"""Tokens: running totals that are told again and again become those of single responses."""

from __future__ import annotations

from bench.formats.corpus import tokens_in
from vcon_app.drafts import Usage

from ..checks import events, findings
from .lines import drafts, event, line, tokens


def test_an_unchanged_total_is_no_new_response() -> None:
    found = drafts(tokens(100, 100), tokens(100, 100), tokens(250, 150), tokens(250, 150))
    assert [event.kind for event in events(found)[1:]] == ["model_request", "system"] * 2
    assert tokens_in(found)["input"] == 250


def test_without_a_last_response_the_difference_of_totals_counts() -> None:
    assert tokens_in(drafts(tokens(100, None), tokens(300, None), tokens(300, None)))["input"] == 300


def test_a_total_that_fell_was_set_back() -> None:
    assert tokens_in(drafts(tokens(100, None), tokens(40, None)))["input"] == 140


def test_both_caches_are_inside_the_input() -> None:
    counts = {"input_tokens": 100, "cached_input_tokens": 60, "cache_write_input_tokens": 30, "output_tokens": 7,
              "reasoning_output_tokens": 5}  # fmt: skip
    found = events(drafts(event("token_count", info={"total_token_usage": counts, "last_token_usage": counts})))[1]
    assert found.usage == Usage(10, 60, 30, 7, 5)


def test_unstated_counts_are_not_zero() -> None:
    found = events(drafts(event("token_count", info={"last_token_usage": {"output_tokens": 7}})))[1]
    assert found.usage == Usage(output_tokens=7)


def test_a_count_without_numbers_is_no_response() -> None:
    found = events(drafts(event("token_count", info=None, rate_limits={"primary": None})))[1]
    assert (found.kind, found.usage) == ("system", None)


def test_a_count_in_another_shape_is_not_believed() -> None:
    found = drafts(event("token_count", info={"prompt": 5}), event("token_count", input_tokens=5))
    assert [event.kind for event in events(found)[1:]] == ["unknown", "unknown"]
    assert "2 times" in findings(found)["codex.unknown-type"].message


def test_the_model_is_that_of_the_turn() -> None:
    first, second = line("turn_context", model="gpt-5.2"), line("turn_context", turn_context={"model": "gpt-5.4"})
    found = events(drafts(first, tokens(10, 10), second, tokens(20, 10)))
    assert [event.model for event in found if event.usage] == ["gpt-5.2", "gpt-5.4"]


def test_responses_that_miss_the_stated_total_are_reported() -> None:
    assert "550 tokens in total" in findings(drafts(tokens(500, 100)))["codex.total"].message
    assert not findings(drafts(tokens(100, 100), tokens(200, 100)))
