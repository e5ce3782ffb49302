"""Two versions of an agent over the sessions that ran under them: their numbers, and how sure a difference is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, variance
from uuid import UUID

from sessions_app.models import Session
from sessions_app.phrases import gettext as _

LOOKED_AT = 1_000
"""Sessions of the agent, the last ones, among which those of the two versions are taken."""
ENOUGH = 10
"""Sessions of each from which on a range is told."""
Z = 1.959964
"""Quantile of the normal distribution for 95 %."""


@dataclass(frozen=True, slots=True)
class Range:
    """95 % confidence interval of a difference."""

    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether it leaves out that there is no difference."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of both versions: mean or share, over how many sessions it is known, and the difference."""

    name: str
    unit: str
    """dollars, tokens, seconds, number or share."""
    old: float | None
    new: float | None
    old_count: int
    new_count: int
    range: Range | None
    """None where there are too few sessions to tell."""

    @property
    def difference(self) -> float | None:
        return None if self.old is None or self.new is None else self.new - self.old


@dataclass(frozen=True, slots=True)
class VersionComparison:
    measures: list[Measure]
    old_sessions: int
    new_sessions: int


def compare_versions(agent_id: UUID, old: int, new: int, tag: str = "") -> VersionComparison:
    """Ended or not, the last sessions of the agent count; with a tag, those that have it."""
    found = Session.objects.filter(agent_id=agent_id).defer("source_record", "metadata")
    if tag:
        found = found.filter(tags__contains=[tag])
    rows = list(found.order_by("-created_at", "-pk")[:LOOKED_AT])
    before = [row for row in rows if row.agent_version == old]
    after = [row for row in rows if row.agent_version == new]
    means = [_mean(name, unit, _known(before, value), _known(after, value)) for name, unit, value in MEANS]
    shares = [_share(name, _known(before, value), _known(after, value)) for name, value in SHARES]
    return VersionComparison([*means, *shares], len(before), len(after))


def _cost(session: Session) -> float | None:
    return None if session.cost_amount is None else float(session.cost_amount)


def _seconds(session: Session) -> float | None:
    if session.started_at is None or session.ended_at is None:
        return None
    return (session.ended_at - session.started_at).total_seconds()


def _passed(session: Session) -> float | None:
    return {"pass": 1.0, "fail": 0.0}.get(session.verdict)


MEANS: tuple[tuple[str, str, Callable[[Session], float | None]], ...] = (
    (_("Cost"), "dollars", _cost),
    (_("Tokens"), "tokens", lambda session: session.total_tokens),
    (_("Duration"), "seconds", _seconds),
    (_("Turns"), "number", lambda session: session.turn_count),
    (_("Tool calls"), "number", lambda session: session.tool_call_count),
)
SHARES: tuple[tuple[str, Callable[[Session], float | None]], ...] = (
    (_("With errors"), lambda session: float(session.error_count > 0)),
    (_("Passed review"), _passed),
)


def _known(rows: Iterable[Session], value: Callable[[Session], float | None]) -> list[float]:
    return [known for row in rows if (known := value(row)) is not None]


def _mean(name: str, unit: str, old: Sequence[float], new: Sequence[float]) -> Measure:
    known = (fmean(old) if old else None, fmean(new) if new else None)
    return Measure(name, unit, *known, len(old), len(new), mean_range(old, new))


def _share(name: str, old: Sequence[float], new: Sequence[float]) -> Measure:
    known = (fmean(old) if old else None, fmean(new) if new else None)
    return Measure(name, "share", *known, len(old), len(new), share_range(old, new))


def mean_range(old: Sequence[float], new: Sequence[float]) -> Range | None:
    """Of ``new - old`` with unequal variances (Welch 1947). None of fewer than ``ENOUGH`` each."""
    if min(len(old), len(new)) < ENOUGH:
        return None
    parts = [(variance(values) / len(values), len(values) - 1) for values in (old, new)]
    squared = sum(part for part, _ in parts)
    difference = fmean(new) - fmean(old)
    if not squared:  # no session differs from another of its version
        return Range(difference, difference)
    freedom = squared**2 / sum(part**2 / others for part, others in parts)
    error = student(freedom) * sqrt(squared)
    return Range(difference - error, difference + error)


def student(freedom: float) -> float:
    """Quantile of Student's distribution for 95 %, by its expansion at that of the normal one (Abramowitz and Stegun,
    26.7.5): from 9 degrees of freedom on it errs by less than 0.0001.
    """
    terms = (
        Z,
        (Z**3 + Z) / 4,
        (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96,
        (3 * Z**7 + 19 * Z**5 + 17 * Z**3 - 15 * Z) / 384,
        (79 * Z**9 + 776 * Z**7 + 1482 * Z**5 - 1920 * Z**3 - 945 * Z) / 92_160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def share_range(old: Sequence[float], new: Sequence[float]) -> Range | None:
    """Of a difference of shares by Newcombe's hybrid score method (1998, method 10), which holds for few sessions and
    for shares of 0 and 1. None of fewer than ``ENOUGH`` each.
    """
    if min(len(old), len(new)) < ENOUGH:
        return None
    one, other = fmean(new), fmean(old)
    low, high = _wilson(one, len(new))
    other_low, other_high = _wilson(other, len(old))
    difference = one - other
    return Range(
        difference - sqrt((one - low) ** 2 + (other_high - other) ** 2),
        difference + sqrt((high - one) ** 2 + (other - other_low) ** 2),
    )


def _wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's score interval (1927)."""
    middle = share + Z * Z / (2 * count)
    spread = Z * sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    whole = 1 + Z * Z / count
    return (middle - spread) / whole, (middle + spread) / whole
