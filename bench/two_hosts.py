"""Two `up` on one database, one broker and one storage: every file has to be had from both of them.

The broker is CELERY_BROKER_URL, or a RabbitMQ of Debian's (``apt-get install rabbitmq-server``) that is started for
this on loopback and goes away. The database is the wheel's PostgreSQL 18, started apart from both. Exit status 1 when
an import does not come to its end, a download is refused, or one that should be the same on both hosts differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from config.processes.system import die_with_parent
from tests.services.files import transcript

from .drills.desk import Desk, folder, own_database
from .places import free_port

RABBITMQ = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
LARGE, SMALL = 6_000, 40
"""Events: over 5,000 a worker writes the export, of either host, and not the web server that is asked."""
FORMATS = ("original", "vcon", "vac", "llmfeed", "upg", "jsonl", "html", "markdown", "bundle")
SECONDS = 240


def main() -> int:
    """Run everything; the exit status."""
    parser = argparse.ArgumentParser(prog="bench.two_hosts", description=__doc__)
    parser.add_argument("--imports", type=int, default=10, help="small files that each host takes in (default 10)")
    options = parser.parse_args()
    with folder() as place, broker(place) as url, own_database(place / "database") as start_database:
        database, _ = start_database()
        more = {"CELERY_BROKER_URL": url, "STORAGE_URL": f"file://{place}/shared"}
        hosts: list[Desk] = []
        try:
            for name in ("one", "two"):
                (place / name).mkdir()
                hosts.append(Desk(place / name, database, more))
            hosts[1].key = hosts[0].key
            faults = [*imports(hosts, options.imports), *exports(hosts), *clean(hosts)]
        finally:
            for host in hosts:
                host.stop()
    for fault in faults:
        print("fault ", fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


@contextmanager
def broker(place: Path) -> Iterator[str]:
    """The address of a broker that is there, or of a RabbitMQ node of its own."""
    if given := os.environ.get("CELERY_BROKER_URL"):
        yield given
        return
    if not RABBITMQ.exists():
        raise SystemExit("there is no RabbitMQ: apt-get install rabbitmq-server, or set CELERY_BROKER_URL")
    home = place / "rabbitmq"
    home.mkdir()
    port, between = free_port(), free_port()
    environment = os.environ | {
        "HOME": str(home),
        "RABBITMQ_NODENAME": f"bench-{os.getpid()}@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": str(port),
        "RABBITMQ_DIST_PORT": str(between),
        "RABBITMQ_MNESIA_BASE": str(home / "mnesia"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_CONF_ENV_FILE": str(home / "none"),
    }
    (home / "plugins").write_text("[].\n")
    with (home / "said").open("wb") as said:
        node = subprocess.Popen(
            [RABBITMQ], env=environment, stdout=said, stderr=said, start_new_session=True,
            preexec_fn=partial(die_with_parent, os.getpid()),
        )  # fmt: skip
    try:
        if not until(lambda: answers(port), 60):
            raise SystemExit(f"RabbitMQ does not start: {(home / 'said').read_text()[-1000:]}")
        yield f"amqp://guest:guest@127.0.0.1:{port}//"
    finally:
        os.killpg(node.pid, 15)
        node.wait(30)


def imports(hosts: list[Desk], count: int) -> Iterator[str]:
    """Files to each host, and one file to both at once: each is read once, whoever reads it."""
    began = time.monotonic()
    sent = [
        (host, host.upload(f"{number}.jsonl", transcript(SMALL, session=name_of(number, place))))
        for number in range(count)
        for place, host in enumerate(hosts)
    ]
    same = [(host, host.upload("same.jsonl", transcript(SMALL, session=name_of(0, 9)))) for host in hosts]
    for host, import_id in sent + same:
        yield from finished(host, import_id)
    for host, import_id in sent:
        elsewhere = hosts[1 - hosts.index(host)]
        found = elsewhere.call(f"/api/v1/imports/{import_id}")
        if found["events"] != SMALL:
            yield f"an import has {found['events']} events instead of {SMALL}"
        yield from both_give(hosts, found["sessions"][0], "original")
    duplicates = [hosts[0].call(f"/api/v1/imports/{import_id}")["duplicate_of"] for _, import_id in same]
    if sum(of is None for of in duplicates) != 1:
        yield f"the same file to both hosts: {sum(of is None for of in duplicates)} were read"
    print(f"{len(sent) + len(same)} imports, original from both hosts: {time.monotonic() - began:.1f} s")


def exports(hosts: list[Desk]) -> Iterator[str]:
    """A session that is too large to be written while the request waits, in every format, from each host."""
    import_id = hosts[0].upload("large.jsonl", transcript(LARGE, session=name_of(1, 8)))
    yield from finished(hosts[0], import_id)
    [session] = hosts[1].call(f"/api/v1/imports/{import_id}")["sessions"]
    for format in FORMATS:
        began = time.monotonic()
        faults = list(both_give(hosts, session, format))
        yield from faults
        print(
            f"{format:9} of {LARGE:,} events from both hosts: {time.monotonic() - began:5.1f} s, {len(faults)} faults"
        )


def both_give(hosts: list[Desk], session: str, format: str) -> Iterator[str]:
    """Ask each host for an export. What says nothing of when it was asked for is the same to the byte."""
    given = []
    for number, host in enumerate(hosts, start=1):
        try:
            content = download(host, f"/api/v1/sessions/{session}/export?format={format}")
        except HTTPError as refused:
            yield f"{format} from host {number}: {refused.code} {refused.read()[:300]!r}"
            continue
        given.append(hashlib.sha256(content).hexdigest())
        if not content:
            yield f"{format} from host {number} is empty"
    if format in ("original", "vcon", "jsonl", "markdown") and len(set(given)) > 1:
        yield f"{format} differs between the hosts"


def download(host: Desk, path: str) -> bytes:
    """A file. Raises ``HTTPError``."""
    asked = Request(f"http://127.0.0.1:{host.port}{path}", headers={"Authorization": f"Bearer {host.key}"})
    with urlopen(asked, timeout=SECONDS) as answer:
        return answer.read()


def clean(hosts: list[Desk]) -> Iterator[str]:
    """What is left at the end: no job failed or waits, both hosts are well."""
    for table in ("import", "export"):
        query = (
            f"SELECT status, waiting_for, error, count(*) FROM vcon_app_{table} WHERE status <> 'done' GROUP BY 1, 2, 3"
        )
        yield from (f"{table}: {row}" for row in hosts[0].ask(query))
    for number, host in enumerate(hosts, start=1):
        if not host.ready():
            yield f"host {number} is not ready"
        done = subprocess.run(
            [sys.executable, "manage.py", "doctor"], env=host.environment, capture_output=True, text=True, check=False
        )
        yield from (f"host {number}: {line}" for line in done.stdout.splitlines() if line.startswith("fault"))


def finished(host: Desk, import_id: str) -> Iterator[str]:
    """Wait for an import."""
    found = {}

    def is_done() -> bool:
        found.update(host.call(f"/api/v1/imports/{import_id}"))
        return found["status"] in ("done", "failed")

    if not until(is_done, SECONDS) or found["status"] != "done":
        yield f"import {found['filename']}: {found['status']}, {found['error'] or found['waiting_for']}"


def name_of(number: int, place: int) -> str:
    return f"{place:08d}-3b1d-4a57-9d3e-{number:012d}"


def until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.2)
    return True


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


if __name__ == "__main__":
    sys.exit(main())
