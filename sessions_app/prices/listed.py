"""The list, and which of its models a name means: the rules of ``genai-prices`` (its ``data_snapshot``, ``types``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

import orjson

FILE = Path(__file__).with_name("list.json")
COMPACT_DATE = re.compile(r"-(20\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=-|:|$)")
"""As routers write it into a model's name: ``gpt-5.2-20251211``."""
LITELLM = "litellm"
"""Not a provider: it says in the model's name whose the model is."""

Clause = list[Any]
Card = str
"""See ``tests.prices.making``, which writes them."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model of the list. ``prices`` are a card, or cards with the time at which each holds."""

    match: Clause
    context_window: int | None
    prices: Card | list[tuple[str | list[str] | None, Card]]

    def card(self, at: datetime) -> Card:
        """The prices of a moment, which is UTC where it has no zone: the last ones whose time it is, else the first."""
        if isinstance(self.prices, str):
            return self.prices
        active = (card for when, card in reversed(self.prices) if _is_active(when, at))
        return next(active, self.prices[0][1])


@dataclass(frozen=True, slots=True)
class Provider:
    """Who sells models: how their names and its own look, and whose models it sells as well."""

    id: str
    of_models: Clause | None
    called: Clause | None
    others: list[str]
    models: list[Model]


@dataclass(frozen=True, slots=True)
class Listed:
    """The whole list."""

    source: str
    providers: list[Provider]

    def model(self, name: str, provider_id: str | None = None) -> Model | None:
        """The model that is called so, by the provider of that name, or by whose models have such names."""
        name = name.lower()
        if provider_id and provider_id.lower() == LITELLM and "/" in name:
            owner, rest = name.split("/", 1)
            if owner and self._called(owner):
                provider_id, name = owner, rest
        provider = self._provider(name, provider_id)
        if provider is None:
            return None
        return self._model_of(provider, name) or self._model_of(provider, COMPACT_DATE.sub(_with_dashes, name))

    def _provider(self, name: str, provider_id: str | None) -> Provider | None:
        if provider_id is not None:
            found = self._called(provider_id)
            if found or provider_id.lower() != LITELLM:
                return found
        return next((one for one in self.providers if one.of_models and _is_match(one.of_models, name)), None)

    def _called(self, provider_id: str) -> Provider | None:
        wanted = provider_id.lower().strip()
        exact = next((one for one in self.providers if one.id == wanted), None)
        return exact or next((one for one in self.providers if one.called and _is_match(one.called, wanted)), None)

    def _model_of(self, provider: Provider, name: str) -> Model | None:
        """Its own, else that of those whose models it sells."""
        others = (one for id_ in provider.others for one in self.providers if one.id == id_)
        models = (model for seller in (provider, *others) for model in seller.models)
        return next((model for model in models if _is_match(model.match, name)), None)


@cache
def the_list() -> Listed:
    """Read once for a process."""
    kept = orjson.loads(FILE.read_bytes())
    providers = [
        Provider(**told | {"models": [Model(*model) for model in told["models"]]}) for told in kept["providers"]
    ]
    return Listed(kept["source"], providers)


def _with_dashes(found: re.Match[str]) -> str:
    try:
        return f"-{date(*map(int, found.groups()))}"
    except ValueError:
        return found[0]


def _is_match(clause: Clause, name: str) -> bool:
    """Whether a name, in small letters, is as a clause says."""
    kind, *parts = clause
    match kind:
        case "or":
            return any(_is_match(part, name) for part in parts)
        case "and":
            return all(_is_match(part, name) for part in parts)
        case "regex":
            return re.search(parts[0], name) is not None
        case "equals":
            return name == parts[0]
        case "contains":
            return parts[0] in name
        case "starts":
            return name.startswith(parts[0])
    return name.endswith(parts[0])


def _is_active(when: str | list[str] | None, at: datetime) -> bool:
    if when is None:
        return True
    moment = at.astimezone(UTC) if at.tzinfo else at
    if isinstance(when, str):
        return moment.date() >= date.fromisoformat(when)
    start, end = map(time.fromisoformat, when)
    is_late, is_early = moment.time() >= start, moment.time() < end
    return is_late or is_early if end < start else is_late and is_early
