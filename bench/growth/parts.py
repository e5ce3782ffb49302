"""Do more processes do more? ``python -m bench.growth.parts [--seconds 20] [--files 60] [--share 0.2]``

Reads by 1 and 2 web servers (events of a session by 8 clients, answers a second) and imports by 1 and 4 workers (files
a second, until the last is done), each on an installation of its own that `up` runs. On cores that are there it should
be 1.7 and 3 times as many; with fewer idle cores than processes it cannot be. So it also tells what more cores would
not change: the CPU of one answer or file in the parts and in the database, and which part of the time that backends
were at work they waited for each other's locks (looked at every 20 ms). Where both are the same with more processes,
the work of one does not hang on that of another.

``--share`` (as root) makes cores: each web server and each worker is held to that share of a core by the kernel's CPU
controller, the database to nothing, so that two or four of them and the database fit in the cores of this machine.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg

from bench import transcripts
from bench.growth.writes import cpu, database_cpu
from bench.measure import table
from bench.places import ROOT
from config import env
from config.database.cluster import Cluster
from config.processes.parts import usable_cores

CLIENTS = 8
READY = re.compile(r"ready http://127\.0\.0\.1:(\d+)/ ")
HEAD = ("what", "processes", "a second", "ratio", "wanted", "parts ms each", "database ms each", "lock waits")
WANTED = {"reads": 1.7, "imports": 3.0}
LOOK_SECONDS = 0.02
CONTROLLER = next(path for path in map(Path, ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup")) if path.is_dir())
"""Where groups of processes are made that share CPU: of the kernel's first kind of control groups, or the second."""
PERIOD = 100_000
"""Microseconds."""
AT_WORK = """
SELECT wait_event_type FROM pg_stat_activity
WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()
"""
LINES = 200
"""Of each file that is imported."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=20, help="of reading (default 20)")
    options.add_argument("--files", type=int, default=60, help="that are imported (default 60)")
    options.add_argument("--share", type=float, help="of a core that each web server and worker gets (default: any)")
    chosen = options.parse_args()
    reads = [_reads(web, chosen.seconds, chosen.share) for web in (1, 2)]
    imports = [_imports(workers, chosen.files, chosen.share) for workers in (1, 4)]
    rows = [*_rows("reads", (1, 2), reads), *_rows("imports", (1, 4), imports)]
    print(table(HEAD, rows))
    told = f"each held to {chosen.share} of a core" if chosen.share else "a ratio above the idle cores cannot be"
    print(f"load {os.getloadavg()[0]:.1f} on {usable_cores()} cores: {told}")


@dataclass
class Work:
    """What was done in some seconds, and what of the machine it took."""

    done: int = 0
    seconds: float = 0
    parts_cpu: float = 0
    database_cpu: float = 0
    at_work: int = 0
    """Backends that were seen at work, over all looks."""
    waiting: int = 0
    """Those of them that waited for a lock."""

    @property
    def rate(self) -> float:
        return self.done / self.seconds


def _rows(what: str, counts: tuple[int, int], works: list[Work]) -> Iterator[tuple[str, ...]]:
    for count, work in zip(counts, works, strict=True):
        ratio = "" if work is works[0] else f"{work.rate / works[0].rate:.2f}"
        costs = (f"{cpu / work.done * 1_000:.1f}" for cpu in (work.parts_cpu, work.database_cpu))
        waits = f"{work.waiting / max(work.at_work, 1):.1%}"
        yield what, str(count), f"{work.rate:.1f}", ratio, f"{WANTED[what]:.1f}" if ratio else "", *costs, waits


@contextmanager
def watched(data_dir: str, up: int) -> Iterator[Work]:
    """The work that is done in a block, but for ``done``."""
    work, ended = Work(), threading.Event()
    family = [process for process in psutil.Process(up).children(recursive=True) if "postgres" not in process.name()]
    began, parts, database = time.monotonic(), cpu(family), database_cpu(Path(data_dir))
    looking = threading.Thread(target=_look, args=(data_dir, work, ended))
    looking.start()
    try:
        yield work
        work.seconds = time.monotonic() - began
        work.parts_cpu, work.database_cpu = cpu(family) - parts, database_cpu(Path(data_dir)) - database
    finally:
        ended.set()
        looking.join()


def _look(data_dir: str, work: Work, ended: threading.Event) -> None:
    with psycopg.connect(**Cluster(Path(data_dir)).parameters, autocommit=True) as connection:
        while not ended.wait(LOOK_SECONDS):
            for (kind,) in connection.execute(AT_WORK):
                work.at_work += 1
                work.waiting += kind == "Lock"


@contextmanager
def running(web: int, workers: int) -> Iterator[tuple[str, int, str, int]]:
    """Data directory, port, an admin's API key and the process of an installation that `up` runs."""
    with tempfile.TemporaryDirectory(prefix="countersign-bench-") as data_dir:
        environment = os.environ | dict.fromkeys((*env.OURS, *env.COMMON), "") | {"COUNTERSIGN_DATA_DIR": data_dir}
        manage = [sys.executable, str(ROOT / "manage.py")]
        counts = ["--web", str(web), "--workers", str(workers)]
        up = subprocess.Popen(
            [*manage, "up", "--port", "0", *counts], env=environment, stdout=subprocess.PIPE, text=True
        )
        assert up.stdout
        try:
            found = READY.match(line := up.stdout.readline())
            assert found, line
            made = [*manage, "apikey", "create", "--name", "bench", "--role", "admin"]
            key = subprocess.run(made, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
            yield data_dir, int(found[1]), re.search(r"cs_\S+", key).group(), up.pid  # type: ignore[union-attr]
        finally:
            up.terminate()
            up.wait(20)


@contextmanager
def held(up: int, part: str, share: float | None) -> Iterator[None]:
    """Each process of a part gets no more than a share of a core, in turns of a tenth of a second."""
    groups: list[Path] = []
    for process in psutil.Process(up).children(recursive=True) if share else ():
        if re.fullmatch(rf"desk-{part}(-\d+)?", process.name()):
            groups.append(CONTROLLER / f"countersign-bench-{process.pid}")
            groups[-1].mkdir()
            _limit(groups[-1], int(share * PERIOD))
            (groups[-1] / "cgroup.procs").write_text(str(process.pid))
    assert groups or not share, f"there is no {part}"
    try:
        yield
    finally:
        for group in groups:
            for pid in (group / "cgroup.procs").read_text().split():
                (CONTROLLER / "cgroup.procs").write_text(pid)
            group.rmdir()


def _limit(group: Path, microseconds: int) -> None:
    """In the words of the controller's first version, or of the second."""
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(microseconds))
    else:
        (group / "cpu.max").write_text(f"{microseconds} {PERIOD}")


