"""Model and provider of a trace that names none: the agent's party speaks for it, then the analysis that holds it."""

from __future__ import annotations

import re
from typing import Any

from ...common.values import text_or_none
from .parties import Parties, Party
from .traces import Trace
from .usage import FAMILIES, provider_family

_MODEL = re.compile(r"[a-z][\w.:-]*\d[\w.:-]*(?:\[\w+\])?", re.IGNORECASE)
CLIENTS = ("claude-code", "codex-cli", "gemini-cli")
"""Products of the families' names that are no models."""


def fill_gaps(trace: Trace, item: dict[str, Any], people: Parties) -> None:
    """``item`` is the analysis: its ``vendor`` and ``product`` identify the agent (agent_session s6.1)."""
    party = _party_of(trace, item, people)
    product = text_or_none(item.get("product"))
    products = (text_or_none(party.facts.get("product")) if party else None, product)
    named = next((name for name in products if name and is_model(name)), None)
    model = (party.model if party else None) or named
    vendor = (text_or_none(item.get("vendor")) or "").lower()
    provider = (party.provider if party else None) or provider_family(None, trace.model or model, None)
    known = vendor if vendor in FAMILIES else None
    trace.fill_gaps(None if model == "unknown" else model, None if provider == "unknown" else provider or known)


def is_model(product: str) -> bool:
    """Is a product one of the known families of models, with the number of one?"""
    name = product.lower()
    family = any(name.startswith(starts) for names in FAMILIES.values() for starts in names)
    return family and bool(_MODEL.fullmatch(product)) and not name.startswith(CLIENTS)


def _party_of(trace: Trace, item: dict[str, Any], people: Parties) -> Party | None:
    """Of several agents the one whose model the analysis names as its product, else the one people talk to."""
    product = text_or_none(item.get("product"))
    same = [party for party in people.all if party.is_ai and product and party.model == product]
    return same[0] if len(same) == 1 else people.agent
