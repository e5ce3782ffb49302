"""Does the inbox cost more when much waits and much is past? ``python -m bench.gate.inbox [--runs 30]``

The page with 10 approvals that wait and none past, against one with 1,000 that wait and 100,000 past, each in a
workspace of its own of one installation; answered in one process without a network: CPU time (the median), wall time
(the least), bytes, queries.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from ..measure import table
from ..pages import _timed
from ..places import analyze, installation, run

SIZES = ((10, 0), (1_000, 100_000))
"""Approvals that wait, and past ones."""
MOST_TIMES = 1.3
HEAD = ("waiting", "past", "least wall ms", "CPU ms", "kB", "queries")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=30)
    chosen = options.parse_args()
    with installation() as environment:
        said = run(environment, "-m", "bench.gate.inbox", "measure", str(chosen.runs))
    found = json.loads(said.splitlines()[-1])
    print(table(HEAD, [_row(size, page) for size, page in zip(SIZES, found, strict=True)]))
    wall, cpu = (found[1][name] / found[0][name] for name in ("wall", "cpu"))
    print(f"\nwall × {wall:.2f}, CPU × {cpu:.2f} (at most {MOST_TIMES})")


def _row(size: tuple[int, int], page: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{page['wall']:.1f}", f"{page['cpu']:.1f}", f"{page['bytes'] / 1000:.0f}", str(page["queries"]))
    return (f"{size[0]:,}", f"{size[1]:,}", *times)


def measure(runs: int) -> list[dict[str, Any]]:
    """What the page costs in this process once it is warm; asked for in turn, so that noise meets all alike."""
    import django

    django.setup()
    from statistics import median

    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    clients = [_filled(f"inbox-{waiting}", waiting, past) for waiting, past in SIZES]
    analyze()
    rounds = [[_timed(lambda client=client: client.get("/approvals/")) for client in clients] for _ in range(runs + 3)]
    found = []
    for number, client in enumerate(clients):
        walls, cpus = zip(*(times[number] for times in rounds[3:]), strict=True)
        with CaptureQueriesContext(connection) as queries:
            page = client.get("/approvals/")
        assert page.status_code == 200, page.status_code
        found.append({
            "wall": 1_000 * min(walls), "cpu": 1_000 * median(cpus), "bytes": len(page.content),
            "queries": len(queries),
        })  # fmt: skip
    return found


def _filled(name: str, waiting: int, past: int) -> Any:
    """A reviewer's client in a workspace with so many approvals: 40 sessions of 4 agents, risks and deadlines mixed."""
    from datetime import timedelta

    from django.test import Client
    from django.utils import timezone

    from sessions_app.models import Approval, Role, Workspace
    from sessions_app.services import agents, audit, sessions
    from sessions_app.services.people import members

    workspace = Workspace.objects.create(slug=name, name=name)
    reviewer = members.add_member(workspace, f"{name}@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]
    bots = [agents.get_or_create_agent(workspace.pk, f"Bot {number}") for number in range(4)]
    places = [sessions.create(bots[number % 4], by=audit.COMMAND, title=f"Order {number}") for number in range(40)]
    now = timezone.now()

    def approval(number: int, **fields: Any) -> Approval:
        return Approval(
            workspace=workspace, session=places[number % 40], tool_name="issue_refund", digest="0" * 64,
            arguments={"order": number, "amount": "420.00"}, risk=("", "low", "medium", "high")[number % 4],
            requested_at=now - timedelta(seconds=number), **fields,
        )  # fmt: skip

    Approval.objects.bulk_create(
        [approval(number, expires_at=now + timedelta(hours=1 + number % 7)) for number in range(waiting)], 1_000
    )
    decision = {"verdict": "approve", "by": "Ada", "reason": ""}
    Approval.objects.bulk_create(
        (approval(n, status="approved", decided_at=now - timedelta(seconds=n), decision=decision) for n in range(past)),
        1_000,
    )
    client = Client(SERVER_NAME="localhost")
    client.force_login(reviewer.user)
    return client


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(json.dumps(measure(int(sys.argv[2]))))
    else:
        main()
