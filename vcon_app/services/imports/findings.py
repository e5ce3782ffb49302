"""Findings in a file, in the shape of the column of an import: at most 50 of each rule, the others counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sessions_app.services.log.sanitise import storable
from vcon_app.drafts import Finding

KEPT_PER_RULE = 50

Row = dict[str, str]


class Findings:
    """Findings in the order they were made; ``place`` stands before the path of each."""

    def __init__(self, place: str = "") -> None:
        self._place = place
        self._rows: list[Row] = []
        self._kept: Counter[str] = Counter()
        self._more: Counter[tuple[str, str]] = Counter()

    def note(self, finding: Finding) -> None:
        path = f"{self._place}{finding.path}" if finding.path else self._place.rstrip(": ")
        self._keep({"rule": finding.rule, "severity": finding.severity, "path": path, "message": finding.message})

    def add(self, other: Findings, more: Iterable[Row] = ()) -> None:
        """Take over those of a part of the file, and rows that were made elsewhere."""
        for row in (*other._rows, *more):
            self._keep(row)
        self._more += other._more

    def rows(self) -> list[Row]:
        """All that were kept, then how many more there are of which rule."""
        counted = [
            {"rule": rule, "severity": severity, "path": "", "message": f"{count:,} more like this"}
            for (rule, severity), count in self._more.items()
        ]
        return storable(self._rows) + counted

    def _keep(self, row: Row) -> None:
        if self._kept[row["rule"]] < KEPT_PER_RULE:
            self._kept[row["rule"]] += 1
            self._rows.append(row)
        else:
            self._more[row["rule"], row["severity"]] += 1
