"""Runs a process and says what it cost: CPU seconds, peak memory, wall time."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil

SAMPLE_SECONDS = 0.05


@dataclass(frozen=True)
class Cost:
    """CPU is user and system time of the process and all its children that it waited for."""

    status: int
    cpu: float
    wall: float
    peak_mb: float
    """Greatest sum of PSS over the process and its children, as seen every 50 ms."""
    output: str


def cost_of(command: Sequence[str | Path], environment: Mapping[str, str], cwd: Path, timeout: float = 1_800) -> Cost:
    """Run a command to its end (or for ``timeout`` seconds) and measure it."""
    began = monotonic()
    process = subprocess.Popen(
        [str(part) for part in command],
        env=dict(environment),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    peak, ended = [0.0], threading.Event()
    watcher = threading.Thread(target=_watch, args=(process.pid, peak, ended))
    killer = threading.Timer(timeout, process.kill)
    watcher.start()
    killer.start()
    output = process.stdout.read().decode(errors="replace")
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    ended.set()
    killer.cancel()
    watcher.join()
    return Cost(process.returncode, used.ru_utime + used.ru_stime, monotonic() - began, peak[0], output)


def pss_mb(pid: int) -> float:
    """Memory of a process and all below it, shared pages counted in shares."""
    try:
        family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0.0
    return sum(_pss(member) for member in family) / 1e6


def _pss(process: psutil.Process) -> int:
    try:
        return process.memory_full_info().pss
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0


def _watch(pid: int, peak: list[float], ended: threading.Event) -> None:
    while not ended.wait(SAMPLE_SECONDS):
        peak[0] = max(peak[0], pss_mb(pid))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in (head, ["-" * width for width in widths], *rows)
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
