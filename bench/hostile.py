"""Does a hostile transcript do anything in a browser? ``python -m bench.hostile [--sessions 200] [--seed 0]``

Makes sessions at random of what has broken pages, and of what never should (the pieces of
``tests/views/session/hostile/test_many.py``), and reads each in headless Chromium: its story with all folds open, and
on a phone its tools and its events; of every tenth its other pages, and of as many imported files what no event says of
them; lists of all of them and searches, last. Says what ran a script, tried to (the
policy of the page refused it), asked another address, or made a page wider than its screen: its exit status is 1 then.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Iterator
from typing import Any

from bench import transcripts
from bench.growth.scroll import served
from bench.looks.__main__ import OVERFLOW, chromium, show
from bench.measure import table
from bench.places import installation, run

TURNS = 3
"""Of a session: 15 events and more."""
LINES = 200
"""Of an imported file."""
WIDTHS = ((375, 812), (1440, 900))
LENSES = ("?lens=story&show=everything", "?lens=tools", "?lens=raw")
EVERY = 10
PARTS = ("/files", "/graph", "/waterfall", "/cost", "/review", "/continue", "/facts", "?replay=1")
"""Pages of every tenth session."""
PLACES = ("/sessions/", "/search/?q=alert", "/search/?q=script", "/agents/", "/imports/", "/")
PATIENCE = 600
"""ms for what unfolds to come."""
WATCH = """
    window.acted = [];
    for (const name of ["alert", "confirm", "prompt", "open"]) window[name] = (said) => acted.push(`${name}(${said})`);
    addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) => {
        acted.push(`${violatedDirective} refused: ${blockedURI}`);
    });
"""
UNFOLD = """() => { for (const row of document.querySelectorAll("#timeline details")) row.open = true; }"""
MADE = """() => [...document.querySelectorAll(
    "main :is(script, iframe, object, base, style, [onerror], [onload], [onfocus], a[href^='javascript:' i])"
)].map((one) => one.outerHTML.slice(0, 120))"""
BARS = """() => { const bar = document.querySelector("header, nav"); return Boolean(bar?.checkVisibility()); }"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", type=int, default=200)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    with installation() as environment, served(environment) as url:
        said = run(environment, "-m", "bench.hostile", "make", str(chosen.sessions), str(chosen.seed))
        made = json.loads(said.splitlines()[-1])
        with chromium(url, made["cookie"]) as opened:
            seen, faults = read(url, opened, made["paths"])
    counts = (chosen.sessions, made["events"], seen, faults)
    print(table(("sessions", "events", "pages", "faults"), [tuple(f"{count:,}" for count in counts)]))
    print(f"seed {chosen.seed}; load {os.getloadavg()[0]:.1f}")
    raise SystemExit(bool(faults))


def make(count: int, seed: int) -> dict[str, Any]:
    """Addresses of the pages of sessions, and a cookie; in a process that has the environment of an installation."""
    import django

    django.setup()
    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from sessions_app.models import Session
    from sessions_app.services import agents, audit, workspaces
    from sessions_app.services.log import search_index
    from sessions_app.services.people import members, sign_in_links
    from tests.views.session.build import BOT, path_of, session_with
    from tests.views.session.hostile.test_many import text_of, transcript
    from vcon_app.models import Import
    from vcon_app.services.imports import import_jobs

    workspace = workspaces.default_workspace()
    agent = agents.create(workspace.pk, "<b onclick=alert(0)>", by=BOT, description="<script>alert(0)</script>")
    paths, events = [], 0
    for number in range(count):
        rnd = random.Random(1_000 * seed + number)
        new = [event for turn in range(TURNS) for event in transcript(rnd, turn)]
        told = {"environment": {"cwd": text_of(rnd)}}
        session = session_with(agent, new, title=text_of(rnd).replace("\0", ""), metadata=told)
        search_index.index(session.pk)
        paths += [path_of(session) + lens for lens in LENSES]
        events += session.last_seq
        if number % EVERY == 0:
            paths += [path_of(session) + part for part in PARTS]
            name = f"{text_of(rnd)[:200]}.jsonl".replace("\0", "")
            made = import_jobs.start_import(workspace, name, [file_of(rnd, number)], by=audit.COMMAND)
            import_jobs.run(made.pk)
            told_by = Import.objects.get(pk=made.pk).session_links.get().session
            paths += [reverse("import-detail", args=[made.pk]), reverse("file-parts", args=[told_by.pk])]
            paths += [reverse("share-links", args=[told_by.pk]), path_of(told_by)]
    Session.objects.filter(agent=agent).update(phase="completed")
    token = members.one_time_link_for_first_admin().strip("/").split("/")[-1]
    client = Client()
    client.force_login(sign_in_links.use(token).user)
    return {"paths": paths, "events": events, "cookie": client.cookies[settings.SESSION_COOKIE_NAME].value}


def file_of(rnd: random.Random, number: int) -> bytes:
    """A transcript whose lines say more than any reader knows, under keys and in words of the same kind."""
    from tests.views.session.hostile.test_many import KEYS, text_of, value_of

    lines = transcripts.cached(LINES)[0].read_text(encoding="utf-8").replace("00000000-", f"{number:08d}-").splitlines()
    more = [{rnd.choice((*KEYS, text_of(rnd)[:80])): value_of(rnd) for _ in range(3)} for _ in lines]
    return "\n".join(json.dumps(extra | json.loads(line)) for line, extra in zip(lines, more, strict=True)).encode()


def read(url: str, opened: Any, paths: list[str]) -> tuple[int, int]:
    """How many pages were opened, and how much was wrong with them, which is said as it is found.

    On a phone all, on a desktop without two of the lenses.
    """
    seen = faults = 0
    for width, height in WIDTHS:
        page = opened(width, height, "light")
        elsewhere: list[str] = []
        page.on("request", lambda one, asked=elsewhere: asked.append(one.url) if not _is_ours(one.url, url) else None)
        page.on("dialog", lambda one, asked=elsewhere: (asked.append(f"dialog {one.message}"), one.dismiss()))
        page.add_init_script(WATCH)
        shown = [path for path in paths if width == WIDTHS[0][0] or not path.endswith(LENSES[1:])]
        for place in [*shown, *PLACES]:
            seen += 1
            found = [*_looked_at(page, place), *(f"asked {address}" for address in elsewhere)]
            elsewhere.clear()
            faults += len(found)
            print(*(f"{place} {width}: {fault}" for fault in found), sep="\n", end="\n" if found else "", flush=True)
        page.context.close()
    return seen, faults


def _is_ours(address: str, url: str) -> bool:
    return address.startswith((f"{url}/", "data:", "blob:"))


def _looked_at(page: Any, place: str) -> Iterator[str]:
    show(page, place)
    page.evaluate(UNFOLD)
    page.wait_for_timeout(PATIENCE if "show=everything" in place else 0)
    yield from (f"did {what}" for what in page.evaluate("acted"))
    yield from (f"became {tag}" for tag in page.evaluate(MADE))
    if (over := page.evaluate(OVERFLOW)) > 0:
        yield f"{over} px too wide"
    if not page.evaluate(BARS):
        yield "the bar of the desk is out of sight"


if __name__ == "__main__":
    if sys.argv[1:2] == ["make"]:
        print(json.dumps(make(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
