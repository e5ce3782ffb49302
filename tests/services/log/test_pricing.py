"""Our prices are those of ``genai-prices``, asked of the library itself, tier by tier and day by day."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price

from sessions_app.services.log import pricing

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
SIZES = (0, 1, 1_000, 128_000, 200_000, 200_001, 272_000, 272_001, 999_999)


def same(model: str, at: datetime, tokens: tuple[int, int, int, int, int]) -> None:
    ours = pricing.price(model, at, tokens)
    theirs = calc_price(_usage(tokens), model, genai_request_timestamp=at).total_price
    assert ours is not None and abs(ours - theirs) < Decimal("1e-12"), (model, at, tokens, ours, theirs)


def _usage(tokens: tuple[int, int, int, int, int]) -> Usage:
    plain, read, write, hour, output = tokens
    return Usage(
        input_tokens=plain + read + write, cache_read_tokens=read, cache_write_tokens=write,
        cache_write_1h_tokens=hour, output_tokens=output,
    )  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "model",
    [
        "claude-opus-4-5",
        "claude-sonnet-4-5",
        "claude-haiku-5-5",
        "gpt-5",
        "gpt-4.1-mini",
        "o3",
        "gemini-2.5-pro",
        "gemini-2.5-flash",
    ],
)
def test_a_prompt_of_any_size_costs_what_the_library_says(model, size):
    same(model, NOW, (size, 0, 0, 0, 1_000))
    same(model, NOW, (size // 3, size // 3, size - 2 * (size // 3), 0, 77))


@pytest.mark.parametrize("cached", [0, 150_000, 199_999, 200_000, 200_001])
def test_cached_tokens_count_towards_the_tier(cached):
    same("gemini-2.5-pro", NOW, (1, cached, 0, 0, 500))
    same("claude-sonnet-4-5", NOW, (1, cached, 0, 0, 500))


def test_a_tier_takes_in_the_whole_request():
    below, above = (pricing.price("gemini-2.5-pro", NOW, (size, 0, 0, 0, 0)) for size in (200_000, 200_001))
    assert above > below * Decimal("1.9")


@pytest.mark.parametrize("hour_part", [0, 400, 1_000])
def test_cache_kept_for_an_hour_has_its_own_price(hour_part):
    same("claude-opus-4-5", NOW, (10, 20, 1_000, hour_part, 30))


def test_an_hour_of_cache_costs_more_than_five_minutes():
    five, hour = (pricing.price("claude-opus-4-5", NOW, (0, 0, 1_000_000, part, 0)) for part in (0, 1_000_000))
    assert (five, hour) == (Decimal("6.25"), Decimal("10"))


@pytest.mark.parametrize("hour", range(24))
@pytest.mark.parametrize("model", ["deepseek-chat", "deepseek-reasoner"])
def test_the_time_of_day_counts(model, hour):
    for at in (datetime(2025, 4, 1, hour, 29, tzinfo=UTC), datetime(2025, 4, 1, hour, 31, tzinfo=UTC)):
        same(model, at, (1_000_000, 500_000, 0, 0, 1_000_000))


@pytest.mark.parametrize(
    "day", [datetime(2025, 6, 9, tzinfo=UTC), datetime(2025, 6, 10, tzinfo=UTC), datetime(2025, 6, 11, tzinfo=UTC)]
)
def test_a_price_that_changed_is_that_of_its_day(day):
    same("o3", day, (1_000_000, 0, 0, 0, 1_000))


@pytest.mark.parametrize(
    "model", [None, "", "no-such-model", "claude-oops-9", "gpt-99-turbo", "x/y", "/", "<synthetic>"]
)
def test_an_unknown_model_has_no_price(model):
    assert pricing.price(model, NOW, (1, 1, 1, 1, 1)) is None


@pytest.mark.parametrize(
    "spelling",
    [
        "claude-opus-4-5-20251101", "anthropic/claude-opus-4-5", "anthropic/claude-opus-4.5",
        "openrouter/anthropic/claude-opus-4-5",
        "claude-opus-4-5@20251101", "vertex_ai/claude-opus-4-5@20251101",
    ],
)  # fmt: skip
def test_a_model_is_known_by_its_other_spellings(spelling):
    assert pricing.price(spelling, NOW, (1_000_000, 0, 0, 0, 0)) == 5


def test_a_bedrock_name_has_the_price_of_bedrock():
    assert pricing.price("us.anthropic.claude-opus-4-5-20251101-v1:0", NOW, (1_000_000, 0, 0, 0, 0)) == Decimal("5.5")


def test_response_without_tokens_costs_nothing():
    assert pricing.price("claude-opus-4-5", NOW, (0, 0, 0, 0, 0)) == 0


def test_the_source_names_the_table():
    assert pricing.source().startswith("genai-prices/")


@pytest.mark.parametrize("model", ["claude-opus-4-5", "claude-sonnet-4-5", "gpt-5", "gemini-2.5-pro", "no-such-model"])
@pytest.mark.parametrize("size", SIZES)
def test_the_bands_of_a_model_are_its_prices(model, size):
    """By them PostgreSQL prices responses as it writes them."""
    bands = pricing.bands(model)
    assert bands is not None
    tokens = (size // 3, size // 3, size - 2 * (size // 3), size // 9, 77)
    fitting = [band.rates.amount(*tokens) for band in bands if band.above < size <= band.until]
    assert fitting == [amount for amount in [pricing.price(model, NOW, tokens)] if amount is not None]


def test_a_price_that_depends_on_the_time_is_no_band():
    assert pricing.bands("deepseek-chat") is None
