"""Does a page cost more when the session is long? ``python -m bench.pages [--lines 50,5000,50000] [--runs 30]``

The session page at its beginning, by a link into the middle, at its last turn, with a search in it and as a sorted
table of its tool calls, answered in one process without a network: CPU time (the median), wall time (the least: what
PostgreSQL does is in it, what the machine does besides is not), bytes, queries. The files begin alike.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from statistics import median
from time import perf_counter, process_time
from typing import Any

from . import transcripts
from .measure import table
from .places import analyze, installation, run

Page = dict[str, Any]
MOST_BYTES, MOST_TIMES = 300_000, 1.2
HEAD = ("page", "lines", "least wall ms", "CPU ms", "kB", "queries", "events on the page", "wall ×", "CPU ×")
PAGES = {
    "first window": "",
    "middle": "?event={middle}",
    "last turn": "?turn={turn}",
    "search": "?q=frost+valve",
    "tools by time": "?lens=tools&sort=-took",
}
"""What is asked for, by name; ``middle`` and ``turn`` are the session's own."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", default="50,5000,50000")
    options.add_argument("--runs", type=int, default=30)
    chosen = options.parse_args()
    lengths = [int(lines) for lines in chosen.lines.split(",")]
    with installation() as environment:
        imports = [_imported(environment, lines) for lines in lengths]
        said = run(environment, "-m", "bench.pages", "measure", str(chosen.runs), *imports)
    found = json.loads(said.splitlines()[-1])
    rows = [_row(name, *one) for name, pages in found.items() for one in _beside(lengths, pages)]
    print(table(HEAD, rows))
    print(f"\nat most × {MOST_TIMES} of the shortest and {MOST_BYTES / 1000:.0f} kB; load {os.getloadavg()[0]:.1f}")


def _beside(lengths: list[int], pages: list[Page]) -> Iterator[tuple[int, Page, Page]]:
    """Each length with its page and that of the first length."""
    return ((lines, page, pages[0]) for lines, page in zip(lengths, pages, strict=True))


def _row(name: str, lines: int, page: Page, least: Page) -> tuple[str, ...]:
    times = (f"{page['wall']:.1f}", f"{page['cpu']:.1f}", f"{page['bytes'] / 1000:.0f}")
    ratios = (f"{page[what] / least[what]:.2f}" for what in ("wall", "cpu"))
    return (name, f"{lines:,}", *times, str(page["queries"]), str(page["events"]), *ratios)


def _imported(environment: dict[str, str], lines: int) -> str:
    import_id = run(environment, "-m", "bench.worker", "start", str(transcripts.cached(lines)[0]))
    run(environment, "-m", "bench.worker", "run", import_id)
    return import_id


def measure(runs: int, import_ids: list[str]) -> dict[str, list[Page]]:
    """What pages cost in this process once it is warm; asked for in turn, so that noise meets all alike."""
    import django

    django.setup()
    from django.test import Client

    from sessions_app.models import Session
    from sessions_app.services.people import members, sign_in_links

    analyze()
    client = Client(SERVER_NAME="localhost")
    token = members.one_time_link_for_first_admin().strip("/").split("/")[-1]
    client.force_login(sign_in_links.use(token).user)
    sessions = [Session.objects.get(import_links__imported=import_id) for import_id in import_ids]
    return {
        name: _measured(client, [_url(session, asked) for session in sessions], runs) for name, asked in PAGES.items()
    }


def _url(session: Any, asked: str) -> str:
    from django.urls import reverse

    path = reverse("session-detail", args=[session.agent_id, session.pk])
    return path + asked.format(middle=session.last_seq // 2, turn=session.turn_count)


def _measured(client: Any, urls: list[str], runs: int) -> list[Page]:
    rounds = [[_timed(lambda url=url: client.get(url)) for url in urls] for _ in range(runs + 3)][3:]
    return [_summary(client, url, [times[n] for times in rounds]) for n, url in enumerate(urls)]


def _summary(client: Any, url: str, times: list[tuple[float, float]]) -> Page:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        page = client.get(url)
    assert page.status_code == 200, page.status_code
    walls, cpus = zip(*times, strict=True)
    wall, cpu = 1_000 * min(walls), 1_000 * median(cpus)
    events = page.content.decode().count("data-seq=")
    return {"wall": wall, "cpu": cpu, "bytes": len(page.content), "queries": len(queries), "events": events}


def _timed(work: Any) -> tuple[float, float]:
    wall, cpu = perf_counter(), process_time()
    work()
    return perf_counter() - wall, process_time() - cpu


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]), sys.argv[3:])))
    else:
        main()
