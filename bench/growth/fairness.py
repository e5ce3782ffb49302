"""How long is one workspace's upload behind another's? ``python -m bench.growth.fairness [--first 500] [--second 25]``

A desk of its own takes in many files of 20 events in one workspace, then some in another, and says how many seconds
after it was sent each was in its session: the first, the median, the last. Then one small file is sent while every
worker that may be is at a large one.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

from ..drills.desk import Desk, folder
from ..measure import table

EVENTS = 20
SENDERS = 4
LARGE_EVENTS = 30_000
"""About 12 MB."""
PATIENCE = 900.0


def transcript(events: int, words: str = "Please mend the clock") -> bytes:
    """A Claude Code session of so many prompts."""
    session = str(uuid4())
    lines = (
        {
            "type": "user", "uuid": str(uuid4()), "sessionId": session, "version": "2.1.0", "cwd": "/srv",
            "timestamp": f"2026-04-06T08:{number // 60 % 60:02}:{number % 60:02}Z",
            "message": {"role": "user", "content": f"{words} {number}"},
        }
        for number in range(events)
    )  # fmt: skip
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def send(desk: Desk, key: str, files: list[bytes]) -> list[str]:
    """Upload files with the key of a workspace, several at a time; the ids of the imports in their order."""
    edge = "growth-boundary"
    headers = {"Content-Type": f"multipart/form-data; boundary={edge}", "Authorization": f"Bearer {key}"}
    head = f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="session.jsonl"\r\n\r\n'.encode()

    def upload(content: bytes) -> str:
        body = head + content + f"\r\n--{edge}--\r\n".encode()
        return str(desk.call("/api/v1/imports", body, headers=headers, seconds=120)["id"])

    with ThreadPoolExecutor(SENDERS) as threads:
        return list(threads.map(upload, files))


def seconds(desk: Desk, imports: list[str]) -> list[float]:
    """From the upload of each until it was read, once all are."""
    query = "SELECT extract(epoch FROM finished_at - created_at)::float, status FROM vcon_app_import"
    query += " WHERE id = ANY(%s::uuid[])"
    deadline = time.monotonic() + PATIENCE
    rows = desk.ask(query, imports)
    while any(taken is None for taken, _ in rows):
        assert time.monotonic() < deadline, f"{sum(taken is None for taken, _ in rows)} imports are not done"
        time.sleep(0.5)
        rows = desk.ask(query, imports)
    assert {status for _, status in rows} == {"done"}
    return [taken for taken, _ in rows]


def told(name: str, taken: list[float]) -> list[str]:
    """A row of the table."""
    return [name, str(len(taken)), *(f"{value:.1f}" for value in (min(taken), statistics.median(taken), max(taken)))]


def measure(desk: Desk, first: int, second: int) -> Iterator[list[str]]:
    """Rows of the table."""
    desk.manage("workspace", "create", "second", "--name", "Second")
    create = ("apikey", "create", "--role", "admin")
    key = desk.manage(*create, "--name", "other", "--workspace", "second").split()[-1]
    colleague = desk.manage(*create, "--name", "colleague").split()[-1]
    many = send(desk, desk.key, [transcript(EVENTS) for _ in range(first)])
    some = send(desk, key, [transcript(EVENTS) for _ in range(second)])
    one = send(desk, colleague, [transcript(EVENTS)])
    yield told("first workspace", seconds(desk, many))
    yield told("second workspace, sent after it", seconds(desk, some))
    yield told("one file of a colleague in the first", seconds(desk, one))
    large = send(desk, desk.key, [transcript(LARGE_EVENTS, "Mend " * 40) for _ in range(2)])
    small = send(desk, key, [transcript(EVENTS) for _ in range(5)])
    yield told("large files", seconds(desk, large))
    yield told("small ones, sent after them", seconds(desk, small))


def iterate(arguments: argparse.Namespace) -> list[list[str]]:
    """All rows, measured on an installation that goes away."""
    with folder() as data_dir:
        desk = Desk(data_dir)
        try:
            return list(measure(desk, arguments.first, arguments.second))
        finally:
            desk.stop()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--first", type=int, default=500, help="files of the first workspace")
    parser.add_argument("--second", type=int, default=25, help="files of the second")
    rows = iterate(parser.parse_args())
    print(table(["imports", "files", "first s", "median s", "last s"], rows))
    print("load of this machine:", " ".join(f"{value:.1f}" for value in os.getloadavg()))


if __name__ == "__main__":
    main()
