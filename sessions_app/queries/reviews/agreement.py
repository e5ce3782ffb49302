"""Agreement between reviewers, by what they say of the same sessions. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

ENOUGH = 10
"""Sessions with two verdicts or more, from which on kappa is told: of fewer it is hardly more than chance."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """``share`` of pairs of verdicts on the same session that agree; None without a pair."""

    sessions: int
    """Those with two verdicts or more."""
    pairs: int
    share: float | None
    kappa: float | None
    """Agreement beyond chance: 1 is perfect, 0 what chance gives. None where there is not enough to tell."""
    kind: str
    """Whose kappa: Cohen's of two reviewers, Fleiss' of more."""


def agreement(verdicts: Collection[Sequence[tuple[object, str]]]) -> Agreement:
    """Agreement over sessions, each with the verdicts of different reviewers: who, and what they say."""
    several = [said for said in verdicts if len(said) > 1]
    pairs = sum(comb(len(said), 2) for said in several)
    agreeing = sum(comb(count, 2) for said in several for count in Counter(word for _, word in said).values())
    share = agreeing / pairs if pairs else None
    reviewers = {who for said in several for who, _ in said}
    kappa = None
    if len(several) >= ENOUGH:
        kappa = _cohen(several) if len(reviewers) == 2 else _fleiss(several)
    return Agreement(len(several), pairs, share, kappa, "Cohen" if len(reviewers) == 2 else "Fleiss")


def _cohen(several: Collection[Sequence[tuple[object, str]]]) -> float | None:
    """Cohen, 1960: by chance two agree as the product of how often each says a word."""
    said = [dict(each) for each in several]
    first, second = sorted({who for each in said for who in each}, key=str)
    words = {word for each in said for word in each.values()}
    expected = sum(
        Fraction(sum(each[first] == word for each in said), len(said))
        * Fraction(sum(each[second] == word for each in said), len(said))
        for word in words
    )
    return _beyond(Fraction(sum(each[first] == each[second] for each in said), len(said)), expected)


def _fleiss(several: Collection[Sequence[tuple[object, str]]]) -> float | None:
    """Fleiss, 1971, for sessions with different numbers of reviewers: each counts by its own pairs."""
    counts = [Counter(word for _, word in said) for said in several]
    observed = sum(
        Fraction(sum(comb(number, 2) for number in count.values()), comb(count.total(), 2)) for count in counts
    ) / len(counts)
    everything = sum(counts, Counter())
    expected = sum(Fraction(number, everything.total()) ** 2 for number in everything.values())
    return _beyond(Fraction(observed), Fraction(expected))


def _beyond(observed: Fraction, expected: Fraction | int) -> float | None:
    """None where all say the same: chance alone would give that, too."""
    return None if expected == 1 else float((observed - expected) / (1 - expected))
