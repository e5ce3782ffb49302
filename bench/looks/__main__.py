"""How does every page look? ``python -m bench.looks [--only WORD] [--part 2/4] [--axe | --lighthouse]``

Opens every page of a desk with something on each in headless Chromium, at four widths, light and dark, and says where
something is wider than the screen. Without options, pictures of all are made, and one sheet of them (docs/looks.jpg).
``--axe`` looks for what is hard to use instead, ``--lighthouse`` gives the main pages points (it is fetched from npm).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench import transcripts
from bench.growth.scroll import served
from bench.places import ROOT, installation, kept_installation, run

from . import checks, sheet

THEMES = ("light", "dark")
SIZES = ((375, 812), (768, 1024), (1440, 900), (3840, 2160))
LINES = 1_000
"""Of the long transcript."""
BUSY = ".htmx-request, [aria-busy=true]"
PATIENCE = 10_000
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", default="", help="pages whose name has this word")
    options.add_argument("--part", default="1/1", help="of these pages: 2/4 is their second quarter")
    options.add_argument("--to", type=Path, help="where the pictures go (default: nowhere but the sheet)")
    options.add_argument("--sheet", type=Path, default=ROOT / "docs" / "looks.jpg")
    options.add_argument("--data", type=Path, help="where the desk is kept, filled once (default: nowhere)")
    options.add_argument("--axe", action="store_true")
    options.add_argument("--lighthouse", action="store_true")
    chosen = options.parse_args()
    place = kept_installation(chosen.data) if chosen.data else installation()
    with place as environment, served(environment) as url:
        said = json.loads(run(environment, "-m", "bench.looks", "furnish", str(transcripts.cached(LINES)[0])))
        pages = {name: path for name, path in said["pages"].items() if chosen.only in name}
        pages = part_of(pages, chosen.part)
        if chosen.lighthouse:
            checks.lighthouse(url, said["cookie"], pages)
            return
        with chromium(url, said["cookie"]) as opened:
            if chosen.axe:
                checks.axe(opened, pages, SIZES[:3], THEMES)
            else:
                pictures(opened, pages, chosen.to, chosen.sheet)


def furnish(*files: str) -> dict[str, Any]:
    """The pages of a desk, and the cookie of its admin; in a process that has the environment of an installation."""
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client

    from sessions_app.models import Role
    from sessions_app.services import workspaces

    from . import desk

    workspace = workspaces.default_workspace()
    if not workspace.members.exists():
        desk.furnish(workspace, tuple(Path(file).read_bytes() for file in files))
    admin = workspace.members.filter(role=Role.ADMIN).earliest("pk")
    client = Client()
    client.force_login(admin.user)
    return {"cookie": client.cookies[settings.SESSION_COOKIE_NAME].value, "pages": desk.pages(workspace)}


def part_of(pages: dict[str, str], part: str) -> dict[str, str]:
    """Pages of one part, as ``2/4``: all parts have together what there is, each once."""
    number, parts = map(int, part.split("/"))
    return dict(list(pages.items())[len(pages) * (number - 1) // parts : len(pages) * number // parts])


@contextmanager
def chromium(url: str, cookie: str) -> Iterator[Any]:
    """``opened(width, height, theme)``: an empty page of somebody signed in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])

        def opened(width: int, height: int, theme: str) -> Any:
            context = browser.new_context(
                base_url=url, viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
            )
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
            return context.new_page()

        yield opened
        browser.close()


def pictures(opened: Any, pages: dict[str, str], folder: Path | None, target: Path) -> None:
    """A picture of each page in each form, and the sheet of all."""
    with tempfile.TemporaryDirectory() as scratch:
        to = folder or Path(scratch)
        to.mkdir(parents=True, exist_ok=True)
        for theme in THEMES:
            for width, height in SIZES:
                page = opened(width, height, theme)
                for name, path in pages.items():
                    show(page, path)
                    if (over := page.evaluate(OVERFLOW)) > 0:
                        print(f"{name} is {over} px too wide at {width} px: {path}")
                    page.screenshot(path=to / sheet.file_of(name, width, theme))
                page.context.close()
        if len(pages) > 1:
            sheet.make(opened, to, list(pages), [width for width, _ in SIZES], THEMES, target)


def show(page: Any, path: str) -> None:
    """Open a page and wait for what it fetches; a stream that stays open is not waited for."""
    from playwright.sync_api import expect

    page.goto(path)
    expect(page.locator(BUSY)).to_have_count(0, timeout=PATIENCE)
    page.evaluate("document.fonts.ready.then(() => new Promise((done) => setTimeout(done, 150)))")


if __name__ == "__main__":
    if sys.argv[1:2] == ["furnish"]:
        print(json.dumps(furnish(*sys.argv[2:])))
    else:
        main()
