"""Runs of an agent and what they led to, as a picture: definition versions, runs, decisions, evidence, left to right.

Places only; the template draws them. Beside it stands a list that says the same in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ROW, WIDTH, GAP = 30, 210, 60
"""Height of a line, width of a box and room between columns, in units of the picture."""
BOX = 22
"""Height of a box."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Something to draw: its column (0: versions) counts from the left."""

    column: int
    y: float
    text: str
    url: str
    look: str
    """Class of the box."""

    @property
    def x(self) -> int:
        return self.column * (WIDTH + GAP)

    @property
    def middle(self) -> float:
        return self.y + BOX / 2

    @property
    def text_y(self) -> float:
        return self.y + BOX - 7


@dataclass(slots=True)
class Branch:
    """A thing with what it led to."""

    text: str
    url: str
    look: str
    branches: Sequence[Branch] = ()


@dataclass(slots=True)
class Picture:
    """Boxes, and the lines between them as the ``d`` of a path."""

    spots: list[Spot] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    width: int = 4 * WIDTH + 3 * GAP
    height: float = 0


def drawn(roots: Sequence[Branch]) -> Picture:
    """The picture of a forest: each leaf has a line of its own, and what led to it stands in their middle."""
    picture = Picture()
    for root in roots:
        _place(root, 0, picture)
    return picture


def _place(branch: Branch, column: int, picture: Picture) -> Spot:
    if branch.branches:
        below = [_place(one, column + 1, picture) for one in branch.branches]
        y = (below[0].y + below[-1].y) / 2
    else:
        below, y = [], picture.height
        picture.height += ROW
    spot = Spot(column, y, branch.text, branch.url, branch.look)
    picture.spots.append(spot)
    picture.lines += [_line(spot, one) for one in below]
    return spot


def _line(start: Spot, end: Spot) -> str:
    right, bend = start.x + WIDTH, GAP / 2
    return f"M{right} {start.middle}C{right + bend} {start.middle} {end.x - bend} {end.middle} {end.x} {end.middle}"
