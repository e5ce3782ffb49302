"""Is another workspace served while one floods the desk and something dies? ``python -m bench.growth.fairness_drills``

500 files of 20 events of one workspace and a large one of another are under way when a part is killed (``kill -9``) or
frozen (SIGSTOP), or a backend of the database killed. Told are who noticed (``/readyz``), how soon it was well again,
how long a small file of the other workspace then took (at most 3 s), and whether each file is there once, with all of
its events. Exit status 1 when one was lost or doubled, or waited longer.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import sys
import time
from collections.abc import Callable
from functools import partial

from ..drills.breaking import DRILLS, Scene
from ..drills.desk import Desk, Refused, folder
from ..measure import table
from .fairness import EVENTS, LARGE_EVENTS, seconds, send, transcript

MOST = 3.0
"""Seconds of a small file of another workspace."""
PATIENCE = 90.0
BACKEND = "kill -9 a client's backend of PostgreSQL"
PARTS = ("worker-1", "worker-2", "scheduler", "web", "forker")
PART = re.compile(r'"part": ?"([^"]+)"')
HEAD = ("drill", "noticed", "well after s", "other's file s", "its large one s", "all 500 after s", "lost", "doubled")
NOT_WHOLE = """
SELECT count(*) FILTER (WHERE held < wanted), count(*) FILTER (WHERE held > wanted OR keys < held) FROM (
    SELECT i.id, s.last_seq AS wanted, count(e.seq) AS held, count(DISTINCT e.key) AS keys
    FROM vcon_app_import i
    LEFT JOIN vcon_app_importedsession l ON l.imported_id = i.id
    LEFT JOIN sessions_app_session s ON s.id = l.session_id
    LEFT JOIN sessions_app_event e ON e.session_id = s.id
    WHERE i.id = ANY(%s::uuid[]) GROUP BY 1, 2
) files
"""
SESSIONS = """
SELECT count(*), count(DISTINCT l.session_id) FROM vcon_app_importedsession l WHERE l.imported_id = ANY(%s::uuid[])
"""


def drills() -> dict[str, Callable[[Desk], None]]:
    """What is broken, by its name."""
    found: dict[str, Callable[[Desk], None]] = {"nothing": lambda desk: None}
    for part in PARTS:
        found[f"kill -9 {part}"] = partial(_send, part, signal.SIGKILL)
        found[f"freeze {part}"] = partial(_send, part, signal.SIGSTOP)
    return found | {BACKEND: lambda desk: next(one for one in DRILLS if one.name == BACKEND).run(Scene(desk))}


def _send(part: str, number: signal.Signals, desk: Desk) -> None:
    desk.send(part, number)


def run(desk: Desk, other: str, name: str, breaks: Callable[[Desk], None], files: int) -> tuple[list[str], bool]:
    """A row of the table, and whether it is as it should be."""
    many = send(desk, desk.key, [transcript(EVENTS) for _ in range(files)])
    large = send(desk, other, [transcript(LARGE_EVENTS, "Mend " * 40)])
    time.sleep(2)
    breaks(desk)
    noticed, well = _watched(desk)
    small = send(desk, other, [transcript(EVENTS)])
    [of_small], [of_large], of_many = seconds(desk, small), seconds(desk, large), seconds(desk, many)
    every = [*many, *large, *small]
    [(lost, doubled)] = desk.ask(NOT_WHOLE, every)
    [(links, sessions)] = desk.ask(SESSIONS, every)
    lost, doubled = lost + max(0, len(every) - links), doubled + max(0, links - sessions)
    row = [name, noticed, f"{well:.1f}", f"{of_small:.1f}", f"{of_large:.1f}", f"{max(of_many):.1f}"]
    return [*row, str(lost), str(doubled)], not lost and not doubled and of_small <= MOST


def _watched(desk: Desk) -> tuple[str, float]:
    """What ``/readyz`` said while it was not well, and after how many seconds it was, and stayed so for two."""
    began, said, well = time.monotonic(), "", 0.0
    while time.monotonic() - began < PATIENCE:
        try:
            desk.call("/readyz", seconds=3)
            fault = ""
        except Refused as refused:
            named = PART.search(str(refused))
            fault = f"/readyz: {named[1]}" if named else "no answer" if refused.status == 0 else str(refused.status)
        now = time.monotonic() - began
        if fault:
            said, well = said or fault, 0.0
        elif not well:
            well = now
        # A frozen part is told of once its heartbeat is 15 s old: until then nobody can know.
        if well and now - well >= 2 and (said or now >= 20):
            return said or "nobody", well if said else 0.0
        time.sleep(0.2)
    return said or "nobody", PATIENCE


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--first", type=int, default=500, help="small files of the first workspace")
    options.add_argument("--only", default="", help="drills whose name contains these words")
    chosen = options.parse_args()
    rows, is_good = [], True
    with folder() as data_dir:
        desk = Desk(data_dir)
        try:
            desk.manage("workspace", "create", "second", "--name", "Second")
            made = desk.manage("apikey", "create", "--role", "admin", "--name", "other", "--workspace", "second")
            for name, breaks in drills().items():
                if chosen.only in name:
                    row, is_fine = run(desk, made.split()[-1], name, breaks, chosen.first)
                    print(" | ".join(row), file=sys.stderr, flush=True)
                    rows.append(row)
                    is_good = is_good and is_fine
        finally:
            desk.stop()
    print(table(HEAD, rows))
    print(f"load {os.getloadavg()[0]:.1f}; {chosen.first} files; at most {MOST:.0f} s for the other workspace's file")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
