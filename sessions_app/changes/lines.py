"""Lines that two texts have in common, found with bounded work.

By patience: lines that stand once in both are anchors, and only the small gaps between them are compared line by line.
``difflib`` takes 20 s for 2,000 lines of which each stands there twenty times.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

GAP = 40_000
"""Pairs of lines that are compared within one gap: 200 by 200."""
CELLS = 400_000
"""Pairs that are compared in all, a tenth of a second; beyond it a gap is shown as taken out and put in."""
DEPTH = 60


def split(text: str) -> list[str]:
    """Lines of a text, at ``\\n`` alone: ``splitlines`` breaks at U+2028, too. A line break at the end opens none."""
    return text.removesuffix("\n").split("\n") if text else []


def count_changed(old: Sequence[str], new: Sequence[str]) -> tuple[int, int]:
    """How many lines were added and removed."""
    same = len(matches(old, new))
    return len(new) - same, len(old) - same


def matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of indices of lines that both have, rising in both."""
    return sorted(_Matching(old, new).pairs())


@dataclass(slots=True)
class _Matching:
    old: Sequence[str]
    new: Sequence[str]
    cells: int = CELLS

    def pairs(self) -> Iterator[tuple[int, int]]:
        waiting = [(0, len(self.old), 0, len(self.new), 0)]
        while waiting:
            a, b, c, d, depth = waiting.pop()
            while a < b and c < d and self.old[a] == self.new[c]:
                yield a, c
                a, c = a + 1, c + 1
            while a < b and c < d and self.old[b - 1] == self.new[d - 1]:
                b, d = b - 1, d - 1
                yield b, d
            if a == b or c == d:
                continue
            anchors = self._anchors(a, b, c, d) if depth < DEPTH else []
            if not anchors:
                yield from self._compared(a, b, c, d)
                continue
            for i, j in anchors:
                yield i, j
                waiting.append((a, i, c, j, depth + 1))
                a, c = i + 1, j + 1
            waiting.append((a, b, c, d, depth + 1))

    def _anchors(self, a: int, b: int, c: int, d: int) -> list[tuple[int, int]]:
        """The longest run, rising in both, of lines that stand once in each."""
        once = _once(self.old, a, b)
        there = _once(self.new, c, d)
        pairs = [(i, there[text]) for text, i in once.items() if text in there]
        return _rising(sorted(pairs))

    def _compared(self, a: int, b: int, c: int, d: int) -> Iterator[tuple[int, int]]:
        """A longest common subsequence, where the gap is small and there is work left."""
        size = (b - a) * (d - c)
        if size > min(GAP, self.cells):
            return
        self.cells -= size
        lengths = [[0] * (d - c + 1)]
        for i in range(b - 1, a - 1, -1):
            below, row = lengths[-1], [0] * (d - c + 1)
            for j in range(d - c - 1, -1, -1):
                row[j] = below[j + 1] + 1 if self.old[i] == self.new[c + j] else max(below[j], row[j + 1])
            lengths.append(row)
        lengths.reverse()
        i = j = 0
        while i < b - a and j < d - c:
            if self.old[a + i] == self.new[c + j]:
                yield a + i, c + j
                i, j = i + 1, j + 1
            elif lengths[i + 1][j] >= lengths[i][j + 1]:
                i += 1
            else:
                j += 1


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    found: dict[str, int] = {}
    again: set[str] = set()
    for index in range(start, end):
        text = lines[index]
        if text in found:
            again.add(text)
        found[text] = index
    return {text: index for text, index in found.items() if text not in again and text.strip()}


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """A longest part of the pairs whose second numbers rise (patience sorting)."""
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        at = bisect_left(tops, j)
        before.append(ends[at - 1] if at else -1)
        if at == len(tops):
            tops.append(j)
            ends.append(index)
        else:
            tops[at], ends[at] = j, index
    found = []
    index = ends[-1] if ends else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
