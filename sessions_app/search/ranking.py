"""How well a session says what somebody looks for, from what the index knows of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TITLE, TOGETHER = 2.0, 1.0
"""What a term in the title counts, and all terms close to each other; how often one is said counts at most 1."""
SATURATION, LENGTH = 1.2, 0.75
"""``k1`` and ``b`` of BM25, as Robertson and Zaragoza give them ("The Probabilistic Relevance Framework", 2009): each
further time counts less, and a session that is twice as long has to say it more often."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the index knows of one session. Stretches are of 64 events."""

    length: float
    """Stretches that it has."""
    often: Sequence[float] = ()
    """Of each term: stretches that say it."""
    in_title: int = 0
    """Terms that its title or summary says."""
    are_together: bool = False
    """Whether one stretch says all terms."""


def scores(found: Mapping[str, Said]) -> dict[str, float]:
    """A score of each session, by its name: higher is better. They are comparable among these sessions alone."""
    mean = sum(one.length for one in found.values()) / max(len(found), 1) or 1.0
    return {name: _score(one, mean) for name, one in found.items()}


def _score(said: Said, mean: float) -> float:
    bar = SATURATION * (1 - LENGTH + LENGTH * said.length / mean)
    often = sum(times / (times + bar) for times in said.often)
    return often + TITLE * said.in_title + TOGETHER * said.are_together