def _reads(web: int, seconds: float, share: float | None) -> Work:
    """Answers for the events of a session."""
    with running(web, 1) as (data_dir, port, key, up):
        _send(port, key, transcripts.cached(LINES)[0], "first.jsonl")
        session = _wait_for_imports(port, key, 1)[0]["sessions"][0]
        until = time.monotonic() + seconds
        counts = [0] * CLIENTS

        def ask(number: int) -> None:
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            while time.monotonic() < until:
                _json(connection, key, f"/api/v1/sessions/{session}/events?limit=100")
                counts[number] += 1

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(CLIENTS)]
        with held(up, "web", share), watched(data_dir, up) as work:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        work.done = sum(counts)
        return work


def _imports(workers: int, files: int, share: float | None) -> Work:
    """Files, from the first one sent to the last one done, of an agent that is new."""
    with running(1, workers) as (data_dir, port, key, up):
        source = transcripts.cached(LINES)[0]
        with held(up, "worker", share), watched(data_dir, up) as work:
            with ThreadPoolExecutor(4) as threads:
                list(threads.map(lambda number: _send(port, key, source, f"file-{number}.jsonl", number), range(files)))
            _wait_for_imports(port, key, files)
        work.done = files
        return work


def _send(port: int, key: str, source: Path, name: str, number: int = 0) -> None:
    """Upload a transcript; another number is another session with responses of its own, and no copy of the others."""
    mine = rb'("sessionId":\s*"|"id":\s*"msg_)[^"]{8}'
    content = re.sub(mine, lambda found: found[1] + b"%08d" % number, source.read_bytes())
    head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    kind = {"Authorization": f"Bearer {key}", "Content-Type": "multipart/form-data; boundary=b"}
    connection.request("POST", "/api/v1/imports", head + content + b"\r\n--b--\r\n", kind)
    answer = connection.getresponse()
    assert answer.status == 202, (answer.status, answer.read())
    connection.close()


def _wait_for_imports(port: int, key: str, count: int) -> list[dict]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while True:
        items = _json(connection, key, "/api/v1/imports?limit=500")["items"]
        done = [one for one in items if one["status"] in ("done", "failed")]
        if len(done) >= count:
            return done
        time.sleep(0.1)


def _json(connection: HTTPConnection, key: str, path: str) -> dict:
    connection.request("GET", urlsplit(path).geturl(), headers={"Authorization": f"Bearer {key}"})
    answer = connection.getresponse()
    assert answer.status == 200, (answer.status, path)
    return json.loads(answer.read())


if __name__ == "__main__":
    main()
