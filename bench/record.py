"""What does the record cost? ``python -m bench.record [--lines 50000] [--sessions 20] [--events 50000] [--rounds 3]``

The chain: a transcript is imported by the worker's code in this process, in turn as it is and without reading back and
hashing its rows (a link is written all the same); CPU is that of the process and of its PostgreSQL backend together,
the least of all rounds counts. Then a checkpoint of the sessions. Then everything is verified, as `audit verify` does:
events a second and core, for the CPU seconds of both processes are added up.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

from . import transcripts
from .measure import table
from .places import ROOT, installation


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=50_000)
    options.add_argument("--sessions", type=int, default=20)
    options.add_argument("--events", type=int, default=50_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        _inside(chosen.lines, chosen.sessions, chosen.events, chosen.rounds)
        return
    with installation() as environment:
        command = [sys.executable, "-m", "bench.record", "--inside", *sys.argv[1:]]
        subprocess.run(command, env=environment, cwd=ROOT, check=True)


def _inside(lines: int, sessions: int, events: int, rounds: int) -> None:
    import django

    django.setup()
    from vcon_app.services.checkpoints import making, publishing

    path, _ = transcripts.cached(lines)
    data = path.read_bytes()
    chained, bare = [], []
    for _ in range(rounds):
        chained.append(_cpu(lambda: _import(data)))
        bare.append(_cpu(lambda: _without_hashing(lambda: _import(data))))
    added = min(chained) - min(bare)
    _grow(sessions, events)
    sealed = _cpu(lambda: (making.make_all(), publishing.publish_due()))
    total, verified, peak = _verify()
    rows = [
        (f"import of {lines:,} lines, worker and its backend", f"{min(chained):.2f} CPU s", ""),
        ("the same without reading back and hashing", f"{min(bare):.2f} CPU s", ""),
        ("the chain", f"{added:.2f} CPU s", f"{100 * added / min(chained):.1f} % of the import"),
        (f"a checkpoint of {sessions + 2 * rounds} sessions, with its file", f"{sealed:.2f} CPU s", ""),
        (f"verification of {total:,} events", f"{verified:.2f} CPU s", f"{total / verified:,.0f} a second and core"),
        ("memory of the verification above what the process had", f"{peak:.0f} MB", ""),
    ]
    print(table(("what", "cost", "that is"), rows))


def _cpu(work: Callable[[], object]) -> float:
    """CPU seconds of this process and of its backend."""
    backend = _backend()
    before = process_time() + _used(backend)
    work()
    return process_time() + _used(backend) - before


def _backend() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def _used(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _import(data: bytes) -> None:
    from sessions_app.services import audit, workspaces
    from vcon_app.models import Import
    from vcon_app.services.imports import import_jobs

    workspace = workspaces.create_workspace(f"w{os.urandom(6).hex()}")
    started = import_jobs.start_import(workspace, "t.jsonl", [data], by=audit.COMMAND)
    import_jobs.run(started.pk)
    assert Import.objects.get(pk=started.pk).status == "done"


def _without_hashing(work: Callable[[], None]) -> None:
    """A link is as long as its rows, as always; that of nothing costs nothing but its INSERT."""
    from sessions_app import event_chain
    from sessions_app.services.log import links

    whole = event_chain.link
    links.event_chain.link = lambda previous, header, rows: event_chain.Link(bytes(32), b"")
    try:
        work()
    finally:
        links.event_chain.link = whole


def _grow(sessions: int, count: int) -> None:
    """Sessions of events as agents have them: a kilobyte of text, arguments, usage."""
    from sessions_app.drafts import EventDraft, ToolDraft
    from sessions_app.models import Session
    from sessions_app.services import agents, workspaces
    from sessions_app.services.log import events, links

    workspace = workspaces.create_workspace("verified")
    agent = agents.get_or_create_agent(workspace.pk, "bench")
    words = "the quick brown fox looks at what an agent did and finds that line in it " * 12
    for number in range(sessions):
        session = Session.objects.create(workspace=workspace, agent=agent)
        events.append(session.pk, (
            EventDraft("tool_call" if n % 3 else "agent_message", f"k{n}", text=f"{n} {words}", actor_kind="agent",
                       tool=ToolDraft(name="shell", arguments={"command": f"ls {n}"}) if n % 3 else None)
            for n in range(count)
        ), origin=links.RUNTIME)  # fmt: skip
        print(f"{(number + 1) * count:,} events", file=sys.stderr)


def _verify() -> tuple[int, float, float]:
    """Events verified, CPU seconds, megabytes that were added to this process."""
    import psutil

    from sessions_app.models import Workspace
    from vcon_app.services.checkpoints.verification import snapshot, verify_workspace

    def work() -> None:
        with snapshot():
            statements.extend(verify_workspace(Workspace.objects.get(slug="verified")))

    statements: list = []
    before = psutil.Process().memory_info().rss
    cpu = _cpu(work)
    grown = (psutil.Process().memory_info().rss - before) / 1e6
    assert all(statement.ok for statement in statements), [s for s in statements if not s.ok]
    said = next(s.detail for s in statements if s.what.endswith("sessions"))
    return int(said.split()[3]), cpu, grown


if __name__ == "__main__":
    main()
