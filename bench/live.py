"""How soon is an event seen, and what do open readers cost? ``python -m bench.live [--readers 100] [--streams 1000]``

Three measurements on an installation of its own, as `up` runs it:

- from the POST of an event to its row in the page of a real browser, and to its frame at raw readers of the stream,
  while so many readers have the session open;
- so many streams open on sessions where nothing happens: CPU of the web process, and its database connections;
- the time of opening a session page while 20 turns run, against the same page while nothing runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import psutil
from playwright.async_api import Page, async_playwright

from .measure import table
from .places import ROOT
from .start import Desk

CHROMIUM = ("--no-sandbox", "--disable-gpu")
EVENTS = 60
WATCH_ROWS = """
() => {
  window.seen = {};
  const note = () => document.querySelectorAll("#timeline [data-seq]").forEach((row) => {
    window.seen[row.dataset.seq] ??= performance.timeOrigin + performance.now();
  });
  new MutationObserver(note).observe(document.body, { childList: true, subtree: true });
  note();
}
"""


class Api:
    """The JSON API of a desk, with a key of an admin."""

    def __init__(self, address: str, key: str) -> None:
        self.address, self.key = address, key

    def call(self, path: str, body: Any = None) -> Any:
        request = Request(f"{self.address}{path}", None if body is None else json.dumps(body).encode())
        request.add_header("Authorization", f"Bearer {self.key}")
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def agent(self, name: str, runtime: str) -> str:
        return self.call("/api/v1/agents", {"name": name, "runtime": runtime})["id"]

    def session(self, agent: str, **body: Any) -> str:
        return self.call(f"/dashboard/agents/{agent}/sessions", body)["id"]


@contextmanager
def desk() -> Any:
    """A running desk, its data directory and its API."""
    data_dir = Path(tempfile.mkdtemp(prefix="countersign-bench-"))
    running = Desk(data_dir)
    try:
        key = manage(data_dir, "apikey", "create", "--name", "bench", "--role", "admin").split()[-1]
        parts = urlsplit(running.link)
        yield running, data_dir, Api(f"{parts.scheme}://{parts.netloc}", key)
    finally:
        running.stop()
        shutil.rmtree(data_dir, ignore_errors=True)


@asynccontextmanager
async def reader(api: Api, path: str, on_frame: Callable[[bytes, float], None]) -> AsyncIterator[asyncio.Task[None]]:
    """A raw reader of a stream; told each line of it and when it came."""
    parts = urlsplit(api.address)
    incoming, outgoing = await asyncio.open_connection(parts.hostname, parts.port)
    head = f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {api.key}\r\n\r\n"
    outgoing.write(head.encode())
    await outgoing.drain()
    status = await incoming.readline()
    assert b" 200 " in status, status

    async def read() -> None:
        while line := await incoming.readline():
            on_frame(line, time.time())

    task = asyncio.create_task(read())
    try:
        yield task
    finally:
        task.cancel()
        outgoing.close()


async def visible(api: Api, link: str, readers: int) -> tuple[list[float], list[float]]:
    """Milliseconds from POST to the frame at each raw reader, and to the row in the browser."""
    agent = await asyncio.to_thread(api.agent, "Watched", "external")
    session = await asyncio.to_thread(api.session, agent, message="Begin")
    stream = f"/dashboard/agents/{agent}/sessions/{session}/stream?after=1"
    came: dict[int, list[float]] = {}

    def note(line: bytes, at: float) -> None:
        if line.startswith(b"id: "):
            came.setdefault(int(line[4:]), []).append(at)

    async with AsyncExitStack() as stack:
        for _ in range(readers - 1):
            await stack.enter_async_context(reader(api, stream, note))
        page = await stack.enter_async_context(browser(link))
        await page.goto(f"{api.address}/dashboard/sub-agents/{agent}/chat/{session}")
        await page.evaluate(WATCH_ROWS)
        await asyncio.sleep(3)
        sent: dict[int, float] = {}
        for number in range(EVENTS):
            at = time.time()
            event = {"client_id": str(number), "kind": "agent_message", "text": f"Event number {number}"}
            done = await asyncio.to_thread(api.call, f"/api/v1/sessions/{session}/events", {"events": [event]})
            sent[done["last_seq"]] = at
            await asyncio.sleep(0.4)
        await asyncio.sleep(2)
        seen = {int(seq): at / 1000 for seq, at in (await page.evaluate("() => window.seen")).items()}
    missing = [seq for seq in sent if seq not in seen or len(came.get(seq, ())) != readers - 1]
    assert not missing, f"not seen by everybody: {missing}"
    frames = [(at - sent[seq]) * 1000 for seq in sent for at in came[seq]]
    return frames, [(seen[seq] - at) * 1000 for seq, at in sent.items()]


@asynccontextmanager
async def browser(link: str) -> AsyncIterator[Page]:
    """A page of Chromium that is signed in."""
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=list(CHROMIUM))
        page = await chromium.new_page()
        await page.goto(link)
        try:
            yield page
        finally:
            await chromium.close()


async def idle(api: Api, web: psutil.Process, data_dir: Path, streams: int) -> tuple[float, int]:
    """Share of a core that the web process takes with so many open streams, and the connections they add."""
    keys = [  # one key may have 500 open
        Api(api.address, manage(data_dir, "apikey", "create", "--name", f"reader {n}", "--role", "viewer").split()[-1])
        for n in range(1 + streams // 400)
    ]
    agent = await asyncio.to_thread(api.agent, "Quiet", "external")
    sessions = [await asyncio.to_thread(api.session, agent, message="Hello") for _ in range(20)]
    paths = [f"/dashboard/agents/{agent}/sessions/{session}/stream?after=1" for session in sessions]
    quiet = await asyncio.to_thread(backends, data_dir)
    async with AsyncExitStack() as stack:
        for number in range(streams):
            await stack.enter_async_context(
                reader(keys[number // 400], paths[number % len(paths)], lambda line, at: None)
            )
        await asyncio.sleep(5)
        before, began = web.cpu_times(), time.monotonic()
        await asyncio.sleep(30)
        after = web.cpu_times()
        used = after.user + after.system - before.user - before.system
        share = used / (time.monotonic() - began)
        return share, await asyncio.to_thread(backends, data_dir) - quiet


def backends(data_dir: Path) -> int:
    """Connections that clients have to the database of a desk; the one that asks is among them."""
    count = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
    code = f"from django.db import connection as c; k = c.cursor(); k.execute({count!r}); print(k.fetchone()[0])"
    return int(manage(data_dir, "shell", "--no-imports", "-c", code).split()[-1])


def manage(data_dir: Path, *arguments: str) -> str:
    """What a command says about an installation."""
    environment = os.environ | {"COUNTERSIGN_DATA_DIR": str(data_dir)}
    command = ["script/manage", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ).stdout


def page_seconds(api: Api, path: str, times: int = 15) -> float:
    """Median of opening a session's events and head as its page reads them."""
    took = []
    for _ in range(times):
        began = time.monotonic()
        api.call(path)
        took.append(time.monotonic() - began)
    return median(took)


