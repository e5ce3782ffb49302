"""How long does it take to start, and what does it weigh? ``python -m bench.start [--runs 3] [--idle 30]``

From the command to the ready line, on an empty data directory and on the same one again; then the memory (PSS, so that
shared pages count once) of every process of it after half a minute of rest, and how long it takes to stop.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median

import psutil

from .measure import pss_mb, table
from .places import ROOT

COMMAND = ("script/server", "--port", "0", "--data-dir")


class Desk:
    """A running installation."""

    def __init__(self, data_dir: Path) -> None:
        began = time.monotonic()
        self.process = subprocess.Popen(
            [*COMMAND, str(data_dir)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        line = next((line for line in self.process.stdout if line.startswith("ready ")), None)
        assert line, "it ended without a ready line"
        self.ready_after = time.monotonic() - began
        self.link = line.split()[-1]
        """Signs in once."""

    def stop(self) -> float:
        """Seconds from SIGINT until every process is gone."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        _, left = psutil.wait_procs(family, timeout=10)
        assert not left, f"left behind: {left}"
        return time.monotonic() - began


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--idle", type=float, default=30)
    chosen = options.parse_args()
    empty, existing, stops, weights, parts = [], [], [], [], {}
    for _ in range(chosen.runs):
        data_dir = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
        first = Desk(data_dir)
        empty.append(first.ready_after)
        stops.append(first.stop())
        second = Desk(data_dir)
        existing.append(second.ready_after)
        time.sleep(chosen.idle)
        weights.append(pss_mb(second.process.pid))
        parts = weight_of_parts(second.process.pid)
        stops.append(second.stop())
        shutil.rmtree(data_dir, ignore_errors=True)
    rows = [
        ("ready, empty data directory", "8 s", *summary(empty, "s")),
        ("ready, existing data directory", "4 s", *summary(existing, "s")),
        ("stopped after SIGINT", "10 s", *summary(stops, "s")),
        (f"memory after {chosen.idle:g} s of rest (PSS)", "320 MB", *summary(weights, "MB")),
        *((f"  of it: {name}", "", f"{weight:.0f} MB", "") for name, weight in parts.items()),
    ]
    print(table(("what", "at most", "median", "all"), rows))


def summary(values: list[float], unit: str) -> tuple[str, str]:
    """Median and all values; seconds with two digits."""
    shown = [f"{value:.2f}" if unit == "s" else f"{value:.0f}" for value in values]
    return (f"{median(values):.2f} {unit}" if unit == "s" else f"{median(values):.0f} {unit}"), " ".join(shown)


def weight_of_parts(pid: int) -> dict[str, float]:
    """PSS in MB by what the processes are: they were forked, so their names tell and not their command lines."""
    parts: dict[str, float] = {"supervisor": psutil.Process(pid).memory_full_info().pss / 1e6}
    for member in psutil.Process(pid).children(recursive=True):
        name = member.name().removeprefix("desk-")
        parts[name] = parts.get(name, 0) + member.memory_full_info().pss / 1e6
    return dict(sorted(parts.items(), key=lambda part: -part[1]))


if __name__ == "__main__":
    main()
