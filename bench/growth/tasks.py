"""What the main thread of a page did, out of a trace of Chromium: its long tasks, and which work they are made of.

The time is the thread's own CPU, not the clock's: what else the machine does meanwhile is not in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CATEGORIES = ("toplevel", "devtools.timeline", "blink.user_timing", "v8", "disabled-by-default-v8.gc", "loading")
MARK = "step "
"""Begins the name of a ``performance.mark``; the number of a step follows."""
TASKS = ("RunTask", "ThreadControllerImpl::RunTask")
GROUPS = {
    "UpdateLayoutTree": "style", "RecalculateStyles": "style", "Layout": "layout", "ParseHTML": "parse",
    "FunctionCall": "script", "EvaluateScript": "script", "RunMicrotasks": "script", "TimerFire": "script",
    "FireAnimationFrame": "script", "EventDispatch": "script", "v8.run": "script", "v8.callFunction": "script",
    "XHRLoad": "script", "XHRReadyStateChange": "script", "v8.compile": "compile", "v8.compileModule": "compile",
    "PrePaint": "paint", "Paint": "paint", "Layerize": "paint", "Commit": "paint",
    "MinorGC": "collect", "MajorGC": "collect", "V8.GCScavenger": "collect",
    "IntersectionObserverController::computeIntersections": "intersections", "HitTest": "hit test",
}  # fmt: skip
"""Names of the trace and what they are; others count towards what they lie in."""


@dataclass(frozen=True)
class Task:
    """A task: the step in which it ran, ms of CPU, and how many of them were which work."""

    step: int
    cpu: float
    parts: dict[str, float]

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {ms:.0f}" for name, ms in self.parts.items() if ms >= 1)
        return f"step {self.step}: {self.cpu:.0f} ms of CPU ({parts})"


def long_tasks(events: list[dict[str, Any]], least: float) -> list[Task]:
    """Tasks of at least so many ms of the thread on which the steps were marked, dearest first."""
    marks = sorted((one["ts"], one) for one in events if str(one.get("name", "")).startswith(MARK))
    thread = {(one["pid"], one["tid"]) for _, one in marks}
    here = [one for one in events if one.get("ph") == "X" and (one["pid"], one["tid"]) in thread]
    tasks = [one for one in here if one["name"] in TASKS and one.get("tdur", 0) >= 1_000 * least]
    found = [Task(_step(marks, one["ts"]), one["tdur"] / 1_000, _parts(one, here)) for one in tasks]
    return sorted(found, key=lambda one: -one.cpu)


def _step(marks: list[tuple[float, dict[str, Any]]], at: float) -> int:
    """The step that was marked last before a time."""
    return next((int(mark["name"].removeprefix(MARK)) for when, mark in reversed(marks) if when <= at), 0)


def _parts(task: dict[str, Any], events: Iterable[dict[str, Any]]) -> dict[str, float]:
    """CPU ms of each kind of work in a task, without what lies in it of another kind."""
    end = task["ts"] + task["dur"]
    inside = [one for one in events if task["ts"] <= one["ts"] and one["ts"] + one.get("dur", 0) <= end]
    spent: Counter[str] = Counter()
    around: list[dict[str, Any]] = []
    for one in sorted(inside, key=lambda one: (one["ts"], -one.get("dur", 0))):
        while around and around[-1]["ts"] + around[-1]["dur"] <= one["ts"]:
            around.pop()
        if one["name"] not in GROUPS and one is not task:
            continue
        took = one.get("tdur", 0) / 1_000
        spent[GROUPS.get(one["name"], "other")] += took
        if around:
            spent[GROUPS.get(around[-1]["name"], "other")] -= took
        around.append(one)
    return dict(spent.most_common())
