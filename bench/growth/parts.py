"""Do more processes do more? ``python -m bench.growth.parts [--seconds 20] [--files 60]``

Reads by 1 and 2 web servers (events of a session by 8 clients, answers a second) and imports by 1 and 4 workers (files
a second, until the last is done), each on an installation of its own that `up` runs. On cores that are there it should
be 1.7 and 3 times as many; with fewer idle cores than processes it cannot be.
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
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from bench import transcripts
from bench.measure import table
from bench.places import ROOT
from config import env
from config.processes.parts import usable_cores

CLIENTS = 8
READY = re.compile(r"ready http://127\.0\.0\.1:(\d+)/ ")
HEAD = ("what", "processes", "a second", "ratio", "wanted")
WANTED = {"reads": 1.7, "imports": 3.0}
LINES = 200
"""Of each file that is imported."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=20, help="of reading (default 20)")
    options.add_argument("--files", type=int, default=60, help="that are imported (default 60)")
    chosen = options.parse_args()
    reads = [_reads(web, chosen.seconds) for web in (1, 2)]
    imports = [_imports(workers, chosen.files) for workers in (1, 4)]
    rows = [*_rows("reads", (1, 2), reads), *_rows("imports", (1, 4), imports)]
    print(table(HEAD, rows))
    print(f"load {os.getloadavg()[0]:.1f} on {usable_cores()} cores: a ratio above the number of idle cores cannot be")


def _rows(what: str, counts: tuple[int, int], rates: list[float]) -> Iterator[tuple[str, ...]]:
    for count, rate in zip(counts, rates, strict=True):
        ratio = "" if rate == rates[0] else f"{rate / rates[0]:.2f}"
        yield what, str(count), f"{rate:.1f}", ratio, f"{WANTED[what]:.1f}" if ratio else ""


@contextmanager
def running(web: int, workers: int) -> Iterator[tuple[str, int, str]]:
    """Data directory, port and an admin's API key of an installation that `up` runs."""
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
            yield data_dir, int(found[1]), re.search(r"cs_\S+", key).group()  # type: ignore[union-attr]
        finally:
            up.terminate()
            up.wait(20)


def _reads(web: int, seconds: float) -> float:
    """Answers a second for the events of a session."""
    with running(web, 1) as (_, port, key):
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
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(counts) / seconds


def _imports(workers: int, files: int) -> float:
    """Files a second, from the first one sent to the last one done."""
    with running(1, workers) as (_, port, key):
        source = transcripts.cached(LINES)[0]
        began = time.monotonic()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda number: _send(port, key, source, f"file-{number}.jsonl", number), range(files)))
        _wait_for_imports(port, key, files)
        return files / (time.monotonic() - began)


def _send(port: int, key: str, source: Path, name: str, number: int = 0) -> None:
    """Upload a transcript; another number is another session, or it would be a repeat."""
    content = re.sub(rb'("sessionId":\s*")[^"]{8}', lambda found: found[1] + b"%08d" % number, source.read_bytes())
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
