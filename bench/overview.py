"""What does the overview of a long session cost? ``python -m bench.overview [--lines 50,5000,50000]``

The first time (all events are read, counted and drawn), again (one row is read), and after 20 more events; with the
bytes of the picture. The import pays nothing for it: the overview is made when somebody asks.
"""

from __future__ import annotations

import argparse
import sys

import orjson

from . import transcripts
from .measure import table
from .places import installation, run

MEASURE = """
import sys, time, django, orjson
django.setup()
from sessions_app.drafts import EventDraft
from sessions_app.models import Session
from sessions_app.queries.log import overview as queries, waterfall
from sessions_app.services import workspaces, audit
from sessions_app.services.log import events, links, overview
from vcon_app.services.imports import import_jobs
from bench.places import analyze

workspace = workspaces.default_workspace()
with open(sys.argv[1], "rb") as file:
    job = import_jobs.start_import(workspace, "t.jsonl", [file.read()], by=audit.COMMAND)
import_jobs.run(job.id)
analyze()
session = Session.objects.get(parent=None)

def took(work):
    began = time.perf_counter()
    found = work()
    return (time.perf_counter() - began) * 1000, found

first, drawn = took(lambda: overview.read_on(session))
again = min(took(lambda: queries.overview_of(session.pk))[0] for _ in range(20))
events.append(session.pk, [EventDraft("note", f"bench{n}") for n in range(20)], origin=links.RUNTIME)
session.refresh_from_db()
more, _ = took(lambda: overview.read_on(session))
middle, _ = took(lambda: waterfall.waterfall(session, session.last_seq // 2))
sizes = {name: len(drawn.pictures[name]["body"]) for name in ("events", "time", "small")}
print(orjson.dumps({"first": first, "again": again, "more": more, "middle": middle, **sizes}).decode())
"""
HEAD = (
    "lines",
    "first ms",
    "again ms",
    "20 events more ms",
    "page of waterfall ms",
    "by events B",
    "by time B",
    "row B",
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--lines", default="50,5000,50000")
    rows: list[tuple[str, ...]] = []
    for lines in map(int, options.parse_args().lines.split(",")):
        print(f"{lines:,} lines", file=sys.stderr)
        file, _ = transcripts.cached(lines)
        with installation() as environment:
            said = orjson.loads(run(environment, "-c", MEASURE, str(file)).splitlines()[-1])
        times = [f"{said[name]:.1f}" for name in ("first", "again", "more", "middle")]
        rows.append((f"{lines:,}", *times, *(f"{said[name]:,}" for name in ("events", "time", "small"))))
    print(table(HEAD, rows))


if __name__ == "__main__":
    main()
