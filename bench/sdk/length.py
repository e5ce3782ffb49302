"""Does reading slow down as a session grows? ``python -m bench.sdk.length [--events 100000] [--runs 40]``

``history(limit=10)``, ``events(since=…)`` near the end, and ``get_state`` of a session of 100 events and of a long one,
in turn, on a desk of its own: the medians of wall time. The target is 1.2 times.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from ..drills.desk import Desk, folder
from ..measure import table
from ..places import ROOT

sys.path.insert(0, str(ROOT / "sdk" / "src"))

from countersign import Session  # noqa: E402

SHORT = 100
SENT = 600.0


def filled(session: Session, events: int) -> Session:
    for number in range(events):
        session.message(f"message {number}: the order is on its way", "assistant" if number % 2 else "user")
    session.set_state("cart", ["tea"])
    assert session.flush(SENT), session.progress()
    return session


def took(read: Callable[[], object]) -> float:
    """Milliseconds."""
    begun = time.perf_counter()
    read()
    return (time.perf_counter() - begun) * 1000


def reads(session: Session, events: int) -> dict[str, Callable[[], object]]:
    return {
        "history(limit=10)": lambda: session.history(limit=10),
        "events(since=end - 20)": lambda: session.events(since=events - 20),
        "get_state": lambda: session.get_state("cart"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=40)
    options = parser.parse_args()
    with folder() as place, tempfile.TemporaryDirectory(prefix="countersign-spool-") as spool:
        desk = Desk(place)
        try:
            told = {"url": f"http://127.0.0.1:{desk.port}", "api_key": desk.key, "spool": Path(spool)}
            sizes = (SHORT, options.events)
            sides = [reads(filled(Session(f"s-{size}", "Bench", **told), size), size) for size in sizes]
            rows = []
            for name in sides[0]:
                times = [(took(sides[0][name]), took(sides[1][name])) for _ in range(options.runs)][5:]
                short, long = (median(one) for one in zip(*times, strict=True))
                rows.append([name, f"{short:.1f}", f"{long:.1f}", f"{long / short:.2f}"])
        finally:
            desk.stop()
    print(table(["ms", f"{SHORT} events", f"{options.events:,} events", "times"], rows))
    print(f"load {os.getloadavg()[0]:.0f}")


if __name__ == "__main__":
    main()
