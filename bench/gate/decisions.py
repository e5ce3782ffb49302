"""How soon does an agent that waits know of a decision? ``python -m bench.gate.decisions [--agents 200] [--hosts 1]``

So many agents wait, each for an approval of its own: in long polls, then at the streams of their sessions. The
approvals are decided one after the other; milliseconds from the moment that a decision was sent (of one that can be
taken back: that it takes effect) to the answer that its agent has. And the CPU time of one decision, by part, beside
what the installation takes at rest. With two hosts half of the agents wait at the other one than was decided at.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median, quantiles
from typing import Any

import psutil

from ..drills.desk import Desk, folder, own_database
from ..measure import table
from .people import Person, ask, decide, people, send

MOST = 100.0
"""Milliseconds, 95th percentile."""
BETWEEN = 0.05
"""Seconds between two decisions."""
REST = 5.0
"""Seconds in which it is measured what the installation takes at rest."""
HEAD = ("agents wait", "median ms", "p95 ms", "most ms", "decider p95 ms", "CPU ms each", "web", "database", "workers")
Wait = Callable[[Desk, dict[str, Any], dict[str, str], asyncio.Event], Awaitable[float]]


@dataclass
class Scene:
    """The hosts, and the database server that two of them share."""

    hosts: list[Desk]
    server: int = 0
    """Its process, 0 for the one that ships."""

    @property
    def headers(self) -> dict[str, str]:
        """Of who asks."""
        return {"Authorization": f"Bearer {self.hosts[0].key}"}

    def used(self) -> dict[str, float]:
        """Seconds of CPU so far, by part."""
        web = [process for host in self.hosts for process in host.part("web")]
        database = [process for host in self.hosts for process in host.part("postgres")]
        if self.server:
            first = psutil.Process(self.server)
            database += [first, *first.children(recursive=True)]
        everything = [process for host in self.hosts for process in host.family()]
        others = [process for process in everything if process not in web + database]
        return {"web": _cpu(web), "database": _cpu(database), "workers": _cpu(others)}


@dataclass
class Figures:
    """Milliseconds of each agent and of each decider, and milliseconds of CPU of one decision by part."""

    agents: list[float]
    deciders: list[float]
    cpu: dict[str, float] = field(default_factory=dict)

    def row(self, name: str) -> tuple[str, ...]:
        times = (median(self.agents), p95(self.agents), max(self.agents), p95(self.deciders))
        spent = (sum(self.cpu.values()), *(self.cpu[part] for part in ("web", "database", "workers")))
        return (name, *(f"{value:.0f}" for value in (*times, *spent)))


def main() -> int:
    """Run everything; 1 when the 95th percentile is over the target."""
    parser = argparse.ArgumentParser(prog="bench.gate.decisions", description=__doc__)
    parser.add_argument("--agents", type=int, default=200, help="that wait (default 200)")
    parser.add_argument("--hosts", type=int, choices=(1, 2), default=1, help="web servers (default 1)")
    options = parser.parse_args()
    found: dict[str, Figures] = {}
    with scene(options.hosts) as running:
        key, member, *_ = people(running.hosts[0], keys=1, members=1)
        for name, person, wait in (
            ("in long polls", key, in_a_poll),
            ("at streams", key, at_a_stream),
            ("in long polls, a member decides", member, in_a_poll),
        ):
            found[name] = asyncio.run(measure(running, options.agents, person, wait))
            print(f"{name}: p95 {p95(found[name].agents):.0f} ms", flush=True)
    print(table(HEAD, [figures.row(f"{options.agents} {name}") for name, figures in found.items()]))
    worst = max(p95(figures.agents) for figures in found.values())
    print(f"\nworst p95 {worst:.0f} ms (at most {MOST:.0f})")
    return 0 if worst <= MOST else 1


@contextmanager
def scene(hosts: int) -> Iterator[Scene]:
    """A running installation of one host with the database that ships, or of two with another."""
    with folder() as place:
        if hosts == 1:
            desk = Desk(place)
            try:
                yield Scene([desk])
            finally:
                desk.stop()
            return
        with own_database(place / "database") as start_database:
            database, server = start_database()
            running: list[Desk] = []
            try:
                for name in ("one", "two"):
                    (place / name).mkdir()
                    running.append(Desk(place / name, database, {"STORAGE_URL": f"file://{place}/shared"}))
                yield Scene(running, server.pid)
            finally:
                for desk in running:
                    desk.stop()


async def measure(running: Scene, agents: int, person: Person, wait: Wait) -> Figures:
    """Let so many agents wait, and decide for each."""
    hosts = running.hosts
    await _until_open(hosts[0], lambda streams: streams == 0)
    approvals = await asyncio.to_thread(ask, hosts[0], agents)
    ready = [asyncio.Event() for _ in approvals]
    waiting = [
        asyncio.create_task(wait(hosts[number % len(hosts)], approval, running.headers, ready[number]))
        for number, approval in enumerate(approvals)
    ]
    await asyncio.gather(*(event.wait() for event in ready))
    await _until_open(hosts[0], lambda streams: streams >= agents)
    at_rest = await _resting(running)
    before, began = running.used(), time.monotonic()
    moments, deciders = [], []
    for number, approval in enumerate(approvals):
        sent = time.time()
        status, said = await decide(hosts[number // 2 % len(hosts)].port, approval, person, 1)
        assert status == 200, (status, said[:200])
        effect = json.loads(said)["takes_effect_at"]
        moments.append(datetime.fromisoformat(effect).timestamp() if effect else sent)
        deciders.append((time.time() - sent) * 1000)
        await asyncio.sleep(BETWEEN)
    answered = await asyncio.gather(*waiting)
    after, seconds = running.used(), time.monotonic() - began
    cpu = {part: max(after[part] - before[part] - at_rest[part] * seconds, 0) / agents * 1000 for part in after}
    return Figures([(one - moment) * 1000 for one, moment in zip(answered, moments, strict=True)], deciders, cpu)


async def in_a_poll(desk: Desk, approval: dict[str, Any], headers: dict[str, str], ready: asyncio.Event) -> float:
    """When a long poll, repeated as agents do, told the decision."""
    ready.set()
    status = "pending"
    while status == "pending":
        code, said = await send(desk.port, f"/api/v1/approvals/{approval['id']}?wait=60", b"", headers)
        assert code == 200, (code, said[:200])
        status = json.loads(said)["status"]
    return time.time()


async def at_a_stream(desk: Desk, approval: dict[str, Any], headers: dict[str, str], ready: asyncio.Event) -> float:
    """When the stream of the session told the decision."""
    incoming, outgoing = await asyncio.open_connection("127.0.0.1", desk.port)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    path = f"/api/v1/sessions/{approval['session_id']}/stream"
    outgoing.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{desk.port}\r\n{lines}\r\n".encode())
    try:
        kind = b""
        while line := await incoming.readline():
            if line.startswith(b"event: "):
                kind = line.strip()
                if kind == b"event: session":
                    ready.set()
            elif kind == b"event: approval" and line.startswith(b"data: ") and _is_decided(line[6:]):
                return time.time()
        raise AssertionError("the stream ended without the decision")
    finally:
        outgoing.close()


def _is_decided(approval: bytes) -> bool:
    return bool(json.loads(approval)["status"] != "pending")


async def _until_open(desk: Desk, reached: Callable[[float], bool]) -> None:
    """Wait until so many streams and long polls are open at all hosts; these are told every few seconds."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        lines = (await asyncio.to_thread(desk.call, "/metrics")).decode().splitlines()
        if reached(sum(float(line.split()[-1]) for line in lines if line.startswith("countersign_open_streams"))):
            return
        await asyncio.sleep(0.2)
    raise AssertionError("not all agents came to wait, or went, in a minute")


async def _resting(running: Scene) -> dict[str, float]:
    """Seconds of CPU a second, by part."""
    before = running.used()
    await asyncio.sleep(REST)
    after = running.used()
    return {part: (after[part] - before[part]) / REST for part in after}


def _cpu(processes: list[psutil.Process]) -> float:
    """Of these processes, and of those of theirs that have ended."""
    total = 0.0
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


if __name__ == "__main__":
    raise SystemExit(main())
