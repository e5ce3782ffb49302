"""Does a session page stay quick however far one reads? ``python -m bench.growth.scroll [--lines 10000] [--slow 4]``

Scrolls a long session in headless Chromium, slowed down, window by window, the first 100 steps under a trace; with
``--end`` then as fast as it comes to the last event. Says at some windows, at the end, and back at the beginning: the
long tasks of the main thread since the row before, elements on the page, nodes that the browser keeps (texts and what
is not collected yet are in it), JavaScript heap. Then which tasks of the steps were long by their own CPU, and what
they are made of. On a machine that has other work look at ``--slow 1``: a browser that slows itself down takes what
others used for its own and does it three times more; there a task is long that took a quarter of 50 ms.
``--data FOLDER`` keeps the installation, and the next run imports nothing. Needs the packages for development and
Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from bench import transcripts
from bench.measure import table
from bench.places import ROOT, free_port, installation, kept_installation, run

from . import tasks

WINDOWS = (1, 10, 20, 40, 80, 101)
TRACED = 20
"""Steps of one trace: the browser keeps no more of them."""
LONG = 50
"""ms: a task that long makes a page miss frames."""
SLOW = 4
"""How much slower than this machine a reader's is."""
SHOWN = 8
"""Of the long tasks."""
HEAD = ("window", "long tasks ms", "elements", "nodes", "heap MB", "seq read")
READY = 30

WATCH = """
    window.longTasks = [];
    new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((one) => Math.round(one.duration))))
        .observe({ type: "longtask", buffered: true });
"""
STEP = """async (down) => {
    const frame = () => new Promise((resolve) => setTimeout(resolve, 30));
    const more = document.querySelector("#timeline > .more.after");
    const top = scrollY;
    if (down) scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
    else scrollBy({ top: -2 * innerHeight, behavior: "instant" });
    const over = down ? () => !more?.isConnected : () => scrollY < top || !top;
    for (let waited = 0; waited < 400 && !over(); waited += 1) await frame();
    for (let quiet = 0, waited = 0; quiet < 5 && waited < 400; waited += 1) {
        quiet = document.querySelector("#timeline .htmx-request, #timeline [aria-busy]") ? 0 : quiet + 1;
        await frame();
    }
    return scrollY;
}"""
ON = """async () => {
    let came = 0;
    for (let more; came < 50 && (more = document.querySelector("#timeline > .more.after")); came += 1) {
        for (let waited = 0; waited < 1_000 && more.isConnected; waited += 1) {
            scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    }
    return came;
}"""
BACK = """async () => {
    scrollTo({ top: 0, behavior: "instant" });
    for (let quiet = 0, waited = 0; quiet < 5 && waited < 400; waited += 1) {
        quiet = document.querySelector("#timeline [aria-busy]") ? 0 : quiet + 1;
        await new Promise((resolve) => setTimeout(resolve, 30));
    }
}"""
SEEN = """() => ({
    tasks: longTasks.splice(0), elements: document.querySelectorAll("*").length,
    seq: Math.max(...[...document.querySelectorAll("#timeline [data-seq]")].map((row) => Number(row.dataset.seq))),
})"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=10_000, help="of the transcript that is read (default 10000)")
    options.add_argument("--slow", type=float, default=SLOW, help=f"how much slower than this machine (default {SLOW})")
    options.add_argument("--windows", type=int, default=max(WINDOWS), help=f"how many (default {max(WINDOWS)})")
    options.add_argument("--end", action="store_true", help="then go on to the last event, without slowing down")
    options.add_argument("--data", type=Path, help="where the installation is kept (default: nowhere)")
    options.add_argument("--lens", default="story", help="story (default), tools, requests or raw")
    chosen = options.parse_args()
    file = transcripts.cached(chosen.lines)[0]
    with kept_installation(chosen.data) if chosen.data else installation() as environment:
        path, cookie = run(environment, "-m", "bench.growth.scroll", "enter", str(file)).splitlines()[-1].split()
        with served(environment) as url:
            rows: list[tuple[str, ...]] = []
            for row in read(url, f"{path}?lens={chosen.lens}", cookie, chosen.slow, chosen.windows, end=chosen.end):
                print(*row, sep="; ", flush=True)
                rows.append(row)
    print(table(HEAD, rows))
    print(f"load {os.getloadavg()[0]:.1f}; a long task takes at least {LONG} ms; CPU slowed down {chosen.slow:g} ×")


def enter(file: str) -> str:
    """The path of the session in a file, imported unless it is there, and the cookie of somebody signed in."""
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from sessions_app.models import Role, Session
    from sessions_app.services import audit, workspaces
    from sessions_app.services.people import members
    from vcon_app.services.imports import import_jobs

    workspace, name = workspaces.default_workspace(), Path(file).name
    if not Session.objects.filter(import_links__imported__filename=name).exists():
        import_jobs.run(import_jobs.start_import(workspace, name, [Path(file).read_bytes()], by=audit.COMMAND).pk)
    admin = workspace.members.filter(role=Role.ADMIN).first()
    if not admin:
        admin = members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]
    client = Client()
    client.force_login(admin.user)
    session = Session.objects.filter(import_links__imported__filename=name).earliest("pk")
    path = reverse("session-detail", args=[session.agent_id, session.pk])
    return f"{path} {client.cookies[settings.SESSION_COOKIE_NAME].value}"


@contextmanager
def served(environment: dict[str, str]) -> Iterator[str]:
    """The address of a web server on the installation, at a port of its own."""
    port = free_port()
    command = [
        "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--lifespan", "off", "--log-level", "error",
        "--timeout-graceful-shutdown", "3",  # streams that a browser left open
    ]  # fmt: skip
    web = subprocess.Popen([sys.executable, *command], cwd=ROOT, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(READY * 10):
            try:
                urlopen(f"{url}/healthz", timeout=2).close()
                break
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        yield url
    finally:
        web.terminate()
        web.wait(10)


def read(
    url: str, path: str, cookie: str, slow: float, windows: int, *, end: bool = False
) -> Iterator[tuple[str, ...]]:
    """Rows of the table: on the way down, at the end where that is asked for, and back at the beginning."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
        page = context.new_page()
        page.add_init_script(WATCH)
        tools = context.new_cdp_session(page)
        tools.send("Performance.enable")
        tools.send("Emulation.setCPUThrottlingRate", {"rate": slow})
        page.goto(path)
        yield _row("1", page, tools)
        found: list[tasks.Task] = []
        for first in range(2, windows + 1, TRACED):
            browser.start_tracing(page=page, categories=list(tasks.CATEGORIES))
            for window in range(first, min(first + TRACED, windows + 1)):
                page.evaluate(f"performance.mark('{tasks.MARK}{window}')")
                page.evaluate(STEP, True)
                if window in WINDOWS:
                    yield _row(str(window), page, tools)
            found += tasks.long_tasks(json.loads(browser.stop_tracing())["traceEvents"], LONG * slow / SLOW)
        tell(found, LONG * slow / SLOW)
        if end:
            tools.send("Emulation.setCPUThrottlingRate", {"rate": 1})
            yield _row(f"{windows + _to_the_end(page)}: the end", page, tools)
        page.evaluate(BACK)
        yield _row("back at 1", page, tools)
        browser.close()


