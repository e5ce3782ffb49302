"""Rows of the table for what the scheduler has done by itself, on a desk where nothing is to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from django.conf import settings

from config.celery import app

LOOK_MS = 10
"""ms of the database that a look may take, which comes every 5 s or more often: 2 in a thousand of a core."""


@dataclass(frozen=True, slots=True)
class Periodic:
    """A task, and at most how many milliseconds of the database it may take at 100 %."""

    name: str
    call: Callable[[], object]
    most_ms: float | None


def all_tasks() -> Iterator[Periodic]:
    """The looks, and what is sent to a worker every two minutes to six hours."""
    app.loader.import_default_modules()
    for name in (*settings.LOOKS, *settings.SENT):
        task = app.tasks[name]
        yield Periodic(f"task {name.rpartition('.')[2]}", partial(task), LOOK_MS if name in settings.LOOKS else None)
