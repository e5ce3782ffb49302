"""The scheduler: one leads at a time, another takes over, and what is due is called."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress

import pytest
from django.db import connection

from config.database import server_check
from config.database.postgres import wait_until
from config.models import PartHeartbeat
from config.processes import heartbeats, leadership, scheduler
from config.processes.leadership import Leadership
from config.processes.scheduler import Look, Message
from tests.database_roles import as_owner

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def two():
    first, second = Leadership(), Leadership()
    yield first, second
    first.release()
    second.release()


def test_one_of_two_leads_and_the_other_takes_over_when_it_is_gone(two):
    first, second = two
    assert (first.look(), second.look(), first.look()) == (True, False, True)
    first.release()
    assert wait_until(second.look, seconds=60)  # the lock goes when the server has ended the connection
    assert not first.look()


def test_a_leader_that_lost_its_connection_knows_it_at_the_next_look(two):
    first, second = two
    assert first.look()
    with as_owner() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted")
    assert not first.look()
    assert wait_until(second.look, seconds=60)
    assert not first.look()


def test_a_leader_that_hangs_with_a_living_connection_is_ended(two, monkeypatch):
    """As a host that is frozen: its kernel answers for it."""
    monkeypatch.setattr(leadership, "UNLED_SECONDS", 0.2)
    first, second = two
    assert first.look()
    PartHeartbeat.objects.create(host="a", part="scheduler", leads=True, beat_at="2026-01-01T00:00Z",
                                 started_at="2026-01-01T00:00Z")  # fmt: skip
    assert wait_until(second.look, seconds=60)
    assert not first.look()


@pytest.fixture
def freeze():
    """Stops a process of the server until the test has ended."""
    frozen = []

    def stop(pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        frozen.append(pid)

    yield stop
    for pid in frozen:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_where_not_even_the_holders_backend_moves_another_leads_and_only_one(two, freeze, monkeypatch):
    """A backend that is frozen holds its lock whatever it is told."""
    monkeypatch.setattr(leadership, "UNLED_SECONDS", 0.2)
    first, second = two
    third = Leadership()
    assert first.look()
    assert server_check.fault() is None
    freeze(backend_of(first))
    assert wait_until(second.look, seconds=60)
    with as_owner() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE pid = %s", [backend_of(first)])
        assert cursor.fetchone() == (1,), "it still holds the lock"
    assert f"{backend_of(first)}" in server_check.fault()
    beats(second)
    assert not any(third.look() for _ in range(5)) and second.look()
    freeze(backend_of(second))
    PartHeartbeat.objects.all().delete()
    assert wait_until(third.look, seconds=60)
    third.release()


def test_a_holder_that_was_told_to_end_while_it_was_frozen_never_leads_again(two, freeze, monkeypatch):
    monkeypatch.setattr(leadership, "UNLED_SECONDS", 0.2)
    first, second = two
    assert first.look()
    freeze(backend_of(first))
    assert wait_until(second.look, seconds=60)
    os.kill(backend_of(first), signal.SIGCONT)
    assert not first.look()
    beats(second)
    assert not any(first.look() for _ in range(5)), "its lock is free, and another leads"
    assert second.look()
    second.release()
    assert wait_until(first.look, seconds=60)


def backend_of(one: Leadership) -> int:
    assert one._connection is not None
    return one._connection.info.backend_pid


def beats(one: Leadership) -> None:
    assert one.held
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO config_partheartbeat VALUES ('a', 'scheduler', now() + interval '1 hour', now(), true, '{}')"
        )


def test_a_leader_that_beats_keeps_the_lead(two, tmp_path, monkeypatch):
    monkeypatch.setattr(leadership, "UNLED_SECONDS", 0.2)
    first, second = two
    assert first.look()
    beats(first)
    for _ in range(5):
        assert not second.look()
        time.sleep(0.1)
    assert first.look()


def test_a_look_is_never_made_twice_at_once_and_one_that_hangs_is_known():
    from concurrent.futures import ThreadPoolExecutor

    go_on, calls = threading.Event(), []

    def call() -> None:
        calls.append(1)
        go_on.wait(20)

    look = Look("test", call, seconds=0, most_seconds=0.05)
    with ThreadPoolExecutor(2) as threads:
        look.start_if_due(threads)
        look.start_if_due(threads)
        assert wait_until(look.hangs, seconds=60)
        go_on.set()
        assert wait_until(lambda: not look.runs(), seconds=60)
        look.start_if_due(threads)
    assert len(calls) == 2


def test_a_look_that_fails_is_made_again():
    from concurrent.futures import ThreadPoolExecutor

    calls = []

    def call() -> None:
        calls.append(1)
        raise ValueError("a fault")

    look = Look("test", call, seconds=0, most_seconds=0.05)
    with ThreadPoolExecutor(1) as threads:
        for _ in range(2):
            look.start_if_due(threads)
            assert wait_until(lambda: not look.runs(), seconds=60)
    assert len(calls) == 2


def test_a_message_is_sent_when_it_is_due_and_not_before():
    from datetime import timedelta

    from celery.schedules import schedule

    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM pgmq.q_countersign")
        message = Message("sessions_app.tasks.remove_old", schedule(timedelta(hours=1)))
        message.send_if_due()
        cursor.execute("SELECT count(*) FROM pgmq.q_countersign")
        assert cursor.fetchone() == (0,)
        message._last -= timedelta(hours=2)
        message.send_if_due()
        message.send_if_due()
        cursor.execute("SELECT count(*) FROM pgmq.q_countersign")
        assert cursor.fetchone() == (1,)


def test_a_clock_that_is_set_back_by_two_days_keeps_no_message_back_for_two_days(monkeypatch):
    from datetime import timedelta

    from celery.schedules import crontab

    clock, sent = [scheduler.app.now() + timedelta(days=2)], []
    monkeypatch.setattr(scheduler.app, "now", lambda: clock[0])
    monkeypatch.setattr(scheduler.app, "send_task", lambda name, **options: sent.append(name))
    message = Message("sessions_app.tasks.apply_retention", crontab(minute="*/10", nowfun=lambda: clock[0]))
    clock[0] -= timedelta(days=2)
    message.send_if_due()
    assert sent == []
    clock[0] += timedelta(minutes=11)
    message.send_if_due()
    message.send_if_due()
    assert sent == ["sessions_app.tasks.apply_retention"]


def test_the_lead_is_known_to_readyz(two):
    assert not heartbeats.is_led()