def while_running(api: Api, turns: int = 20) -> tuple[float, float]:
    """Seconds to read a session while nothing runs, and while so many turns do."""
    agent = api.agent("Parrot", "scripted")
    session = api.session(agent, message="Hello there")
    path = f"/api/v1/sessions/{session}/events?limit=200"
    time.sleep(3)
    quiet = page_seconds(api, path)
    words = " ".join(["word"] * 400)
    for _ in range(turns):
        api.session(agent, message=f"{words}\n/wait 5\n{words}")
    time.sleep(2)
    return quiet, page_seconds(api, path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--readers", type=int, default=100)
    options.add_argument("--streams", type=int, default=1_000)
    chosen = options.parse_args()
    with desk() as (running, data_dir, api):
        web = next(
            child for child in psutil.Process(running.process.pid).children(recursive=True)
            if child.name() == "desk-web"
        )  # fmt: skip
        frames, rows = asyncio.run(visible(api, running.link, chosen.readers))
        share, connections = asyncio.run(idle(api, web, data_dir, chosen.streams))
        quiet, busy = while_running(api)
    print(
        table(
            ("what", "at most", "measured"),
            [
                (f"POST → row in a browser, {chosen.readers} readers, p95", "150 ms", f"{p95(rows):.0f} ms"),
                ("  median", "", f"{median(rows):.0f} ms"),
                ("POST → frame at a reader, p95", "", f"{p95(frames):.0f} ms"),
                (f"{chosen.streams} idle streams: share of a core", "10 %", f"{share * 100:.1f} %"),
                ("  database connections that they add", "1", str(connections)),
                ("reading a session, nothing runs", "", f"{quiet * 1000:.0f} ms"),
                ("reading it while 20 turns run", "no slower", f"{busy * 1000:.0f} ms (× {busy / quiet:.2f})"),
            ],
        )
    )


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]


if __name__ == "__main__":
    main()
