"""Fields of decisions and evidence, named and bounded as a product graph does (core 0.41.0)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..log.sanitise import text
from ..reviews.problems import Refused

LONGEST_TITLE = 200
LONGEST = 10_000
"""Characters of a text."""
MOST_ITEMS = 50
LAYERS = ("strategic", "product", "engineering", "design", "business", "other")
RIGOR = ("quantitative", "qualitative", "anecdotal", "expert_opinion")
SOURCES = ("experiment_run", "observation", "quote", "metric_change", "market_data", "interview")
DIRECTIONS = ("supports", "refutes", "neutral")
TEXT, LIST = "text", "list"
Field = str | tuple[str, ...]
OF_DECISION: dict[str, Field] = {
    "layer": LAYERS, "context": TEXT, "options_considered": LIST, "rationale": TEXT, "date": TEXT,
    "decision_outcome": TEXT, "consequences": TEXT, "decision_makers": LIST, "decision_drivers": LIST,
}  # fmt: skip
OF_EVIDENCE: dict[str, Field] = {
    "direction": DIRECTIONS, "evidence_rigor": RIGOR, "evidence_source": SOURCES, "summary": TEXT, "quote": TEXT,
    "source": TEXT, "observed_at": TEXT,
}  # fmt: skip
"""``quote`` is ours: the words of the transcript, or of elsewhere."""
TRANSITIONS = {
    "proposed": ("reviewing",), "reviewing": ("approved", "rejected", "proposed"), "approved": ("deprecated",),
    "rejected": ("proposed",), "deprecated": (),
}  # fmt: skip
"""Lifecycle of a decision: the status that each may become."""


def title_of(words: str) -> str:
    """A title on one line. Raises ``Refused`` for an empty or long one."""
    title = " ".join(text(words).split())
    if not title:
        raise Refused("title", "is empty; say in a line what it is")
    return _within("title", title, LONGEST_TITLE)


def checked(fields: Mapping[str, Any], known: Mapping[str, Field]) -> dict[str, Any]:
    """The fields that say something, as they are kept. Raises ``Refused``, which names the field."""
    kept: dict[str, Any] = {}
    for name, kind in known.items():
        given = fields.get(name)
        if kind == LIST:
            value: Any = _items(name, given or [])
        else:
            value = _within(name, text(given or "").strip(), LONGEST)
        if value and isinstance(kind, tuple) and value not in kind:
            raise Refused(name, f'"{value[:40]}" is none; use one of {", ".join(kind)}')
        if value:
            kept[name] = value
    return kept


def _items(name: str, given: list[str]) -> list[str]:
    items = [_within(name, one, 1_000) for each in given if (one := text(each).strip())]
    if len(items) > MOST_ITEMS:
        raise Refused(name, f"has {len(items)} items; use at most {MOST_ITEMS}")
    return items


def _within(name: str, words: str, most: int) -> str:
    if len(words) > most:
        raise Refused(name, f"has {len(words):,} characters; use at most {most:,}")
    return words
