"""What does a retention run cost? ``python -m bench.growth.retention [--sessions 100,1000] [--messages 200]``

A workspace keeps the last 50 messages of each session. Two runs of each size, in a process of its own: the first prunes
every session, the second finds nothing to do, which is what the desk does every ten minutes. CPU is that of the process
without its PostgreSQL backend; memory is the peak of its resident set.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from time import perf_counter, process_time

from ..measure import table
from ..places import ROOT, installation

KEPT = 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sessions", default="100,1000")
    options.add_argument("--messages", type=int, default=200)
    options.add_argument("--inside", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.inside:
        _inside(chosen.inside, chosen.messages)
        return
    print(f"load at the beginning: {os.getloadavg()[0]:.1f}")
    for size in chosen.sessions.split(","):
        with installation() as environment:
            command = [sys.executable, "-m", "bench.growth.retention", "--messages", str(chosen.messages)]
            subprocess.run([*command, "--inside", size], env=environment, cwd=ROOT, check=True)
    print(f"load at the end: {os.getloadavg()[0]:.1f}")


def _inside(sessions: int, messages: int) -> None:
    import django

    django.setup()
    from sessions_app.services import audit, workspaces
    from sessions_app.services.retention import sweeping
    from sessions_app.services.retention import workspaces as policies

    workspace = workspaces.default_workspace()
    _make(workspace, sessions, messages)
    policies.set_policy(workspace.pk, {"max_messages": KEPT, "auto_prune": True}, by=audit.COMMAND)
    before = _peak()
    rows = []
    for name in ("first run: all are pruned", "next run: nothing is due"):
        wall, cpu = perf_counter(), process_time()
        done = sweeping.sweep()
        wall, cpu = perf_counter() - wall, process_time() - cpu
        rows.append((
            name, f"{sessions:,}", f"{done:,}", f"{wall:.2f} s", f"{cpu:.2f} s",
            f"{done * (messages - KEPT) / wall:,.0f}", f"{_peak() - before:.1f} MB",
        ))  # fmt: skip
    print(table(("run", "sessions", "pruned", "wall", "CPU", "messages a second", "more memory"), rows))


def _make(workspace: object, sessions: int, messages: int) -> None:
    from sessions_app.drafts import EventDraft
    from sessions_app.models import Agent, Session
    from sessions_app.services.log import events, links

    agent = Agent.objects.create(workspace=workspace, name="Bench", slug="bench")
    for _ in range(sessions):
        session = Session.objects.create(workspace=workspace, agent=agent)
        drafts = [
            EventDraft(kind=("user_message", "agent_message")[n % 2], key=f"k{n}", text=f"message {n} " * 5)
            for n in range(messages)
        ]
        events.append(session.pk, drafts, origin=links.RUNTIME)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
