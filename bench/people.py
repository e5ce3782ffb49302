"""Do machines keep people waiting? ``python -m bench.people [--minutes 10] [--hooks 20]``

Turns of people and expiries of approvals, one of each every two seconds: first while nothing else happens, then while
so many webhooks a second begin turns, and files are imported. Exit status 1 when a person's turn was not done within
``MOST_SECONDS``, or something was lost, doubled or stuck at the end.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable
from statistics import median, quantiles

from .drills.desk import Desk, folder
from .drills.load import Load
from .drills.state import check
from .measure import table

MOST_SECONDS = 15.0
"""Of a turn that takes 0.3 s alone, at the 95th percentile, on two cores that 20 webhooks a second keep busy."""
QUIET_SECONDS = 30.0
PATIENCE = 600.0


def measure(load: Load, seconds: float) -> dict[str, list[float]]:
    """Seconds that turns took, and that approvals expired too late, for so long."""
    found: dict[str, list[float]] = {"turn": [], "expiry": []}
    call = load.desk.call
    threads: list[threading.Thread] = []

    def is_idle(session: str) -> bool:
        return bool(call(f"/api/v1/sessions/{session}")["status"] == "idle")

    def add(kind: str, begin: Callable[[], str], done: Callable[[str], bool], less: float) -> None:
        found[kind].append(load.seconds_until_done(begin, done, PATIENCE, less) - less)

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for probe in (("turn", load.start_turn, is_idle, 0.0), ("expiry", load.ask, load.has_expired, 5.0)):
            threads.append(threading.Thread(target=add, args=probe))
            threads[-1].start()
        time.sleep(2.0)
    for thread in threads:
        thread.join()
    return found


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--minutes", type=float, default=10)
    options.add_argument("--hooks", type=float, default=20, help="webhooks a second")
    chosen = options.parse_args()
    with folder() as data_dir:
        desk = Desk(data_dir)
        try:
            quiet = measure(Load(desk), QUIET_SECONDS)
            load = Load(desk, hooks_per_second=chosen.hooks)
            with load.only_machines():
                busy = measure(load, chosen.minutes * 60)
                sent = len(load.accepted.hooks)
            state = check(desk, load, PATIENCE)
        finally:
            desk.stop()
    rows = []
    for kind, values in busy.items():
        figures = (median(quiet[kind]), p95(quiet[kind]), median(values), p95(values), max(values))
        rows.append((kind, *(f"{figure:.1f} s" for figure in figures)))
    print(table(("of people", "quiet, median", "p95", "busy, median", "p95", "most"), rows))
    print(f"{sent} webhooks in {chosen.minutes:g} min, refused {load.refusals}")
    for word, found in (("lost", state.lost), ("doubled", state.doubled), ("stuck", state.stuck)):
        print(f"{word}: {len(found)} {found[:3] or ''}")
    bad = state.lost or state.doubled or state.stuck or p95(busy["turn"]) > MOST_SECONDS
    return 1 if bad else 0


def p95(values: list[float]) -> float:
    """The 95th percentile of some values."""
    return quantiles(values, n=20, method="inclusive")[-1]


if __name__ == "__main__":
    sys.exit(main())
