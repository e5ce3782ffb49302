"""Does a session page stay quick however far one reads? ``python -m bench.growth.scroll [--lines 10000] [--slow 4]``

Scrolls a long session in headless Chromium, slowed down, window by window. Says at some of them, and then back at the
beginning: the long tasks of the main thread since the step before, elements on the page, nodes that the browser keeps
(texts and what is not collected yet are in it), JavaScript heap. Then which tasks were long by their own CPU, and what
they are made of: ``--slow 1`` on a machine that has other work, for a browser that slows itself down takes what others
used for its own and does it three times more; there a task is long that took a quarter of 50 ms. Needs the packages for
development and Chromium.
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
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from bench import transcripts
from bench.measure import table
from bench.places import ROOT, installation, run

from . import tasks

WINDOWS = (1, 10, 20, 40, 80)
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
SEEN = """() => ({
    tasks: longTasks.splice(0), elements: document.querySelectorAll("*").length,
    seq: Math.max(...[...document.querySelectorAll("#timeline [data-seq]")].map((row) => Number(row.dataset.seq))),
})"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=10_000, help="of the transcript that is read (default 10000)")
    options.add_argument("--slow", type=float, default=SLOW, help=f"how much slower than this machine (default {SLOW})")
    options.add_argument("--windows", type=int, default=max(WINDOWS), help=f"how many (default {max(WINDOWS)})")
    options.add_argument("--lens", default="story", help="story (default), tools, requests or raw")
    chosen = options.parse_args()
    with installation() as environment:
        import_id = run(environment, "-m", "bench.worker", "start", str(transcripts.cached(chosen.lines)[0]))
        run(environment, "-m", "bench.worker", "run", import_id)
        path, cookie = run(environment, "-m", "bench.growth.scroll", "enter", import_id).splitlines()[-1].split()
        with served(environment) as url:
            rows = list(read(url, f"{path}?lens={chosen.lens}", cookie, chosen.slow, chosen.windows))
    print(table(HEAD, rows))
    print(f"load {os.getloadavg()[0]:.1f}; a long task takes at least {LONG} ms; CPU slowed down {chosen.slow:g} ×")


def enter(import_id: str) -> str:
    """The path of the imported session, and the cookie of somebody signed in."""
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from sessions_app.models import Session
    from sessions_app.services.people import members, sign_in_links

    token = members.one_time_link_for_first_admin().strip("/").split("/")[-1]
    client = Client()
    client.force_login(sign_in_links.use(token).user)
    session = Session.objects.get(import_links__imported=import_id)
    path = reverse("session-detail", args=[session.agent_id, session.pk])
    return f"{path} {client.cookies[settings.SESSION_COOKIE_NAME].value}"


@contextmanager
def served(environment: dict[str, str], port: int = 8811) -> Iterator[str]:
    """The address of a web server on the installation."""
    command = [
        "-m",
        "uvicorn",
        "config.asgi:application",
        "--port",
        str(port),
        "--lifespan",
        "off",
        "--log-level",
        "error",
    ]
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


def read(url: str, path: str, cookie: str, slow: float, windows: int) -> Iterator[tuple[str, ...]]:
    """Rows of the table: on the way down, and back at the beginning."""
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
        browser.start_tracing(page=page, categories=list(tasks.CATEGORIES))
        page.goto(path)
        yield _row("1", page, tools)
        for window in range(2, windows + 1):
            page.evaluate(SEEN)
            page.evaluate(f"performance.mark('{tasks.MARK}{window}')")
            page.evaluate(STEP, True)
            if window in WINDOWS:
                yield _row(str(window), page, tools)
        tell(json.loads(browser.stop_tracing())["traceEvents"], LONG * slow / SLOW)
        page.evaluate(SEEN)
        while page.evaluate(STEP, False) > 0:
            pass
        yield _row("back at 1", page, tools)
        browser.close()


def tell(trace: list[dict[str, Any]], least: float) -> None:
    """The dearest of the tasks of the way down that took so many ms of CPU."""
    found = tasks.long_tasks(trace, least)
    print(f"{len(found)} tasks of {least:g} ms of CPU or more", *found[:SHOWN], sep="\n")


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
