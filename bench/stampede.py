"""Does somebody else's stampede slow a page? ``python -m bench.stampede [--streams 1000] [--sign-ins 200] ...``

An installation as ``up`` starts it, with two workspaces. A process of its own opens three pages of the first one, one
after the other, and notes how long each took: before, and while a stranger or a viewer's key of the other workspace

- opens so many streams at once, and keeps those that are accepted open;
- tries so many passwords at once, each for another name;
- sends the first half of so many requests, and so many first halves of bodies, and waits;
- sends a header of so many megabytes on one connection;
- does all of it at once.

Answers are counted by status. 0 is a connection that was closed without one.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit

from .live import Api, desk, manage
from .measure import table

SECONDS = 12.0
"""How long each attack is kept up, at least."""
USUAL_SECONDS = 8.0
PASSWORD = "correct horse battery staple"
Attack = Callable[[], Awaitable["Counter[int]"]]


def visitor(host: str, port: int, link: str, paths: list[str], orders: Connection) -> None:
    """Signs in and, from one order to the next, opens pages in turn: (status, seconds) of each."""
    cookie = _signed_in(host, port, link)
    orders.send("ready")
    while orders.recv() == "begin":
        seen: list[tuple[int, float]] = []
        while not orders.poll():
            for path in paths:
                seen.append(_timed(host, port, path, cookie))
        orders.recv()  # the end
        orders.send(seen)


def _signed_in(host: str, port: int, link: str) -> str:
    path = urlsplit(link).path
    token, cookie = csrf(host, port, path)
    connection = http.client.HTTPConnection(host, port)
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Cookie": cookie}
    connection.request("POST", path, f"csrfmiddlewaretoken={token}", headers)
    cookies = connection.getresponse().msg.get_all("Set-Cookie") or []
    signed_in = "; ".join(cookie.partition(";")[0] for cookie in cookies)
    status, _ = _timed(host, port, "/", signed_in)
    assert status == 200, f"the page of who is signed in answers {status}"
    return signed_in


def csrf(host: str, port: int, path: str) -> tuple[str, str]:
    """Token of the form at an address, and the cookie that goes with it."""
    connection = http.client.HTTPConnection(host, port)
    connection.request("GET", path)
    answer = connection.getresponse()
    cookie = (answer.getheader("Set-Cookie") or "").partition(";")[0]
    found = re.search(rb'name="csrfmiddlewaretoken" value="(\w+)"', answer.read())
    assert found, "the form has no token"
    return found[1].decode(), cookie


def _timed(host: str, port: int, path: str, cookie: str) -> tuple[int, float]:
    began = time.monotonic()
    connection = http.client.HTTPConnection(host, port, timeout=60)
    try:
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        answer.read()
        return answer.status, time.monotonic() - began
    except OSError:
        return 0, time.monotonic() - began
    finally:
        connection.close()


class Stampede:
    """What is done to a desk at an address."""

    def __init__(self, api: Api, session: str) -> None:
        parts = urlsplit(api.address)
        self.host, self.port, self.key, self.session = parts.hostname or "", parts.port or 80, api.key, session

    async def _open(self, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port)
            writer.write(sent)
            await writer.drain()
        except OSError:
            return None
        return reader, writer

    async def _status(self, sent: bytes, keep: float = 0.0) -> int:
        """The status that a request gets within a minute, its connection then kept open; 0 without one."""
        opened = await self._open(sent)
        if opened is None:
            return 0
        reader, writer = opened
        try:
            line = await asyncio.wait_for(reader.readline(), 60)
            status = int(line.split()[1]) if line.startswith(b"HTTP/") else 0
            if keep and status == 200:
                await asyncio.sleep(keep)
            return status
        except (OSError, TimeoutError):
            return 0
        finally:
            writer.close()

    def _head(self, method: str, path: str, *lines: str) -> bytes:
        return "\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {self.host}:{self.port}", *lines, "", ""]).encode()

    async def streams(self, count: int) -> Counter[int]:
        path = f"/api/v1/sessions/{self.session}/stream"
        head = self._head("GET", path, f"Authorization: Bearer {self.key}")
        return Counter(await asyncio.gather(*(self._status(head, SECONDS) for _ in range(count))))

    async def sign_ins(self, count: int) -> Counter[int]:
        token, cookie = await asyncio.to_thread(csrf, self.host, self.port, "/sign-in/")

        def request(number: int) -> bytes:
            body = f"csrfmiddlewaretoken={token}&email=nobody{number}%40example.com&password={PASSWORD}"
            type_ = "Content-Type: application/x-www-form-urlencoded"
            head = self._head("POST", "/sign-in/", type_, f"Cookie: {cookie}", f"Content-Length: {len(body)}")
            return head + body.encode()

        return Counter(await asyncio.gather(*(self._status(request(number)) for number in range(count))))

    async def halves(self, count: int) -> Counter[int]:
        head = self._head("GET", "/sessions/", "X-Half: yes")[:-4]
        body = self._head("POST", "/api/v1/approvals", "Content-Type: application/json", "Content-Length: 100000")
        sent = [head] * count + [body + b"{"] * (count // 8)
        return Counter(await asyncio.gather(*(self._status(request) for request in sent)))

    async def header(self, megabytes: int) -> Counter[int]:
        opened = await self._open(self._head("GET", "/sessions/", "X-Long: ")[:-4])
        assert opened, "no connection"
        reader, writer = opened
        try:
            for _ in range(megabytes):
                writer.write(b"a" * 1_000_000)
                await writer.drain()
        except OSError:
            pass  # cut off, which the answer tells
        try:
            line = await asyncio.wait_for(reader.readline(), 90)
        except (OSError, TimeoutError):
            line = b""
        writer.close()
        return Counter([int(line.split()[1]) if line else 0])


def attack(address: tuple[str, str, str], name: str, amount: int, answers: Connection) -> None:
    """Runs in a process of its own; sends how often each status came."""
    stampede = Stampede(Api(address[0], address[1]), address[2])
    answers.send(asyncio.run(getattr(stampede, name)(amount)))


def measure(orders: Connection, during: Callable[[], None], seconds: float) -> list[tuple[int, float]]:
    """Pages that were opened while something was done, for so many seconds at least."""
    began = time.monotonic()
    orders.send("begin")
    during()
    time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    orders.send("end")
    return orders.recv()


def run(address: tuple[str, str, str], attacks: list[tuple[str, int]]) -> Counter[int]:
    """All of these at once, to their end; the answers by status."""
    processes = []
    for name, amount in attacks:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=attack, args=(address, name, amount, theirs))
        process.start()
        processes.append((process, ours))
    total: Counter[int] = Counter()
    for process, ours in processes:
        total += ours.recv()
        process.join()
    return total


def row(name: str, answers: Counter[int], usual: list[float], seen: list[tuple[int, float]]) -> tuple[str, ...]:
    took = [seconds for _, seconds in seen]
    statuses = Counter(status for status, _ in seen)
    return (
        name,
        " ".join(f"{count}×{status}" for status, count in sorted(answers.items())),
        " ".join(f"{count}×{status}" for status, count in sorted(statuses.items())),
        f"{median(took) * 1000:.0f} ms",
        f"{median(took) / median(usual):.2f}",
        f"{_p95(took) * 1000:.0f} ms",
        f"{_p95(took) / _p95(usual):.2f}",
        f"{max(took) * 1000:.0f} ms",
    )


def _p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


def prepare(api: Api, data_dir: Any) -> tuple[list[str], tuple[str, str, str]]:
    """Pages of the first workspace; the address, key and session of the other one."""
    agent = api.agent("Watched", "external")
    session = api.session(agent, message="Begin")
    events = [{"client_id": str(n), "kind": "agent_message", "text": f"Event {n}"} for n in range(200)]
    api.call(f"/api/v1/sessions/{session}/events", {"events": events})
    manage(data_dir, "workspace", "create", "other")
    keys = [
        manage(data_dir, "apikey", "create", "--name", role, "--role", role, "--workspace", "other").split()[-1]
        for role in ("admin", "viewer")
    ]
    theirs = Api(api.address, keys[0])
    watched = theirs.session(theirs.agent("Theirs", "external"), message="Begin")
    pages = ["/", "/sessions/", f"/dashboard/sub-agents/{agent}/chat/{session}"]
    return pages, (api.address, keys[1], watched)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--streams", type=int, default=1_000)
    options.add_argument("--sign-ins", type=int, default=200)
    options.add_argument("--halves", type=int, default=500)
    options.add_argument("--megabytes", type=int, default=100)
    options.add_argument("--json", action="store_true", help="print the rows as JSON")
    chosen = options.parse_args()
    attacks = [
        (f"{chosen.streams} streams of one key", [("streams", chosen.streams)]),
        (f"{chosen.sign_ins} sign-ins", [("sign_ins", chosen.sign_ins)]),
        (f"{chosen.halves} half headers, {chosen.halves // 8} half bodies", [("halves", chosen.halves)]),
        (f"a header of {chosen.megabytes} MB", [("header", chosen.megabytes)]),
    ]
    attacks.append(("all at once", [part for _, parts in attacks for part in parts]))
    multiprocessing.set_start_method("spawn")
    with desk() as (running, data_dir, api):
        pages, address = prepare(api, data_dir)
        orders, theirs = multiprocessing.Pipe()
        parts = urlsplit(api.address)
        person = multiprocessing.Process(
            target=visitor, args=(parts.hostname, parts.port, running.link, pages, theirs), daemon=True
        )
        person.start()
        assert orders.recv() == "ready"
        measure(orders, lambda: None, USUAL_SECONDS)  # warm
        before = measure(orders, lambda: None, USUAL_SECONDS)
        usual = [seconds for _, seconds in before]
        rows = [row("nothing", Counter(), usual, before)]
        for name, parts_ in attacks:
            answers: list[Counter[int]] = []
            seen = measure(orders, lambda: answers.append(run(address, parts_)), 0)  # noqa: B023
            rows.append(row(name, answers[0], usual, seen))
            time.sleep(2)
        orders.send("stop")
    head = ("meanwhile", "answers to it", "pages", "median", "×", "p95", "×", "longest")
    print(json.dumps(rows) if chosen.json else table(head, rows))


if __name__ == "__main__":
    main()
