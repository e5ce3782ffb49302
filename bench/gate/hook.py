"""What the gate costs an allowed call: ``python -m bench.gate.hook [--runs 200] [--url URL --key KEY]``

The whole run of a hook beside an interpreter that does nothing and was started with the same options, in turn, so that
noise meets both alike: against a server that approves at once, so that what is left is the hook's own, and against a
desk that is started for this and whose policy allows the tool (or another one, by its address and a key).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

from ..drills.desk import Desk, folder

SOURCE = Path(__file__).resolve().parents[2] / "sdk" / "src"
sys.path.insert(0, str(SOURCE))

from countersign.doctor import wrong_desks  # noqa: E402

HOOK = [sys.executable, "-I", "-S", str(SOURCE / "countersign" / "hook.py"), "claude-code", "pre-tool-use"]
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
RUNS = 200
MOST = 30.0
"""Milliseconds, 95th percentile."""
HOME = tempfile.TemporaryDirectory(prefix="countersign-bench-")


def call() -> bytes:
    """A call of its own each time: the same one again would be answered from what was decided."""
    return json.dumps({
        "session_id": "bench", "hook_event_name": "PreToolUse", "tool_name": "Bash", "cwd": "/bench",
        "tool_input": {"command": "ls"}, "tool_use_id": f"toolu_{uuid.uuid4().hex}",
    }).encode()  # fmt: skip


def took(command: list[str], environment: dict[str, str], status: int) -> float:
    """Milliseconds of a run, which has to end in ``status`` and, of a hook, in allow."""
    given = call()
    started = time.perf_counter()
    done = subprocess.run(command, input=given, capture_output=True, env=environment)
    spent = (time.perf_counter() - started) * 1000
    assert done.returncode == status, done
    assert status == 0 or b'"permissionDecision":"allow"' in done.stdout, done
    return spent


def cpu() -> float:
    """Seconds of CPU of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(name: str, url: str, key: str, runs: int) -> float:
    """The 95th percentile of what a hook takes beyond the interpreter's start, in milliseconds."""
    environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key, "HOME": HOME.name}
    for _ in range(5):
        took(HOOK, environment, 86)
    bares, hooks, spent = [], [], [0.0, 0.0]
    for _ in range(runs):
        for number, (command, times) in enumerate(((BARE, bares), (HOOK, hooks))):
            before = cpu()
            times.append(took(command, environment, 86 * number))
            spent[number] += cpu() - before
    beyond = sorted(hook - statistics.median(bares) for hook in hooks)
    p50, p95, p99 = (beyond[min(int(len(beyond) * share), len(beyond) - 1)] for share in (0.5, 0.95, 0.99))
    cost = (spent[1] - spent[0]) / runs * 1000
    print(
        f"{name}: interpreter {statistics.median(bares):.1f} ms (p95 {sorted(bares)[int(runs * 0.95)]:.1f});"
        f" beyond it p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms; {cost:.1f} ms of CPU",
        flush=True,
    )
    return p95


def at_desk(runs: int) -> float:
    """The same with a desk that is started for it."""
    rule = {"name": "commands of the bench", "match": {"tool": "Bash"}, "effect": "allow"}
    with folder() as place:
        desk = Desk(place)
        try:
            desk.call("/api/v1/policy", {"rules": [rule], "note": "for the bench"}, method="PUT")
            key = desk.manage("apikey", "create", "--name", "bench", "--role", "agent").split()[-1]
            return measure("a desk", f"http://127.0.0.1:{desk.port}", key, runs)
        finally:
            desk.stop()


def main() -> int:
    """Print the figures; 1 where the desk's are over the target."""
    parser = argparse.ArgumentParser(prog="bench.gate.hook", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--url", help="of a desk whose policy allows the tool Bash")
    parser.add_argument("--key", help="of an agent there")
    options = parser.parse_args()
    with wrong_desks.approving() as url:
        measure("approves at once", url, "cs_bench", options.runs)
    p95 = measure(options.url, options.url, options.key, options.runs) if options.url else at_desk(options.runs)
    print(f"p95 {p95:.1f} ms beyond the interpreter (at most {MOST:.0f})")
    return 0 if p95 <= MOST else 1


if __name__ == "__main__":
    raise SystemExit(main())
