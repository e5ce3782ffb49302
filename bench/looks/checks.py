"""What axe-core and Lighthouse say of the pages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from bench.measure import table
from bench.places import CACHE

LIGHTHOUSE = "lighthouse@12.8.2"
MAIN = ("home", "sessions", "session-story", "session-long", "inbox", "reviews", "usage", "agents", "imports", "audit")
CATEGORIES = ("performance", "accessibility", "best-practices")
# Without "preload": axe would fetch the style sheets anew and put them into the page, which its policy refuses.
RUN = """() => axe.run(document, { preload: false, resultTypes: ["violations"] }).then(
    ({ violations }) => violations.map((one) => [
        one.id, one.impact, one.nodes.length, one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]))"""


def violations(page: Any) -> list[Any]:
    """What axe-core finds on an open page: rule, impact, how many elements, the first of them."""
    if not page.evaluate("Boolean(window.axe)"):
        page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    return list(page.evaluate(RUN))


def axe(opened: Any, pages: dict[str, str], sizes: Sequence[tuple[int, int]], themes: Sequence[str]) -> None:
    """Say what is found on every page, in each size and theme."""
    from .__main__ import show

    seen = found = 0
    for theme in themes:
        for width, height in sizes:
            page = opened(width, height, theme)
            for name, path in pages.items():
                show(page, path)
                seen += 1
                for rule, impact, count, first in violations(page):
                    found += 1
                    print(f"{name} {width} {theme}: {rule} ({impact}, {count})", *first, sep="\n    ")
            page.context.close()
    print(f"{found} violations in {seen} runs over {len(pages)} pages")


def lighthouse(url: str, cookie: str, pages: dict[str, str]) -> None:
    """A table of points out of 100 for the main pages, as on a desktop."""
    place = CACHE / LIGHTHOUSE
    if not (place / "node_modules").is_dir():
        subprocess.run(["npm", "install", "--no-audit", "--ignore-scripts", "--prefix", place, LIGHTHOUSE], check=True)
    rows = [_points(place, url, cookie, name, pages[name]) for name in MAIN if name in pages]
    print(table(("page", *CATEGORIES, "FCP ms", "blocking ms"), rows))


def _points(place: Path, url: str, cookie: str, name: str, path: str) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        subprocess.run(
            [
                "node", place / "node_modules" / "lighthouse" / "cli" / "index.js", f"{url}{path}", "--quiet",
                "--preset=desktop", "--output=json", f"--output-path={report}",
                f"--only-categories={','.join(CATEGORIES)}", "--chrome-flags=--headless=new --no-sandbox --disable-gpu",
                f"--extra-headers={json.dumps({'Cookie': f'sessionid={cookie}'})}",
            ],
            check=True, env=os.environ | {"HOME": scratch, "CHROME_PATH": shutil.which("chromium") or ""},
        )  # fmt: skip
        said = json.loads(report.read_text(encoding="utf-8"))
    points = (f"{100 * said['categories'][one]['score']:.0f}" for one in CATEGORIES)
    failed = [
        one["id"]
        for one in said["audits"].values()
        if one.get("score") == 0 and one.get("scoreDisplayMode") == "binary"
    ]
    times = (f"{said['audits'][one]['numericValue']:.0f}" for one in ("first-contentful-paint", "total-blocking-time"))
    if failed:
        print(f"{name}: {', '.join(failed)}")
    return name, *points, *times
