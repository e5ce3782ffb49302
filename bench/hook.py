"""What the gate costs an allowed call: a hook's whole run beside an interpreter that does nothing, against a real desk.

    .venv/bin/python -m bench.hook http://127.0.0.1:8000 cs_... [RUNS]

The key is of a desk whose policy allows the tool ``Bash``; with no address a server that approves at once stands in, so
that what is left is the hook's own. Milliseconds; the interpreter is started with the same options.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "sdk" / "src"
sys.path.insert(0, str(SOURCE))

from countersign.doctor import wrong_desks  # noqa: E402

HOOK = [sys.executable, "-I", "-S", str(SOURCE / "countersign" / "hook.py"), "claude-code", "pre-tool-use"]
BARE = [sys.executable, "-I", "-S", "-c", "pass"]
RUNS = 200
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


def measure(url: str, key: str, runs: int, tell: Callable[[str], None] = print) -> float:
    """The 95th percentile of what a hook takes beyond the interpreter's start, in milliseconds."""
    environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key, "HOME": HOME.name}
    for _ in range(5):
        took(HOOK, environment, 86)
    before = cpu()
    bares = [took(BARE, environment, 0) for _ in range(runs)]
    between = cpu()
    hooks = [took(HOOK, environment, 86) for _ in range(runs)]
    spent = ((cpu() - between) - (between - before)) / runs * 1000
    bare = statistics.median(bares)
    beyond = sorted(hook - bare for hook in hooks)
    p50, p95, p99 = (beyond[min(int(len(beyond) * share), len(beyond) - 1)] for share in (0.5, 0.95, 0.99))
    tell(f"interpreter {bare:.1f} ms; beyond it p50 {p50:.1f}, p95 {p95:.1f}, p99 {p99:.1f} ms, {spent:.1f} ms of CPU")
    return p95


def main(arguments: list[str]) -> None:
    if arguments and arguments[0].startswith("http"):
        measure(arguments[0], arguments[1], int(arguments[2]) if len(arguments) > 2 else RUNS)
        return
    with wrong_desks.approving() as url:
        measure(url, "cs_bench", int(arguments[0]) if arguments else RUNS)


if __name__ == "__main__":
    main(sys.argv[1:])
