"""Are pages of sessions ready sooner than elsewhere? ``python -m bench.peers DIRECTORY [--sessions 200] [--runs 3]``

Arize Phoenix and MLflow, each installed in an environment ``DIRECTORY/phoenix`` and ``DIRECTORY/mlflow`` (``pip install
arize-phoenix`` and ``mlflow``), are given the same sessions as this desk, by OTLP. Then all run side by side, and four
pages of each are opened in headless Chromium with an empty cache, in turn, so that noise meets all alike: the seconds
from the navigation, in a window that has come to rest, until its content shows. Each is said as it comes. The data stay
in the directory for the next run (``--again``).
"""

from __future__ import annotations

import argparse
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.measure import table

from . import work
from .products import PAGES, MLflow, Ours, Phoenix, Product

LIMIT = 120_000
"""Milliseconds after which a page counts as not ready."""
REST = 700
"""Milliseconds for a new window: setting it up takes the browser 120 to 330 ms of CPU that are no product's."""
HEAD = ("page", "ours s", "Phoenix s", "MLflow s", "Phoenix ×", "MLflow ×", "our JavaScript kB")
CHROMIUM = ("--no-sandbox", "--disable-gpu")
SCRIPTS = """performance.getEntriesByType("resource").filter(({ name }) => /\\.js($|\\?)/.test(name))
    .reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0)"""
Seen = dict[tuple[str, str], list[float]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("directory", type=Path)
    options.add_argument("--sessions", type=int, default=200, help="of 50 turns each (default 200)")
    options.add_argument("--spans", type=int, default=10_000, help="of the long session and the long trace")
    options.add_argument("--runs", type=int, default=3, help="of each page (default 3; the median counts)")
    options.add_argument("--again", action="store_true", help="open pages on the data of the run before")
    chosen = options.parse_args()
    long_trace = work.long_trace(chosen.spans)
    with running(chosen.directory, chosen.again) as products:
        if not chosen.again:
            for product in products:
                load(product, chosen.sessions, chosen.spans, long_trace)
        seen, scripts = opened(
            products, long_trace[0].trace.hex(), work.session_name(chosen.sessions // 2), chosen.runs
        )
    print(table(HEAD, [_row(page, seen, scripts[page]) for page in PAGES]))
    print(
        f"load {os.getloadavg()[0]:.1f}; {chosen.sessions:,} sessions of {work.TURNS} turns, {chosen.runs} runs a page"
    )


@contextmanager
def running(directory: Path, again: bool) -> Iterator[list[Product]]:
    """All three at once, on data of their own."""
    data = directory / "data"
    if not again:
        shutil.rmtree(data, ignore_errors=True)
    with ExitStack() as stack:
        products: list[Product] = []
        for start in (
            lambda: Ours(data / "ours"),
            lambda: Phoenix(directory / "phoenix", data / "phoenix"),
            lambda: MLflow(directory / "mlflow", data / "mlflow"),
        ):
            products.append(start())
            stack.callback(products[-1].stop)
        yield products


def load(product: Product, sessions: int, spans: int, long_trace: list[work.Span]) -> None:
    """Bodies are made before the clock starts: 2 to 3 s that are nobody's but the benchmark's."""
    all_spans = (*work.sessions(sessions), work.long_session(spans), long_trace)
    bodies = [body for some in all_spans for body in work.bodies(some, product.words, product.resource)]
    sent, began = sum(map(len, all_spans)), time.monotonic()
    product.send(bodies)
    product.wait_for(sent)
    print(f"{type(product).__name__}: {sent:,} spans shown after {time.monotonic() - began:.0f} s", flush=True)


def opened(products: list[Product], trace: str, middle: str, runs: int) -> tuple[Seen, dict[str, float]]:
    """Seconds until each page is ready, by product and page; and the kilobytes of script of our own pages."""
    from playwright.sync_api import sync_playwright

    seen: Seen = {}
    scripts: dict[str, float] = {}
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        places = {product: list(product.pages(trace, middle)) for product in products}
        cookies = {product: _signed_in(browser, product) for product in products}
        for number in range(runs + 1):
            for at, page in enumerate(PAGES):
                said: list[str] = []
                for product in products:
                    path, ready = places[product][at]
                    seconds, size = _opened(browser, f"{product.address}{path}", ready, cookies[product])
                    said.append(f"{type(product).__name__} {seconds:.2f}")
                    if number:  # the first one warms what a server keeps
                        seen.setdefault((type(product).__name__, page), []).append(seconds)
                    if isinstance(product, Ours):
                        scripts[page] = size
                print(f"{number} of {runs}, {page}: {', '.join(said)} s", flush=True)  # a long trace takes minutes
    return seen, scripts


def _signed_in(browser: Any, product: Product) -> list[Any]:
    if not product.sign_in:
        return []
    context = browser.new_context()
    page = context.new_page()
    page.goto(product.sign_in)
    if page.locator("form button").count():
        page.locator("form button").first.click()
        page.wait_for_load_state()
    cookies = context.cookies()
    context.close()
    return cookies


def _opened(browser: Any, url: str, ready: str, cookies: list[Any]) -> tuple[float, float]:
    # Without a page's own policy, which refuses what looks for the content where it was not there at the first look.
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    context.add_cookies(cookies)
    page = context.new_page()
    page.wait_for_timeout(REST)
    began = time.perf_counter()
    page.goto(url, wait_until="commit", timeout=LIMIT)
    page.wait_for_function(ready, timeout=LIMIT, polling=50)
    seconds = time.perf_counter() - began
    page.wait_for_load_state()
    size = page.evaluate(SCRIPTS) / 1e3
    context.close()
    return seconds, size


def _row(page: str, seen: Seen, script: float) -> tuple[str, ...]:
    ours, phoenix, mlflow = (median(seen[name, page]) for name in ("Ours", "Phoenix", "MLflow"))
    times = (f"{seconds:.2f}" for seconds in (ours, phoenix, mlflow))
    return (page, *times, f"{phoenix / ours:.1f}", f"{mlflow / ours:.1f}", f"{script:.0f}")


if __name__ == "__main__":
    main()
