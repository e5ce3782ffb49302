"""Makes the list anew: ``python -m tests.prices.making``, after ``genai-prices`` was raised.

The library is asked here and in the tests alone: with Pydantic it takes 13 MB and 0.3 s of each process that prices.
"""

from __future__ import annotations

from decimal import Decimal
from importlib.metadata import version
from typing import Any, cast

import orjson
from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import (
    ClauseAnd,
    ClauseContains,
    ClauseEndsWith,
    ClauseEquals,
    ClauseOr,
    ClauseRegex,
    ClauseStartsWith,
    ConditionalPrice,
    MatchLogic,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    TieredPrices,
    TimeOfDateConstraint,
)

from sessions_app.prices.listed import FILE

PROBE = 1_000_000


def made() -> bytes:
    """The list as it is kept: a line for each model, so that a difference shows what has changed."""
    providers = ",\n".join(_told(provider) for provider in get_snapshot().providers)
    return f'{{"source":"genai-prices/{version("genai-prices")}","providers":[\n{providers}\n]}}\n'.encode()


def _told(provider: Provider) -> str:
    head = orjson.dumps(_provider(provider)).decode().removesuffix("}")
    models = ",\n".join(orjson.dumps(_model(model)).decode() for model in provider.models)
    return f'{head},"models":[\n{models}\n]}}'


def _provider(provider: Provider) -> dict[str, Any]:
    return {
        "id": provider.id,
        "of_models": provider.model_match and _clause(provider.model_match),
        "called": provider.provider_match and _clause(provider.provider_match),
        "others": provider.fallback_model_providers or [],
    }


def _model(model: ModelInfo) -> list[Any]:
    dated = model.prices if isinstance(model.prices, list) else []
    prices = [_dated(price) for price in dated] or _card(cast(ModelPrice, model.prices))
    return [_clause(model.match), model.context_window, prices]


def _dated(price: ConditionalPrice) -> list[Any]:
    """Since when or in which hours (UTC) a card holds, if not always, and the card."""
    match price.constraint:
        case None:
            return [None, _card(price.prices)]
        case StartDateConstraint(start_date=day):
            return [day.isoformat(), _card(price.prices)]
        case TimeOfDateConstraint(start_time=start, end_time=end):
            return [[_utc(start), _utc(end)], _card(price.prices)]
    raise TypeError(f"a price has a condition of a new kind: {price.constraint!r}")


def _utc(time: Any) -> str:
    if time.utcoffset():
        raise TypeError(f"an hour that is not of UTC: {time!r}")
    return str(time.replace(tzinfo=None).isoformat())


def _clause(clause: MatchLogic) -> list[Any]:
    match clause:
        case ClauseOr(or_=parts):
            return ["or", *map(_clause, parts)]
        case ClauseAnd(and_=parts):
            return ["and", *map(_clause, parts)]
        case ClauseRegex(regex=text):
            return ["regex", text]
        case ClauseEquals(equals=text):
            return ["equals", text.lower()]
        case ClauseContains(contains=text):
            return ["contains", text.lower()]
        case ClauseStartsWith(starts_with=text):
            return ["starts", text.lower()]
        case ClauseEndsWith(ends_with=text):
            return ["ends", text.lower()]
    raise TypeError(f"a name is matched by a rule of a new kind: {clause!r}")


def _card(prices: ModelPrice) -> str:
    """For each tier the size of prompt above which it holds and ``Rates``: within a tier prices are linear."""
    tiered = [value for value in vars(prices).values() if isinstance(value, TieredPrices)]
    starts = sorted({tier.start for value in tiered for tier in value.tiers})
    probes = [(starts or [PROBE])[0], *(start + 1 for start in starts)]
    tiers = ((above, *_rates(prices, probe)) for above, probe in zip([-1, *starts], probes, strict=True))
    return ";".join(" ".join(map(str, tier)) for tier in tiers)


def _rates(prices: ModelPrice, size: int) -> list[Decimal]:
    """The rates for prompts of the tier of ``size`` tokens, in the order of ``Rates``."""

    def cost(**tokens: int) -> Decimal:
        return prices.calc_price(Usage(**tokens))["total_price"]

    fee, plain = cost(), cost(input_tokens=size)

    def rate(**cached: int) -> Decimal:
        return (cost(input_tokens=size, **cached) - fee) / size

    return [
        fee, rate(), rate(cache_read_tokens=size), rate(cache_write_tokens=size),
        rate(cache_write_tokens=size, cache_write_1h_tokens=size),
        (cost(input_tokens=size, output_tokens=PROBE) - plain) / PROBE,
    ]  # fmt: skip


if __name__ == "__main__":
    FILE.write_bytes(made())
