"""What does writing cost? ``python -m bench.growth.writes [--sizes 1000,10000] [--rounds 3] [--appends N] [--files N]``

CPU seconds of the product's processes and of PostgreSQL (all of its processes), and bytes of WAL, of: transcripts
imported and made searchable by a worker that has started; events that are sent alone, one request each, with the web
server; small files that are uploaded one after the other and imported, with web server, workers and scheduler.
claude-code-transcripts makes pages of the same files in the same run. Of each the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import psycopg

from config.database.cluster import Cluster

from .. import transcripts
from ..drills.desk import Desk, folder
from ..import_speed import PEERS, peer
from ..measure import table
from ..places import installation, run
from .fairness import EVENTS, seconds, send, transcript

HEAD = ("what", "Python ms", "database ms", "in all ms", "at most", "WAL kB an event")
PEER = "claude-code-transcripts"
SMALL_FILE_MS, ALONE_MS = 60, 5
IMPORT_MS = {50_000: "2,400 + 2,400"}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sizes", default="1000,10000,50000", help="lines of transcripts; none: left out")
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--appends", type=int, default=500, help="events that are sent alone; 0: left out")
    options.add_argument("--files", type=int, default=500, help="small files; 0: left out")
    options.add_argument("--no-peers", action="store_true")
    chosen = options.parse_args()
    rows = [row for lines in map(int, filter(None, chosen.sizes.split(","))) for row in _imports(lines, chosen)]
    if chosen.appends or chosen.files:
        rows += _at_desk(chosen)
    print(table(HEAD, rows))
    print("load of this machine:", " ".join(f"{value:.1f}" for value in os.getloadavg()))


def database_cpu(data_dir: Path) -> float:
    """CPU seconds of the PostgreSQL of a data directory: every process that it has, or had."""
    server = psutil.Process(int((Cluster(data_dir).directory / "postmaster.pid").read_text().split()[0]))
    used = server.cpu_times()
    return used.user + used.system + used.children_user + used.children_system + cpu(server.children())


def cpu(processes: list[psutil.Process]) -> float:
    """CPU seconds of processes that go on all the while."""
    spent = 0.0
    for process in processes:
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        spent += used.user + used.system
    return spent


def wal(data_dir: Path) -> int:
    """Bytes of WAL that were ever written."""
    with psycopg.connect(**Cluster(data_dir).parameters, autocommit=True) as owner:  # type: ignore[arg-type]
        row = owner.execute("SELECT pg_current_wal_insert_lsn() - '0/0'").fetchone()
        assert row is not None
        return int(row[0])


def _imports(lines: int, chosen: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A transcript, each time on an installation that was empty."""
    file, _ = transcripts.cached(lines)
    rounds, peers = [], []
    for _ in range(chosen.rounds):
        rounds.append(_import(file))
        if not chosen.no_peers and (cost := peer(PEER, file)):
            peers.append(cost.cpu)
    python, database, written = (statistics.median(values) for values in zip(*rounds, strict=True))
    yield _row(f"import of {lines:,} lines", python, database, IMPORT_MS.get(lines, ""), written / lines)
    if peers:
        yield f"  {PEER} {PEERS[PEER][0]}", "", "", f"{statistics.median(peers) * 1e3:,.0f}", "", ""


def _import(file: Path) -> tuple[float, float, int]:
    """CPU seconds of the worker and of the database, and bytes of WAL."""
    with installation() as environment:
        data_dir = Path(environment["COUNTERSIGN_DATA_DIR"])
        import_id = run(environment, "-m", "bench.worker", "start", str(file))
        with psycopg.connect(**Cluster(data_dir).parameters, autocommit=True) as owner:  # type: ignore[arg-type]
            owner.execute("CHECKPOINT")
        before, written = database_cpu(data_dir), wal(data_dir)
        said = json.loads(run(environment, "-m", "bench.worker", "run", import_id))
        return said["cpu"], database_cpu(data_dir) - before, wal(data_dir) - written


def _at_desk(chosen: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    with folder() as data_dir:
        desk = Desk(data_dir)
        try:
            if chosen.appends:
                _appends(desk, 50)
                rounds = [_appends(desk, chosen.appends) for _ in range(chosen.rounds)]
                yield _median("an event alone", rounds, chosen.appends, ALONE_MS, events=1)
            if chosen.files:
                _files(desk, 10)
                rounds = [_files(desk, chosen.files) for _ in range(chosen.rounds)]
                yield _median(f"a file of {EVENTS} events", rounds, chosen.files, SMALL_FILE_MS, events=EVENTS)
        finally:
            desk.stop()


class _Meter:
    """CPU of some parts of a desk and of its database, and its WAL, from one moment to another."""

    def __init__(self, desk: Desk, parts: tuple[str, ...]) -> None:
        self.desk = desk
        self.processes = [process for part in parts for process in desk.part(part)]
        self.before = self._now()

    def _now(self) -> tuple[float, float, int]:
        return cpu(self.processes), database_cpu(self.desk.data_dir), wal(self.desk.data_dir)

    def stop(self) -> tuple[float, float, int]:
        """What was spent since it was made."""
        python, database, written = (late - early for early, late in zip(self.before, self._now(), strict=True))
        return python, database, int(written)


def _appends(desk: Desk, count: int) -> tuple[float, float, int]:
    """One session, one connection that is kept, an event a request."""
    agent: Any = desk.call("/api/v1/agents", {"name": f"Bench {uuid4()}", "runtime": "external"})
    made: Any = desk.call(f"/dashboard/agents/{agent['id']}/sessions", {"title": "appended to"})
    connection = HTTPConnection("127.0.0.1", desk.port, timeout=60)
    headers = {"Authorization": f"Bearer {desk.key}", "Content-Type": "application/json"}
    meter = _Meter(desk, ("web",))
    for number in range(count):
        event = {"client_id": f"e{number}", "kind": "agent_message", "text": f"Line {number} of what the agent said"}
        connection.request(
            "POST", f"/api/v1/sessions/{made['id']}/events", json.dumps({"events": [event]}).encode(), headers
        )
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said
    return meter.stop()


def _files(desk: Desk, count: int) -> tuple[float, float, int]:
    """Uploads of small transcripts, until all are imported and searchable."""
    files = [transcript(EVENTS) for _ in range(count)]
    meter = _Meter(desk, ("web", "worker-1", "worker-2", "scheduler"))
    seconds(desk, send(desk, desk.key, files))
    deadline = time.monotonic() + 60
    behind = "SELECT 1 FROM sessions_app_session WHERE indexed_seq < last_seq LIMIT 1"
    while desk.ask(behind):
        assert time.monotonic() < deadline, "not all are searchable"
        time.sleep(0.5)
    return meter.stop()


def _median(
    what: str, rounds: list[tuple[float, float, int]], count: int, most: int, *, events: int
) -> tuple[str, ...]:
    python, database, written = (statistics.median(values) / count for values in zip(*rounds, strict=True))
    return _row(what, python, database, str(most), written / events)


def _row(what: str, python: float, database: float, most: str, wal_bytes: float) -> tuple[str, ...]:
    """A row of the table, of CPU in seconds."""
    shown = (
        f"{value * 1e3:,.0f}" if value > 0.1 else f"{value * 1e3:.1f}"
        for value in (python, database, python + database)
    )
    row = (what, *shown, most, f"{wal_bytes / 1e3:.2f}")
    print(*row, sep="; ", file=sys.stderr)
    return row


if __name__ == "__main__":
    main()
