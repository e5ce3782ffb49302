"""A row of the seeds: its number, its claim, and what is looked at on a running desk."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .desk import SeedDesk

Checks = Iterator[tuple[str, object]]
"""What is looked at, in words, and whether it is there."""


@dataclass(frozen=True)
class Row:
    number: str
    claim: str
    checks: Callable[[SeedDesk], Checks]

    @property
    def seed(self) -> str:
        return f"00{self.number[0]}"


@dataclass(frozen=True)
class Verdict:
    """``works``, ``partly`` or ``not``, and what was not seen."""

    row: Row
    state: str
    missed: str


ROWS: list[Row] = []


def row(number: str, claim: str) -> Callable[[Callable[[SeedDesk], Checks]], Callable[[SeedDesk], Checks]]:
    """Adds a function to the rows that are tried."""

    def added(checks: Callable[[SeedDesk], Checks]) -> Callable[[SeedDesk], Checks]:
        ROWS.append(Row(number, claim, checks))
        return checks

    return added


def tried(one: Row, desk: SeedDesk) -> Verdict:
    """All seen: works; some: partly; none, or a fault on the way: not."""
    seen, missed = 0, []
    try:
        for what, there in one.checks(desk):
            seen, missed = (seen + 1, missed) if there else (seen, [*missed, what])
    except Exception as fault:  # a row that breaks is a verdict, and the others are tried all the same
        at = traceback.extract_tb(fault.__traceback__)[-1]
        missed.append(f"{type(fault).__name__}: {str(fault)[:200]} ({at.name}:{at.lineno})")
    return Verdict(one, "works" if not missed else "partly" if seen else "not", "; ".join(missed))
