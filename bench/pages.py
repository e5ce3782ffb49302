"""Does a page cost more when the session is long? ``python -m bench.pages [--lines 50,50000] [--runs 30]``

The first window of the session page, answered in one process without a network: CPU time (the median), wall time (the
least: what PostgreSQL does is in it, what the machine does besides is not), bytes, queries. Both files begin alike.
"""

from __future__ import annotations

import argparse
import json
import sys
from statistics import median
from time import perf_counter, process_time
from typing import Any

from . import transcripts
from .measure import table
from .places import analyze, installation, run

MOST_BYTES, MOST_TIMES = 300_000, 1.2
HEAD = ("lines", "least wall ms", "CPU ms", "kB", "queries", "events on the page")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", default="50,50000")
    options.add_argument("--runs", type=int, default=30)
    chosen = options.parse_args()
    lengths = [int(lines) for lines in chosen.lines.split(",")]
    with installation() as environment:
        imports = [_imported(environment, lines) for lines in lengths]
        said = run(environment, "-m", "bench.pages", "measure", str(chosen.runs), *imports)
    found = dict(zip(lengths, json.loads(said.splitlines()[-1]), strict=True))
    print(table(HEAD, [_row(lines, page) for lines, page in found.items()]))
    least, most = found[min(found)], found[max(found)]
    wall, cpu = most["wall"] / least["wall"], most["cpu"] / least["cpu"]
    size = f"{most['bytes'] / 1000:.0f} kB (at most {MOST_BYTES / 1000:.0f})"
    print(f"\nwall × {wall:.2f}, CPU × {cpu:.2f} (at most {MOST_TIMES}); {size}")


def _row(lines: int, page: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{page['wall']:.1f}", f"{page['cpu']:.1f}", f"{page['bytes'] / 1000:.0f}")
    return (f"{lines:,}", *times, str(page["queries"]), str(page["events"]))


def _imported(environment: dict[str, str], lines: int) -> str:
    import_id = run(environment, "-m", "bench.worker", "start", str(transcripts.cached(lines)[0]))
    run(environment, "-m", "bench.worker", "run", import_id)
    return import_id


def measure(runs: int, import_ids: list[str]) -> list[dict[str, Any]]:
    """What the first windows cost in this process once it is warm; asked for in turn, so that noise meets all alike."""
    import django

    django.setup()
    from django.test import Client
    from django.urls import reverse

    from sessions_app.models import Session
    from sessions_app.services.people import members, sign_in_links

    analyze()
    client = Client(SERVER_NAME="localhost")
    token = members.one_time_link_for_first_admin().strip("/").split("/")[-1]
    client.force_login(sign_in_links.use(token).user)
    sessions = [Session.objects.get(import_links__imported=import_id) for import_id in import_ids]
    urls = [reverse("session-detail", args=[session.agent_id, session.pk]) for session in sessions]
    rounds = [[_timed(lambda url=url: client.get(url)) for url in urls] for _ in range(runs + 3)][3:]
    return [_summary(client, url, [times[n] for times in rounds]) for n, url in enumerate(urls)]


def _summary(client: Any, url: str, times: list[tuple[float, float]]) -> dict[str, Any]:
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
