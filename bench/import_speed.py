"""What does an import cost? ``python -m bench.import_speed [--sizes 1000,10000,50000] [--no-peers] [--entries 10000]``

The worker (a process that runs one import and indexes it, as the Celery worker's child does) against the floor
(orjson over the same file, and a bare COPY of the same rows), and against two tools that turn such files into pages.
CPU is that of the process alone: PostgreSQL's is left out on both sides. A worker has started long before an import
comes, so its start stands in a column of its own; the other tools start each time.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import orjson

from . import transcripts
from .formats import vcons
from .measure import Cost, cost_of, table
from .places import CACHE, ROOT, installation, run

PEERS = {
    "claude-code-log": ("1.7.0", lambda tool, file, out: [tool, file, "-o", out / "session.html", "--no-cache"]),
    "claude-code-transcripts": ("0.6", lambda tool, file, out: [tool, "json", file, "-o", out]),
}
HEAD = ("lines", "what", "CPU s", "start CPU s", "× floor", "peak MB", "wall s", "searchable after s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,50000")
    options.add_argument("--no-peers", action="store_true")
    options.add_argument("--entries", type=int, default=10_000, help="of the session in a vCon; 0 for none")
    chosen = options.parse_args()
    rows: list[tuple[str, ...]] = []
    for lines in map(int, filter(None, chosen.sizes.split(","))):
        print(f"{lines:,} lines", file=sys.stderr)
        file, truth = transcripts.cached(lines)
        ours, said, floor = _ours_and_floor(file, truth)
        least = floor["parse"] + floor["rows"]
        rows += [
            _row(
                lines, "countersign", said["cpu"], least, ours, f"{said['start_up']:.2f}", f"{said['searchable']:.1f}"
            ),
            _row(lines, "floor: parse + COPY of rows", least, least),
            _row(lines, "floor, rows as finished bytes", floor["parse"] + floor["finished"], least),
        ]
        for name in () if chosen.no_peers else PEERS:
            rows.append(_peer_row(lines, name, file, least))
    if chosen.entries:
        rows.append(_vcon_row(chosen.entries))
    print(table(HEAD, rows))


def _vcon_row(entries: int) -> tuple[str, ...]:
    """An agent session in a vCon; at most 2 CPU seconds for 10,000 entries."""
    print(f"a vCon of {entries:,} entries", file=sys.stderr)
    with installation() as environment:
        ours, said = _ours(environment, *vcons.cached(entries))
    told = (f"{said['cpu']:.2f}", f"{said['start_up']:.2f}", "", f"{ours.peak_mb:.0f}", f"{ours.wall:.1f}")
    return (f"{entries:,}", "countersign, entries of a vCon", *told, f"{said['searchable']:.1f}")


def _row(lines: int, what: str, cpu: float, least: float, cost: Cost | None = None, *more: str) -> tuple[str, ...]:
    start, searchable = more or ("", "")
    memory = (f"{cost.peak_mb:.0f}", f"{cost.wall:.1f}") if cost else ("", "")
    return (f"{lines:,}", what, f"{cpu:.2f}", start, f"{cpu / least:.1f}", *memory, searchable)


def _peer_row(lines: int, name: str, file: Path, least: float) -> tuple[str, ...]:
    cost, what = peer(name, file), f"{name} {PEERS[name][0]}"
    if cost is None:
        return (f"{lines:,}", f"{what} (could not be installed)", *[""] * 6)
    return _row(lines, f"{what} (ended with {cost.status})" if cost.status else what, cost.cpu, least, cost)


def _ours_and_floor(file: Path, truth: dict[str, int]) -> tuple[Cost, dict[str, Any], dict[str, float]]:
    """What the worker cost, what it says of itself, and the CPU seconds of the floor's parts."""
    with installation() as environment:
        ours, said = _ours(environment, file, truth)
        run(environment, "-m", "bench.floor", "rows")
        return ours, said, orjson.loads(run(environment, "-m", "bench.floor", "load", str(file)))


def _ours(environment: dict[str, str], file: Path, truth: dict[str, int]) -> tuple[Cost, dict[str, Any]]:
    """What the worker cost and what it says of itself, on an installation."""
    import_id = run(environment, "-m", "bench.worker", "start", str(file))
    ours = cost_of([sys.executable, "-m", "bench.worker", "run", import_id], environment, ROOT)
    assert ours.status == 0, ours.output
    said = orjson.loads(ours.output.splitlines()[-1])
    assert said["counts"] == truth, f"imported {said['counts']}, in the file are {truth}"
    return ours, said


def peer(name: str, file: Path) -> Cost | None:
    """Another tool on the same file; None when it cannot be had."""
    version, command = PEERS[name]
    home = CACHE / f"{name}-{version}"
    tool = home / "bin" / name
    if not tool.exists():
        venv.create(home, with_pip=True, clear=True)
        if subprocess.run([home / "bin" / "pip", "install", "-qq", f"{name}=={version}"]).returncode:
            return None
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as out:
        environment = os.environ | {"HOME": out, "NO_COLOR": "1"}
        return cost_of(command(tool, file, Path(out)), environment, Path(out))


if __name__ == "__main__":
    main()
