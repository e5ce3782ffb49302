"""Lines in common are found with bounded work."""

from __future__ import annotations

import random

import pytest

from sessions_app.changes import lines
from sessions_app.changes.lines import count_changed, matches


def test_lines_in_common_rise_in_both():
    found = matches(list("abcxde"), list("acbydef"))
    assert "".join("abcxde"[i] for i, _ in found) in ("abde", "acde")
    assert found == sorted(found, key=lambda pair: pair[1])


@pytest.mark.parametrize("seed", range(30))
def test_what_is_found_is_in_both_and_rises(seed: int):
    dice = random.Random(seed)
    old, new = ([dice.choice("abcdefg\n ") for _ in range(dice.randrange(40))] for _ in range(2))
    found = matches(old, new)
    assert all(old[i] == new[j] for i, j in found)
    assert all(a < c and b < d for (a, b), (c, d) in zip(found, found[1:], strict=False))


def test_edges_of_nothing():
    assert matches([], ["a"]) == matches(["a"], []) == []
    assert count_changed(["a", "b"], ["a", "c", "d"]) == (2, 1)


def test_beyond_its_limit_a_gap_is_taken_out_and_put_in(monkeypatch):
    """Lines that stand there many times, and no two alike beside each other: where comparing costs the square."""
    dice = random.Random(1)
    old, new = ([str(dice.randrange(50)) for _ in range(1_000)] for _ in range(2))
    compared = 0

    def counting(self, a, b, c, d):
        nonlocal compared
        before = self.cells
        yield from plain(self, a, b, c, d)
        compared += before - self.cells

    plain = lines._Matching._compared
    monkeypatch.setattr(lines._Matching, "_compared", counting)
    matches(old, new)
    assert compared <= lines.CELLS