def _to_the_end(page: Any) -> int:
    """Scroll until nothing more comes; the number of windows that came."""
    windows = 0
    while came := page.evaluate(ON):
        windows += came
    page.evaluate(SEEN)
    return windows


def tell(found: list[tasks.Task], least: float) -> None:
    """The dearest of the tasks of the way down that took so many ms of CPU, but for what the benchmark asked for."""
    own = sorted((one for one in found if one.step), key=lambda one: -one.cpu)
    print(f"{len(own)} tasks of {least:g} ms of CPU or more", *own[:SHOWN], sep="\n")


def _row(name: str, page: Any, tools: Any) -> tuple[str, ...]:
    page.wait_for_timeout(300)
    page.evaluate(f"performance.mark('{tasks.MARK}0')")  # what is collected now is no part of a step
    tools.send("HeapProfiler.collectGarbage")
    seen = page.evaluate(SEEN)
    metrics = {one["name"]: one["value"] for one in tools.send("Performance.getMetrics")["metrics"]}
    longest = ", ".join(str(task) for task in sorted(seen["tasks"], reverse=True)[:4]) or "none"
    heap = f"{metrics['JSHeapUsedSize'] / 1e6:.1f}"
    return name, longest, f"{seen['elements']:,}", f"{metrics['Nodes']:,.0f}", heap, f"{seen['seq']:,}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["enter"]:
        print(enter(sys.argv[2]))
    else:
        main()
