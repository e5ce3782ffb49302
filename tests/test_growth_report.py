"""The table of ``bench.growth``, and what it calls a miss."""

from __future__ import annotations

from typing import Any

from bench.growth import report


def measured(**database_ms: float) -> dict[str, Any]:
    """Figures of routes that may take 20 ms."""
    cost = {"queries": 3, "python_ms": 9.6, "rows": 1_234, "buffers": 50, "kb": 7.2, "most_ms": 20}
    return {
        "data": {"sessions": 1_000},
        "routes": {name: cost | {"database_ms": ms} for name, ms in database_ms.items()},
    }


def test_a_route_is_missed_where_it_takes_too_long_or_grows_too_much() -> None:
    sizes = {"1 %": measured(home=4, list=4, agents=15), "100 %": measured(home=10, list=11, agents=21)}
    assert list(report.missed(sizes)) == [
        "list: 11.0 ms at 100 %, at most 10.2 from 4.0 at 1 %",
        "agents: 21.0 ms at 100 %, at most 20",
    ]


def test_a_route_without_a_limit_is_missed_only_where_it_grows() -> None:
    small, large = measured(page=30), measured(page=44)
    for size in (small, large):
        size["routes"]["page"]["most_ms"] = None
    assert list(report.missed({"1 %": small, "100 %": large})) == []
    large["routes"]["page"]["database_ms"] = 45.0
    assert list(report.missed({"1 %": small, "100 %": large})) == [
        "page: 45.0 ms at 100 %, at most 44.0 from 30.0 at 1 %"
    ]


def test_a_row_of_the_table_has_the_figures_of_all_sizes_and_says_where_one_is_not_there() -> None:
    written = report.figures({"1 %": measured(home=4), "100 %": measured(home=10, list=5)})
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in written.splitlines()]
    assert cells[0] == list(report.HEAD)
    assert cells[2:] == [
        ["home", "3", "10", "4.0 / 10.0", "1,234", "50", "7"],
        ["list", "– / 3", "– / 10", "– / 5.0", "– / 1,234", "– / 50", "– / 7"],
    ]


def test_former_figures_stand_beside_those_of_now_at_each_size_that_both_have() -> None:
    former, now = {"1 %": measured(home=4)}, {"1 %": measured(home=2, list=3), "10 %": measured(home=2)}
    lines = report.compared(now, former).splitlines()
    assert [cell.strip() for cell in lines[2].split("|")[1:-1]] == ["home", "4.0 → 2.0", "1,234 → 1,234"]
    assert "list" in lines[3] and "10 %" not in lines[0]
