"""A worker that does one task after the other keeps its connection; one that is old or broken is not used again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from celery.fixups.django import DjangoWorkerFixup
from django.db import connection

from config.celery import app

pytestmark = pytest.mark.django_db


def in_a_worker(told: Callable[[Callable[[], None]], Any]) -> Any:
    """What a function finds in a thread with a connection of its own, given what a worker does between tasks."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(told(DjangoWorkerFixup(app).close_database))
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (answer,) = found
    return answer


def backend() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_the_next_task_has_the_same_connection():
    def told(between_tasks: Callable[[], None]) -> bool:
        first = backend()
        connection.close_at = None
        between_tasks()
        return backend() == first

    assert in_a_worker(told)


def test_one_that_is_as_old_as_it_may_be_is_closed():
    def told(between_tasks: Callable[[], None]) -> bool:
        backend()
        connection.close_at = 0.0
        between_tasks()
        return connection.connection is None

    assert in_a_worker(told)


def test_one_that_broke_between_two_tasks_is_replaced_before_the_next_uses_it():
    def told(between_tasks: Callable[[], None]) -> tuple[bool, bool]:
        first = backend()
        connection.close_at = None
        between_tasks()
        connection.connection.close()
        return backend() != first, connection.errors_occurred

    assert in_a_worker(told) == (True, False)
