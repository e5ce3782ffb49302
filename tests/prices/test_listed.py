"""The list gives the library's own answers: for every model that it has, under every name, at every time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from genai_prices import Usage
from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelInfo, Provider

from sessions_app.prices.listed import FILE, Clause, Model, the_list
from sessions_app.services.log import pricing

from . import making

PROVIDERS = get_snapshot().providers
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_the_list_is_that_of_the_library_as_it_is_installed():
    """Else run ``python -m tests.prices.making``."""
    assert FILE.read_bytes() == making.made()


def literals(clause: Clause) -> Iterator[str]:
    """Names, or beginnings, parts and ends of such, that a clause speaks of."""
    kind, *parts = clause
    if kind in ("or", "and"):
        for part in parts:
            yield from literals(part)
    elif kind == "regex":
        yield parts[0].strip("^$").replace("\\d{8}", "20251101").replace("\\", "")
    else:
        yield parts[0]


def named(name: str, provider: str | None) -> ModelInfo | None:
    try:
        return get_snapshot().find_provider_model(name, None, provider, None)[1]
    except LookupError:
        return None


def shown(model: ModelInfo | Model | None) -> list[Any] | None:
    """What the list says of a model."""
    if isinstance(model, Model):
        return [model.match, model.context_window, model.prices]
    return model and making._model(model)


def asked(provider: Provider) -> Iterator[tuple[str, str | None]]:
    """Names of models, each with who sells them, as far as that is said."""
    for model, listed in zip(provider.models, of(provider).models, strict=True):
        yield from ((name, provider.id) for name in (model.id, *literals(listed.match), f"y-{model.id}:20250230"))
        yield from ((name, None) for name in (model.id, f"{model.id}-20251211".upper()))
    for model in provider.models[:10]:
        yield from ((model.id, f" {provider.id.title()}-x "), (model.id, "nobody"))
        yield from ((name, "litellm") for name in (model.id, f"{provider.id}/{model.id}"))


def of(provider: Provider) -> Any:
    return next(one for one in the_list().providers if one.id == provider.id)


@pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.id)
def test_a_name_means_the_model_that_it_means_to_the_library(provider):
    found = 0
    for name, seller in asked(provider):
        theirs = named(name, seller)
        assert shown(the_list().model(name, seller)) == shown(theirs), (name, seller)
        found += theirs is not None
    assert found >= len(provider.models)


def moments(prices: list[Any]) -> Iterator[datetime]:
    """Around every moment at which a price changes, with zones and without one."""
    for when, _ in prices:
        for text in [when] if isinstance(when, str) else when or ():
            at = f"{text}T00:00:00" if isinstance(when, str) else f"{date(2025, 4, 1)}T{text}"
            for minutes in (-1, 0, 1):
                moment = datetime.fromisoformat(at) + timedelta(minutes=minutes)
                yield moment
                yield moment.replace(tzinfo=UTC).astimezone(timezone(timedelta(hours=9)))


def test_a_price_that_depends_on_the_time_is_that_of_the_library():
    tried = 0
    for provider in PROVIDERS:
        for model, listed in zip(provider.models, of(provider).models, strict=True):
            if isinstance(listed.prices, list):
                for at in (NOW, *moments(listed.prices)):
                    assert listed.card(at) == making._card(model.get_prices(at)), (provider.id, model.id, at)
                    tried += 1
    assert tried > 50


def test_every_model_costs_what_the_library_says():
    for provider in PROVIDERS:
        for model, listed in zip(provider.models, of(provider).models, strict=True):
            for tokens in ((1_000, 0, 0, 0, 10), (250_000, 10_000, 0, 0, 10), (100, 100, 100, 50, 7)):
                plain, read, write, hour, output = tokens
                usage = Usage(
                    input_tokens=plain + read + write, cache_read_tokens=read, cache_write_tokens=write,
                    cache_write_1h_tokens=hour, output_tokens=output,
                )  # fmt: skip
                theirs = model.calc_price(usage, provider, genai_request_timestamp=NOW).total_price
                bands = pricing._bands(listed.card(NOW))
                (ours,) = (band.rates.amount(*tokens) for band in bands if band.above < sum(tokens[:3]) <= band.until)
                assert abs(ours - theirs) < Decimal("1e-12"), (provider.id, model.id, tokens)
