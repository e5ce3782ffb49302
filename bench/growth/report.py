"""The table of figures, what misses its target, and how it stands to a former measurement. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..measure import table

Measured = Mapping[str, Any]
"""What ``measuring.measure`` found at one size."""
MOST_TIMES, MOST_MORE_MS = 1.3, 5.0
"""A figure at any size against that of the smallest."""
HEAD = ("route", "queries", "py CPU ms", "db CPU ms", "rows", "buffers", "kB")


def figures(sizes: Mapping[str, Measured]) -> str:
    """The table: a row for each route, in each cell the figures of all sizes, the smallest first."""
    rows = []
    for name in _names(sizes):
        of = [size["routes"].get(name) for size in sizes.values()]
        rows.append((
            name, _each(of, "queries", "{:d}"), _each(of, "python_ms", "{:.0f}"), _each(of, "database_ms", "{:.1f}"),
            _each(of, "rows", "{:,d}"), _each(of, "buffers", "{:,d}"), _each(of, "kb", "{:.0f}"),
        ))  # fmt: skip
    return table(HEAD, rows)


def _each(costs: list[Any], name: str, form: str) -> str:
    written = [form.format(cost[name]) if cost else "–" for cost in costs]
    return written[0] if len(set(written)) == 1 else " / ".join(written)


def _names(sizes: Mapping[str, Measured]) -> list[str]:
    return list(dict.fromkeys(name for size in sizes.values() for name in size["routes"]))


def about(sizes: Mapping[str, Measured]) -> str:
    """How much data there is at each size, a line each."""
    return "\n".join(
        f"{size}: {', '.join(f'{number:,} {what}' for what, number in found['data'].items())}"
        for size, found in sizes.items()
    )


def missed(sizes: Mapping[str, Measured]) -> Iterator[str]:
    """A line for each route that takes the database more than it may at the largest size, or grows more than it may."""
    names = list(sizes)
    smallest, largest = sizes[names[0]]["routes"], sizes[names[-1]]["routes"]
    for name, cost in largest.items():
        took, most = cost["database_ms"], cost["most_ms"]
        if most is not None and took > most:
            yield f"{name}: {took:.1f} ms at {names[-1]}, at most {most:g}"
        least = smallest.get(name)
        if len(names) > 1 and least and took > (limit := MOST_TIMES * least["database_ms"] + MOST_MORE_MS):
            before = f"{least['database_ms']:.1f} at {names[0]}"
            yield f"{name}: {took:.1f} ms at {names[-1]}, at most {limit:.1f} from {before}"


def compared(sizes: Mapping[str, Measured], former: Mapping[str, Measured]) -> str:
    """CPU of the database and rows read, before and now, at each size that both have."""
    rows = []
    both = [size for size in sizes if size in former]
    for name in _names(sizes):
        cells = [name]
        for size in both:
            was, now = former[size]["routes"].get(name), sizes[size]["routes"].get(name)
            cells += [
                f"{was['database_ms']:.1f} → {now['database_ms']:.1f}" if was and now else "–",
                f"{was['rows']:,} → {now['rows']:,}" if was and now else "–",
            ]
        rows.append(cells)
    return table(["route", *(f"{what} at {size}" for size in both for what in ("db CPU ms", "rows"))], rows)
