"""Is anything lost or doubled when the desk is killed? ``python -m bench.sdk.killed [--seconds 30] [--rate 500]``

A desk of its own takes what a program records in four sessions, all the while; `up` and everything below it is killed
with SIGKILL and starts again after so many seconds. Then every message has to be in the log once, in its order. Before
that, without a kill: events a second from the first call of one process until the desk has them all.
Exit status 1 where anything is lost, doubled or out of order.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from ..drills.desk import Desk, folder
from ..places import ROOT, free_port

sys.path.insert(0, str(ROOT / "sdk" / "src"))

from countersign import Session  # noqa: E402

SESSIONS = 4
UNTIL = 300.0
"""Seconds for what waits to be sent."""


def recorded(sessions: list[Session], events: int) -> None:
    for number in range(events):
        sessions[number % len(sessions)].message(f"message {number}")


def in_log(desk: Desk, like: str) -> list[list[str]]:
    """Texts of each session, in the order of its log."""
    rows = desk.ask(
        "SELECT s.external_id, array_agg(e.text ORDER BY e.seq) FROM sessions_app_session s"
        " JOIN sessions_app_event e ON e.session_id = s.id WHERE s.external_id LIKE %s GROUP BY 1 ORDER BY 1", like
    )  # fmt: skip
    return [texts for _, texts in rows]


def throughput(sessions: list[Session], events: int) -> float:
    begun = time.monotonic()
    recorded(sessions, events)
    assert sessions[0].flush(UNTIL), sessions[0].progress()
    return events / (time.monotonic() - begun)


def under_load(desk: Desk, sessions: list[Session], seconds: float, rate: int) -> int:
    """How many were recorded: ten seconds before the kill, while nobody is there, and ten after the start."""
    stop, number = threading.Event(), 0

    def record() -> None:
        nonlocal number
        begun = time.monotonic()
        while not stop.is_set():
            while number < (time.monotonic() - begun) * rate:
                sessions[number % len(sessions)].message(f"message {number}")
                number += 1
            time.sleep(0.005)

    writer = threading.Thread(target=record)
    writer.start()
    time.sleep(10)
    for process in reversed(desk.family()):
        process.kill()
    desk.process.wait()
    time.sleep(seconds)
    desk.start()
    time.sleep(10)
    stop.set()
    writer.join()
    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--rate", type=int, default=500, help="events a second")
    parser.add_argument("--events", type=int, default=20_000, help="of the measurement of throughput")
    options = parser.parse_args()
    with folder() as place, tempfile.TemporaryDirectory(prefix="countersign-spool-") as spool:
        desk = Desk(place, port=free_port())
        try:
            wrong = drill(desk, Path(spool), options)
        except subprocess.CalledProcessError as error:
            raise SystemExit(error.stderr) from None
        finally:
            desk.stop()
    raise SystemExit(1 if wrong else 0)


def drill(desk: Desk, spool: Path, options: argparse.Namespace) -> int:
    """Prints what came of it; how many messages are not where they should be."""
    url = f"http://127.0.0.1:{desk.port}"

    def sessions(name: str) -> list[Session]:
        return [Session(f"{name}-{n}", "Bench", url=url, api_key=desk.key, spool=spool) for n in range(SESSIONS)]

    print(f"{throughput(sessions('fast'), options.events):,.0f} events a second, {options.events:,} events", flush=True)
    driven = sessions("killed")
    events = under_load(desk, driven, options.seconds, options.rate)
    begun = time.monotonic()
    sent = driven[0].flush(UNTIL)
    took = time.monotonic() - begun
    left = driven[0].progress()
    found = in_log(desk, "killed-%")
    wanted = [[f"message {n}" for n in range(first, events, SESSIONS)] for first in range(SESSIONS)]
    everything = [text for texts in found for text in texts]
    lost, doubled = events - len(set(everything)), len(everything) - len(set(everything))
    out_of_order = sum(texts != right for texts, right in zip(found, wanted, strict=False)) if not lost else 0
    print(
        f"killed for {options.seconds:.0f} s: {events:,} recorded, {lost} lost, {doubled} doubled,"
        f" {out_of_order} sessions out of order; all sent {took:.1f} s after the load; repeated {left.repeated},"
        f" refused {left.refused}; load {os.getloadavg()[0]:.0f}"
    )
    return lost + doubled + out_of_order + left.refused + (not sent)


if __name__ == "__main__":
    main()
