"""Does a page cost more when the session is long? ``python -m bench.pages [--lines 50,50000] [--runs 30]``

The first window of the session page, answered in one process without a network: CPU and wall time (median), bytes,
queries. The same for what follows when somebody scrolls on.
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
from .places import installation, run

MOST_BYTES, MOST_TIMES = 300_000, 1.2
HEAD = ("lines", "wall ms", "CPU ms", "kB", "queries", "events on the page")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", default="50,50000")
    options.add_argument("--runs", type=int, default=30)
    chosen = options.parse_args()
    found = {}
    with installation() as environment:
        for lines in map(int, chosen.lines.split(",")):
            import_id = run(environment, "-m", "bench.worker", "start", str(transcripts.cached(lines)[0]))
            run(environment, "-m", "bench.worker", "run", import_id)
            found[lines] = json.loads(
                run(environment, "-m", "bench.pages", "measure", import_id, str(chosen.runs)).splitlines()[-1]
            )
    print(table(HEAD, [
        (f"{lines:,}", f"{page['wall']:.1f}", f"{page['cpu']:.1f}", f"{page['bytes'] / 1000:.0f}", str(page["queries"]),
         str(page["events"]))
        for lines, page in found.items()
    ]))  # fmt: skip
    least, most = found[min(found)], found[max(found)]
    print(f"\nwall × {most['wall'] / least['wall']:.2f}, CPU × {most['cpu'] / least['cpu']:.2f} (at most {MOST_TIMES});"
          f" {most['bytes'] / 1000:.0f} kB (at most {MOST_BYTES / 1000:.0f})")  # fmt: skip


def measure(import_id: str, runs: int) -> dict[str, Any]:
    """What the first window of an imported session costs in this process, once it is warm."""
    import django

    django.setup()
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext
    from django.urls import reverse

    from sessions_app.models import Session
    from sessions_app.services import people

    session = Session.objects.get(import_links__imported=import_id)
    client = Client(SERVER_NAME="localhost")
    client.force_login(people.use_sign_in_link(people.one_time_link_for_first_admin().strip("/").split("/")[-1]))
    url = reverse("session-detail", args=[session.agent_id, session.pk])
    times = [_timed(lambda: client.get(url)) for _ in range(runs + 3)][3:]
    with CaptureQueriesContext(connection) as queries:
        page = client.get(url)
    assert page.status_code == 200, page.status_code
    text = page.content.decode()
    return {
        "wall": 1_000 * median(wall for wall, _ in times), "cpu": 1_000 * median(cpu for _, cpu in times),
        "bytes": len(page.content), "queries": len(queries), "events": text.count("data-seq="),
    }  # fmt: skip


def _timed(work: Any) -> tuple[float, float]:
    wall, cpu = perf_counter(), process_time()
    work()
    return perf_counter() - wall, process_time() - cpu


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        main()
