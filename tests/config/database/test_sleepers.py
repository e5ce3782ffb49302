"""Processes of the database server that were stopped are told to go on; a server that has such ones can be stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest

from config import doctor
from config.database import postgres, server_check
from config.database.cluster import Cluster
from config.database.sleepers import PATIENCE, Sleepers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody knows who is stopped")


@pytest.fixture
def stopped():
    """A child of this process that is stopped."""
    with subprocess.Popen(["sleep", "600"]) as child:
        child.send_signal(signal.SIGSTOP)
        assert postgres.wait_until(lambda: status(child) == psutil.STATUS_STOPPED, seconds=60)
        yield child
        child.kill()


def status(child: subprocess.Popen) -> str:
    return psutil.Process(child.pid).status()


def test_who_is_stopped_for_long_is_told_to_go_on(stopped):
    sleepers = Sleepers()
    assert sleepers.wake(os.getpid(), 100.0) == sleepers.wake(os.getpid(), 99.0 + PATIENCE) == []
    assert status(stopped) == psutil.STATUS_STOPPED
    assert sleepers.wake(os.getpid(), 100.0 + PATIENCE) == ["sleep 600"]
    assert postgres.wait_until(lambda: status(stopped) != psutil.STATUS_STOPPED, seconds=60)
    assert sleepers.wake(os.getpid(), 200.0 + PATIENCE) == []


def test_who_goes_on_by_itself_is_left_alone(stopped):
    sleepers = Sleepers()
    sleepers.wake(os.getpid(), 100.0)
    stopped.send_signal(signal.SIGCONT)
    assert postgres.wait_until(lambda: status(stopped) != psutil.STATUS_STOPPED, seconds=60)
    assert sleepers.wake(os.getpid(), 101.0) == []
    stopped.send_signal(signal.SIGSTOP)
    assert postgres.wait_until(lambda: status(stopped) == psutil.STATUS_STOPPED, seconds=60)
    assert sleepers.wake(os.getpid(), 101.0 + PATIENCE) == [], "it has only just been stopped again"


def test_a_server_whose_checkpointer_is_frozen_stops_and_starts_again(tmp_path: Path):
    """The checkpointer outlived the server that was killed, with its memory: no other could start."""
    cluster = Cluster(tmp_path)
    with postgres.on_demand(cluster):
        with psycopg.connect(**cluster.parameters) as connection:
            query = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'"
            pid = connection.execute(query).fetchone()[0]
        os.kill(pid, signal.SIGSTOP)
    with postgres.on_demand(cluster) as started:
        assert started
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.django_db
def test_doctor_names_a_checkpoint_that_is_late(monkeypatch):
    assert server_check.fault() is None
    monkeypatch.setattr(server_check, "TIMES", 0)
    monkeypatch.setattr(server_check, "LEAST", -1)
    assert "min ago" in server_check.fault()
    assert "database server" in [name for name, _, _ in doctor.AFTER_WORKER]
