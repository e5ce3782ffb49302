"""How soon does a reader see rows? ``python -m bench.growth.openings [--size 1] [--data FOLDER] [--runs 50]``

Opens the list of sessions and the first window of sessions of about 50, 5,000 and 50,000 events in headless Chromium,
in turn, from a server on loopback: milliseconds from the navigation until the first row is painted, and of those until
the first byte came; the CPU of the web process. Once as somebody who works here comes to it, in a tab that shows
another page of the desk, and once in a new window with an empty cache that has come to rest: while a browser sets up
its own window, which takes 120 to 330 ms of CPU, no server is measured. Beside them a page of fifty plain rows without
a style, a script, or a program behind it: what this machine's browser takes for any page. ``--size`` is a percent of
10,000,000 events, as in ``bench.growth``, whose installations below a folder are used again. Wall time: on a machine
that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median, quantiles
from threading import Thread
from typing import Any

import psutil

from bench.measure import table
from bench.places import kept_installation, run

from .__main__ import ANALYZE, WHOLE, _folder, fill
from .scroll import served

AIMS = {"list": 82, "50 events": 92, "5k events": 92, "50k events": 92}
"""ms, 95 of 100: what SmithDB publishes as its medians."""
FLOOR = "fifty plain rows"
REST = 700
"""ms, for what the page before still asks for, or for a new window."""
HEAD = ("page", "cache", "at most", "p95", "median", "first byte", "CPU of the server")
ROW = "[data-row], #timeline [data-seq]"
WATCH = f"""
    (function look() {{
        if (document.querySelector("{ROW}")) setTimeout(() => {{ window.paintedAt = performance.now(); }});
        else requestAnimationFrame(look);
    }})();
"""
"""In the frame that paints the first row its callbacks are called before, and what they put off comes after."""
SEEN = "() => window.paintedAt && [paintedAt, performance.getEntriesByType('navigation')[0].responseStart]"
PLACES = """
import django; django.setup()
from django.conf import settings
from django.test import Client
from django.urls import reverse
from sessions_app.models import Session, Role, Member
from sessions_app.services import audit, workspaces
from sessions_app.services.people import members
from bench.growth.routes import LENGTHS
workspace = workspaces.default_workspace()
reader = Member.objects.filter(workspace=workspace, user__email="reader@example.org").first() or members.add_member(
    workspace, "reader@example.org", "Reader", Role.REVIEWER, by=audit.COMMAND)[0]
client = Client()
client.force_login(reader.user)
print(client.cookies[settings.SESSION_COOKIE_NAME].value)
print("list", reverse("session-list"))
for name, bounds in LENGTHS.items():
    one = Session.objects.filter(workspace=workspace, event_count__range=bounds).order_by("id").first()
    if one:
        print(name, "events", reverse("session-detail", args=[one.agent_id, one.pk]))
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--size", default="1", help="percent of 100,000 sessions and 10,000,000 events (default 1)")
    options.add_argument("--data", type=Path, help="where installations are kept")
    options.add_argument("--runs", type=int, default=50)
    chosen = options.parse_args()
    with _folder(chosen.data) as folder:
        fill(folder / chosen.size, round(WHOLE * float(chosen.size) / 100))
        with kept_installation(folder / chosen.size) as environment:
            run(environment, "-c", ANALYZE)
            cookie, *places = run(environment, "-c", PLACES).splitlines()
            pages = dict(line.rsplit(" ", 1) for line in places)
            with served(environment) as url, _plain_rows() as pages[FLOOR]:
                rows = [_row(*one) for one in opened(url, cookie, pages, chosen.runs)]
    print(table(HEAD, rows))
    print(
        f"load {os.getloadavg()[0]:.1f}; ms; {chosen.runs} openings of each page, {chosen.size} % of 10,000,000 events"
    )


Opening = tuple[float, float, float]
"""ms until the first row is painted, until the first byte, and of the server's CPU."""


def opened(url: str, cookie: str, pages: dict[str, str], runs: int) -> Iterator[tuple[str, str, list[Opening]]]:
    """Each page and cache with its openings; the first three of each only warm."""
    from playwright.sync_api import sync_playwright

    web = next(one for one in psutil.Process().children() if "uvicorn" in one.cmdline())
    found: dict[tuple[str, str], list[Opening]] = {}
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        kept = _context(browser, url, cookie).new_page()
        for number in range(runs + 3):
            for name, path in pages.items():
                for cache in ("warm",) if name == FLOOR else ("warm", "empty"):
                    page = kept if cache == "warm" else _context(browser, url, cookie).new_page()
                    one = _opening(page, path, web)
                    if number > 2:
                        found.setdefault((name, cache), []).append(one)
                    if cache == "empty":
                        page.context.close()
        browser.close()
    yield from ((name, cache, times) for (name, cache), times in found.items())


def _context(browser: Any, url: str, cookie: str) -> Any:
    context = browser.new_context(base_url=url, viewport={"width": 1440, "height": 900})
    context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
    context.add_init_script(WATCH)
    return context


def _opening(page: Any, path: str, web: psutil.Process) -> Opening:
    page.wait_for_timeout(REST)
    before = sum(web.cpu_times()[:2])
    page.goto(path)
    while not (seen := page.evaluate(SEEN)):
        page.wait_for_timeout(20)
    return seen[0], seen[1], 1e3 * (sum(web.cpu_times()[:2]) - before)


@contextmanager
def _plain_rows() -> Iterator[str]:
    """The address of a page of fifty rows that are nothing but text."""
    row = "<tr data-row><td><a href=#>A session</a><td>What was asked for<td>12 calls<td>$1.00<td>3 min"
    page = f"<!doctype html><title>Rows</title><table>{row * 50}</table>".encode()

    class Rows(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Rows) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _row(name: str, cache: str, times: list[Opening]) -> tuple[str, ...]:
    painted, first, cpu = zip(*times, strict=True)
    p95 = quantiles(painted, n=20)[-1] if len(painted) > 1 else painted[0]
    figures = (f"{number:.0f}" for number in (p95, median(painted), median(first), median(cpu)))
    return (name, cache, str(AIMS.get(name, "")) if cache == "warm" else "", *figures)


if __name__ == "__main__":
    main()
