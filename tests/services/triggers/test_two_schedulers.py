"""Two schedulers at once, each with a connection of its own."""

from __future__ import annotations

import threading

import pytest
from django.db import connection, transaction

from sessions_app.models import Schedule, Session, TriggerRun
from sessions_app.services.triggers import schedules

from .conftest import INES, TEXT, at

pytestmark = pytest.mark.django_db(transaction=True)
DUE, NOW = at("2026-03-02T08:00Z"), at("2026-03-02T08:00:05Z")


@pytest.fixture
def due(transactional_db, scripted_agent) -> list[Schedule]:
    for number in range(12):
        schedules.create(
            scripted_agent,
            by=INES,
            name=f"Report {number}",
            cron="0 9 * * *",
            timezone="Europe/Berlin",
            input_text=TEXT,
        )
    Schedule.objects.update(next_run_at=DUE, updated_at=DUE)
    return list(Schedule.objects.all())


def test_two_schedulers_fire_each_schedule_once(due):
    together, moved = threading.Barrier(4), []

    def sweep() -> None:
        together.wait()
        moved.append(schedules.fire_due(NOW))
        connection.close()

    sweeps = [threading.Thread(target=sweep) for _ in range(4)]
    for one in sweeps:
        one.start()
    for one in sweeps:
        one.join(60)
    assert sum(moved) == len(due) == Session.objects.count() == TriggerRun.objects.count()


def test_schedule_locked_by_another_scheduler_is_skipped(due):
    held, others = due[0], len(due) - 1
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        with transaction.atomic():
            Schedule.objects.select_for_update().get(pk=held.pk)
            taken.set()
            done.wait(60)
        connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    taken.wait(60)
    try:
        assert schedules.fire_due(NOW) == others
    finally:
        done.set()
        holder.join(60)
    assert not held.runs.exists()
    assert schedules.fire_due(NOW) == 1
