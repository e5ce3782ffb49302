"""Does a page cost more when the history is long? ``python -m bench.growth [--sizes 1,10,100] [--data FOLDER]``

Sizes are percents of 100,000 sessions, 10,000,000 events, 1,000 approvals that wait and 100,000 past ones, 100,000
audit rows. Each is an installation of its own, made below the folder where it is not there yet, and brought up to date
where it is; without ``--data`` in a temporary one that goes away. 100 % take about 20 minutes to make, and 25 GB.

Prints the table, what misses its target, and with ``--compare`` the way from former figures (``--json`` keeps them).
Exit status 1 when a target is missed.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from config.database import postgres

from ..places import ROOT, kept_installation, run
from . import report

LOADING = {
    "fsync": "off", "full_page_writes": "off", "synchronous_commit": "off", "autovacuum": "off",
    "shared_buffers": "512MB", "max_wal_size": "4GB",
}  # fmt: skip
"""Of PostgreSQL while an installation is filled: one that is cut off is made again. Measured is as shipped."""
WHOLE = 100_000
ANALYZE = (
    "import django; django.setup(); from bench.places import analyze;"
    " from sessions_app import tasks; tasks.keep_totals(); analyze()"
)
"""What the scheduler and autovacuum do within seconds and a minute."""
DONE = "filled"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sizes", default="1,10,100", help="percents")
    options.add_argument("--data", type=Path, help="where installations are kept")
    options.add_argument("--runs", type=int, default=3, help="of each route, after the one that warms")
    options.add_argument("--only", default="", help="of routes whose name has this regular expression")
    options.add_argument("--only-make", action="store_true", help="do not measure")
    options.add_argument("--json", type=Path, help="write the figures here")
    options.add_argument("--compare", type=Path, help="figures that were written before")
    chosen = options.parse_args()
    found: dict[str, Any] = {}
    with _folder(chosen.data) as folder:
        for size in sorted(chosen.sizes.split(","), key=float):
            data_dir = folder / size
            fill(data_dir, round(WHOLE * float(size) / 100))
            if not chosen.only_make:
                with kept_installation(data_dir) as environment:
                    run(environment, "-c", ANALYZE)  # of tables that a migration has just made, too
                    said = run(environment, "-m", "bench.growth.measuring", str(chosen.runs), chosen.only)
                found[f"{size} %"] = json.loads(said.splitlines()[-1])
    return _told(found, chosen) if found else 0


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    folder = kept or Path(tempfile.mkdtemp(prefix="countersign-growth-"))
    try:
        yield folder
    finally:
        if kept is None:
            shutil.rmtree(folder, ignore_errors=True)


def fill(data_dir: Path, sessions: int) -> None:
    """Make the installation of so many sessions, unless it is whole already."""
    if (data_dir / DONE).exists():
        return
    shutil.rmtree(data_dir, ignore_errors=True)
    shipped = dict(postgres.TUNING)
    postgres.TUNING |= LOADING
    try:
        with kept_installation(data_dir) as environment:
            command = [sys.executable, "-m", "bench.growth.make", str(sessions)]
            subprocess.run(command, cwd=ROOT, env=environment | {"COUNTERSIGN_UNDO_SECONDS": "0"}, check=True)
    finally:
        postgres.TUNING.clear()
        postgres.TUNING.update(shipped)
    (data_dir / DONE).touch()


def _told(found: dict[str, Any], chosen: argparse.Namespace) -> int:
    """Print and keep what was measured; the exit status."""
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))
    print(f"{report.about(found)}\n\n{report.figures(found)}")
    if chosen.compare:
        print(f"\nSince {chosen.compare}:\n{report.compared(found, json.loads(chosen.compare.read_text()))}")
    faults = list(report.missed(found))
    print("\n" + ("\n".join(["Missed:", *faults]) if faults else "No target is missed."))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
