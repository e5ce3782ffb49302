"""What was changed within the lines of a diff: pairs of a line that went and one that came, compared word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import groupby

from .diff import Row

Ranges = list[tuple[int, int]]
"""Where in a line, from and to, something is new or gone."""
LONGEST = 400
"""Characters of a line that is compared: of longer ones nothing is marked."""
PAIRS, WORDS = 60, 40
"""Pairs of lines in a diff, and words of a line between its same beginning and end, that are compared."""
SAME = 0.4
"""Share of a pair that must be the same: two lines with nothing in common are not one line that was changed."""
_WORD = re.compile(r"\w+|\s+|.")


def changed_words(rows: Sequence[Row]) -> dict[int, Ranges]:
    """By the index of a row, the places that were changed in it. A run of lines is paired with the one put for it."""
    found: dict[int, Ranges] = {}
    runs = [(mark, [at for at, _ in run]) for mark, run in groupby(enumerate(rows), key=lambda pair: pair[1].mark)]
    pairs = 0
    for (mark, gone), (next_mark, came) in zip(runs, runs[1:], strict=False):
        if (mark, next_mark) != ("-", "+") or len(gone) != len(came):
            continue
        for old, new in zip(gone, came, strict=True):
            pairs += 1
            if pairs > PAIRS:
                return found
            found[old], found[new] = compared(rows[old].text, rows[new].text)
    return found


def compared(old: str, new: str) -> tuple[Ranges, Ranges]:
    """What is gone of one line and what is new in the other; nothing where too little is the same."""
    if max(len(old), len(new)) > LONGEST:
        return [], []
    before, after = _WORD.findall(old), _WORD.findall(new)
    start = _same(before, after)
    end = _same(before[start:][::-1], after[start:][::-1])
    middle = before[start : len(before) - end], after[start : len(after) - end]
    changed = [(0, len(middle[0]), 0, len(middle[1]))]
    if max(map(len, middle)) <= WORDS:
        codes = SequenceMatcher(None, *middle, autojunk=False).get_opcodes()
        changed = [(a, b, c, d) for what, a, b, c, d in codes if what != "equal"]
    gone = _places(before, [(start + a, start + b) for a, b, _, _ in changed])
    came = _places(after, [(start + c, start + d) for _, _, c, d in changed])
    kept = len(old.strip()) - sum(b - a for a, b in gone)
    return (gone, came) if kept >= SAME * max(len(old.strip()), 1) else ([], [])


def _same(before: Sequence[str], after: Sequence[str]) -> int:
    """How many words two lines begin with together."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if one != other:
            break
        count += 1
    return count


def _places(words: list[str], runs: list[tuple[int, int]]) -> Ranges:
    """Runs of words as places in their line; empty ones left out."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return [(ends[first], ends[last]) for first, last in runs if first < last]
