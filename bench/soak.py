"""Does anything grow that should not? ``python -m bench.soak [--minutes 30] [--hooks 2] [--rate 0.5]``

Runs an installation under a steady load (about half of what two cores can do, by default), samples every process and
the database every ten seconds, and fits a line through the samples after a third of the time. Exit status 1 when
memory, file descriptors, threads, connections or a queue's table grow faster than is allowed for an hour. What a desk
keeps (events, documents) grows, of course, and is not looked at.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass

import psutil

from config.broker import QUEUES

from .drills.desk import Desk, folder
from .drills.load import Load
from .drills.state import check
from .measure import table

SAMPLE_SECONDS = 10.0
ALLOWED = {"MB": 12.0, "descriptors": 6.0, "threads": 4.0, "connections": 4.0, "rows": 60.0, "kB": 4_000.0}
"""Growth in an hour, by unit. A page cache fills, a pool opens one more: a leak is more than that."""
PATIENCE = 120.0


@dataclass
class Series:
    """Samples of one number: when (seconds) and how much."""

    unit: str
    times: list[float]
    values: list[float]

    def hourly(self, since: float) -> float:
        """Slope of the line through the samples after ``since``, in an hour."""
        points = [(at, value) for at, value in zip(self.times, self.values, strict=True) if at >= since]
        if len(points) < 3:
            return 0.0
        mean_at = sum(at for at, _ in points) / len(points)
        mean = sum(value for _, value in points) / len(points)
        over = sum((at - mean_at) ** 2 for at, _ in points)
        return 3600 * sum((at - mean_at) * (value - mean) for at, value in points) / over

    def rise(self, since: float) -> float:
        """Difference between the medians of the last and the first third of the samples after ``since``."""
        values = [value for at, value in zip(self.times, self.values, strict=True) if at >= since]
        third = max(len(values) // 3, 1)
        return sorted(values[-third:])[third // 2] - sorted(values[:third])[third // 2] if values else 0.0


class Samples:
    """All series, by what they are of."""

    def __init__(self) -> None:
        self.series: dict[str, Series] = {}
        self.began = time.monotonic()

    def add(self, name: str, unit: str, value: float) -> None:
        series = self.series.setdefault(f"{name} {unit}", Series(unit, [], []))
        series.times.append(time.monotonic() - self.began)
        series.values.append(value)


def sample(desk: Desk, samples: Samples) -> None:
    """Look at every process and every queue once."""
    for process in desk.family():
        try:
            name = "supervisor" if process.pid == desk.process.pid else process.name()
            if name == "postgres":
                continue  # a backend lives as long as its client's connection: their number is looked at
            samples.add(f"{name} {process.pid}", "MB", process.memory_full_info().pss / 1e6)
            samples.add(f"{name} {process.pid}", "descriptors", process.num_fds())
            samples.add(f"{name} {process.pid}", "threads", process.num_threads())
        except psutil.NoSuchProcess:
            continue
    [(connections,)] = desk.ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
    samples.add("database", "connections", connections)
    for queue in QUEUES:
        [(rows,)] = desk.ask(f"SELECT count(*) FROM pgmq.q_{queue}")
        [(size,)] = desk.ask(f"SELECT pg_total_relation_size('pgmq.q_{queue}') / 1000.0")
        samples.add(queue, "rows", rows)
        samples.add(queue, "kB", float(size))
    for name in ("sessions_app_turninflight", "sessions_app_requeue", "config_partheartbeat"):
        [(size,)] = desk.ask(f"SELECT pg_total_relation_size('{name}') / 1000.0")
        samples.add(name, "kB", float(size))


def grown(samples: Samples, minutes: float) -> tuple[list[tuple[str, ...]], list[str]]:
    """Rows of the table, and the series that grow: their slope is over what is allowed, and the rise can be seen."""
    since = minutes * 60 / 3
    rows, bad = [], []
    for name, series in sorted(samples.series.items()):
        hourly, rise, allowed = series.hourly(since), series.rise(since), ALLOWED[series.unit]
        is_bad = len(series.values) > 8 and hourly > allowed and rise > allowed * minutes * 60 * 2 / 3 / 3600 / 2
        rows.append((name, f"{series.values[0]:.0f}", f"{series.values[-1]:.0f}", f"{hourly:+.1f}", "GROWS" * is_bad))
        bad += [name] * is_bad
    return rows, bad


def busy_share(desk: Desk, before: dict[int, float], seconds: float) -> float:
    """Share of all cores that the installation took."""
    after = _cpu_seconds(desk)
    used = sum(value - before.get(pid, 0.0) for pid, value in after.items())
    return used / seconds / (psutil.cpu_count() or 1)


def _cpu_seconds(desk: Desk) -> dict[int, float]:
    found: dict[int, float] = defaultdict(float)
    for process in desk.family():
        try:
            times = process.cpu_times()
            found[process.pid] = times.user + times.system
        except psutil.NoSuchProcess:
            continue
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--hooks", type=float, default=2, help="webhooks a second")
    options.add_argument(
        "--rate", type=float, default=1, help="of turns, appends, imports, approvals: 1 is the drills'"
    )
    chosen = options.parse_args()
    samples = Samples()
    with folder() as data_dir:
        desk = Desk(data_dir)
        try:
            load = Load(desk, hooks_per_second=chosen.hooks, other_rate=chosen.rate)
            with load:
                before, began = _cpu_seconds(desk), time.monotonic()
                while time.monotonic() - began < chosen.minutes * 60:
                    sample(desk, samples)
                    time.sleep(SAMPLE_SECONDS)
                share = busy_share(desk, before, time.monotonic() - began)
            state = check(desk, load, PATIENCE)
        finally:
            desk.stop()
    rows, bad = grown(samples, chosen.minutes)
    print(table(("what", "first", "last", "in an hour", ""), rows))
    refused = f"refused {load.refusals}, {len(load.faults)} faults of the load"
    print(f"{chosen.minutes:.0f} min at {share:.0%} of the processors; {refused}")
    for word, found in (("lost", state.lost), ("doubled", state.doubled), ("stuck", state.stuck), ("grows", bad)):
        print(f"{word}: {len(found)} {found[:5] or ''}")
    return 1 if state.lost or state.doubled or state.stuck or bad else 0


if __name__ == "__main__":
    sys.exit(main())
