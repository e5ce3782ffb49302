"""What does an import cost? ``python -m bench.import_speed [--sizes 1000,10000,50000] [--no-peers]``

The worker (a process that runs one import and indexes it, as the Celery worker's child does) against the floor
(orjson over the same file, and a bare COPY of the same rows), and against two tools that turn such files into pages.
CPU is that of the process itself: PostgreSQL's is left out on both sides.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

import orjson

from . import transcripts
from .measure import Cost, cost_of, table
from .places import CACHE, ROOT, installation, run

PEERS = {
    "claude-code-log": ("1.7.0", lambda tool, file, out: [tool, file, "-o", out / "session.html", "--no-cache"]),
    "claude-code-transcripts": ("0.6", lambda tool, file, out: [tool, "json", file, "-o", out]),
}
HEAD = ("lines", "what", "CPU s", "× floor", "peak MB", "wall s", "searchable after s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,50000")
    options.add_argument("--no-peers", action="store_true")
    chosen = options.parse_args()
    rows: list[tuple[str, ...]] = []
    for lines in map(int, chosen.sizes.split(",")):
        file, truth = transcripts.cached(lines)
        ours, floor = _ours_and_floor(file, truth)
        rows += [_row(lines, "countersign", ours, floor, f"{orjson.loads(ours.output.splitlines()[-1])['searchable']:.1f}"),
                 _row(lines, "floor: parse + COPY", floor, floor)]  # fmt: skip
        for name in () if chosen.no_peers else PEERS:
            peer = _peer(name, file)
            rows.append(_row(lines, f"{name} {PEERS[name][0]}", peer, floor) if peer else (str(lines), f"{name} (could not be installed)", *[""] * 5))
    print(table(HEAD, rows))


def _row(lines: int, what: str, cost: Cost, floor: Cost, searchable: str = "") -> tuple[str, ...]:
    if cost.status:
        what = f"{what} (ended with {cost.status})"
    return (f"{lines:,}", what, f"{cost.cpu:.2f}", f"{cost.cpu / floor.cpu:.1f}", f"{cost.peak_mb:.0f}", f"{cost.wall:.1f}", searchable)


def _ours_and_floor(file: Path, truth: dict[str, int]) -> tuple[Cost, Cost]:
    with installation() as environment:
        import_id = run(environment, "-m", "bench.worker", "start", str(file))
        ours = _checked(cost_of([sys.executable, "-m", "bench.worker", "run", import_id], environment, ROOT))
        found = orjson.loads(ours.output.splitlines()[-1])
        for name, expected in truth.items():
            assert found[name] == expected, f"{name}: {found[name]} imported, {expected} in the file"
        run(environment, "-m", "bench.floor", "rows")
        return ours, _checked(cost_of([sys.executable, "-m", "bench.floor", "load", file], environment, ROOT))


def _checked(cost: Cost) -> Cost:
    assert cost.status == 0, cost.output
    return cost


def _peer(name: str, file: Path) -> Cost | None:
    """Another tool on the same file; None when it cannot be had."""
    version, command = PEERS[name]
    home = CACHE / f"{name}-{version}"
    tool = home / "bin" / name
    if not tool.exists():
        venv.create(home, with_pip=True, clear=True)
        if subprocess.run([home / "bin" / "pip", "install", "-q", f"{name}=={version}"]).returncode:
            return None
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as out:
        environment = os.environ | {"HOME": out, "NO_COLOR": "1"}
        return cost_of(command(tool, file, Path(out)), environment, Path(out))


if __name__ == "__main__":
    main()
