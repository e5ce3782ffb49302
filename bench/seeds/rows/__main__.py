"""Rows of the seeds tried again on a running desk: ``python -m bench.seeds.rows [--only 0.5,3.] [--why]``

Starts a desk of its own, gives it files and messages, and looks at its API, its pages and what it writes. One line a
row: works, partly, or not with what was not seen; then counts by seed. The rows that a file alone can tell come first,
without a desk. The exit status is 1 when a row does not work.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from bench.drills.desk import folder

from .. import file_rows
from ..desk import SeedDesk
from ..row import ROWS, tried


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--only", default="", help="rows whose number is one of these, or begins so (3. for a seed)")
    options.add_argument("--bad", action="store_true", help="only the lines of rows that do not work")
    chosen = options.parse_args()
    wanted = [word for word in chosen.only.split(",") if word]
    rows = [one for one in ROWS if not wanted or any(_is(one.number, word) for word in wanted)]
    counts: Counter[tuple[str, str]] = Counter()
    bad = 0 if wanted else file_rows.main()
    with folder() as path:
        desk = SeedDesk(path)
        try:
            for one in sorted(rows, key=lambda one: [int(part) for part in one.number.split(".")]):
                verdict = tried(one, desk)
                counts[one.seed, verdict.state] += 1
                if verdict.state != "works" or not chosen.bad:
                    missed = f": {verdict.missed}" if verdict.missed else ""
                    print(f"{verdict.state:7}{one.number:6}{one.claim}{missed}", flush=True)
        finally:
            desk.stop()
    for seed in sorted({seed for seed, _ in counts}):
        print(f"{seed}: " + ", ".join(f"{counts[seed, state]} {state}" for state in ("works", "partly", "not")))
    return int(bool(bad or sum(count for (_, state), count in counts.items() if state != "works")))


def _is(number: str, word: str) -> bool:
    return number.startswith(word) if word.endswith(".") else number == word


if __name__ == "__main__":
    sys.exit(main())
