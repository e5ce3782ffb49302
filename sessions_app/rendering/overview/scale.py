"""Places on an axis of time on which long pauses are short: a night between two messages is a gap of a known width."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

PAUSE = 60_000
"""Milliseconds in which nothing happened, from which a pause may be cut short unless told otherwise."""
SHARE = 0.02
"""Pauses that are longer than this share of the time in which something ran are cut short to ``LEFT`` of the rest."""
LEFT = 0.015
MOST_LEFT = 0.25
"""Of the rest, for all pauses together."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Milliseconds since 1970 between which nothing happened, and where its gap lies on the axis (0 to 1)."""

    began: int
    ended: int
    start: float
    end: float

    @property
    def milliseconds(self) -> int:
        return self.ended - self.began


@dataclass(frozen=True, slots=True)
class Scale:
    """Where a time lies between 0 and 1: straight lines between ``times`` and ``places``."""

    times: Sequence[int]
    places: Sequence[float]
    pauses: Sequence[Pause] = ()

    def place(self, time: int) -> float:
        """0 for what is before the beginning, 1 for what is after the end."""
        if time <= self.times[0]:
            return 0.0
        if time >= self.times[-1]:
            return 1.0
        at = bisect_right(self.times, time)
        before, after = self.times[at - 1], self.times[at]
        low, high = self.places[at - 1], self.places[at]
        return low + (high - low) * (time - before) / (after - before)


def scale_of(spans: Iterable[tuple[int, int]], pause: int = PAUSE) -> Scale | None:
    """Scale over spans of (beginning, end) in milliseconds; None where they take no time at all."""
    busy = _joined(spans)
    if not busy or busy[-1][1] <= busy[0][0]:
        return None
    between = [(earlier[1], later[0]) for earlier, later in zip(busy, busy[1:], strict=False)]
    least = max(pause, SHARE * sum(end - begin for begin, end in busy))
    is_long = [(begin, end) for begin, end in between if end - begin >= least]
    worked = busy[-1][1] - busy[0][0] - sum(end - begin for begin, end in is_long)
    left = max(1.0, worked * min(LEFT, MOST_LEFT / max(1, len(is_long))))
    whole = max(1.0, worked) + left * len(is_long)
    times, places, pauses = [busy[0][0]], [0.0], []
    for begin, end in is_long:
        start = places[-1] + (begin - times[-1]) / whole
        pauses.append(Pause(begin, end, start, start + left / whole))
        times += [begin, end]
        places += [start, start + left / whole]
    times.append(busy[-1][1])
    places.append(1.0)
    return Scale(*_increasing(times, places), pauses)


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted((begin, max(begin, end)) for begin, end in spans):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _increasing(times: list[int], places: list[float]) -> tuple[list[int], list[float]]:
    """Without times that stand there twice, as at a pause that is the first or last of all."""
    kept = [at for at in range(len(times)) if at == 0 or times[at] > times[at - 1]]
    return [times[at] for at in kept], [places[at] for at in kept]
