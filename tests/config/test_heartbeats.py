"""Heartbeats of parts: who is silent, what /readyz and the doctor say of it, and hosts that have left."""

from __future__ import annotations

import errno
import os
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db.models.functions import Now

from config import doctor, health
from config.models import PartHeartbeat
from config.processes import heartbeat_files, heartbeats, part_heartbeat
from config.processes.children import STARTING_SECONDS, Child
from config.processes.heartbeat_files import SILENT_SECONDS, HeartbeatFile

ELSEWHERE = "other:/srv/countersign"


@pytest.fixture
def data_dir(tmp_path: Path, monkeypatch) -> Path:
    """The data directory of a host under a supervisor, which this process is a part of."""
    heartbeat_files.make_folder(tmp_path)
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setenv("COUNTERSIGN_PART", "web")
    monkeypatch.setattr(health, "KEPT_SECONDS", -1.0)
    return tmp_path


def beat(data_dir: Path, *parts: str, ago: float = 0.0) -> None:
    """Have parts beat, so many seconds ago."""
    for part in parts:
        HeartbeatFile(data_dir, part).beat({"errors": 2})
        if ago:
            at = time.monotonic_ns() - round(ago * 1e9)
            os.utime(data_dir / "heartbeats" / part, ns=(at, at))


def make_row(part: str, *, host: str = ELSEWHERE, ago: float = 0.0, up: float = 3600.0, leads: bool = False) -> None:
    PartHeartbeat.objects.create(
        host=host,
        part=part,
        leads=leads,
        beat_at=Now() - timedelta(seconds=ago),
        started_at=Now() - timedelta(seconds=up),
    )


@pytest.mark.django_db(transaction=True)
def test_readyz_names_the_part_that_is_silent(client, data_dir):
    beat(data_dir, "web", "scheduler", "supervisor")
    heartbeats.copy(data_dir, leads=True, up_seconds=60)
    assert client.get("/readyz").json() == {"status": "ok"}
    beat(data_dir, "turns", ago=SILENT_SECONDS + 3)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["part"]) == (503, "turns")
    assert "turns on" in answer.json()["detail"]


@pytest.mark.django_db(transaction=True)
def test_readyz_wants_a_scheduler_that_leads_on_any_host(client, data_dir):
    beat(data_dir, "web", "scheduler")
    heartbeats.copy(data_dir, leads=False, up_seconds=60)
    assert client.get("/readyz").json()["part"] == "scheduler"
    make_row("scheduler", leads=True)
    assert client.get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_host_that_left_for_good_is_no_fault_of_those_that_stay(client, data_dir):
    beat(data_dir, "web", "scheduler")
    make_row("web", ago=4_000)
    make_row("scheduler", ago=100)
    heartbeats.copy(data_dir, leads=True, up_seconds=60)
    assert not PartHeartbeat.objects.filter(host=ELSEWHERE, part="web").exists()
    assert client.get("/readyz").status_code == 200
    assert f"scheduler on {ELSEWHERE} has shown no heartbeat for 1" in doctor.parts_fault()


@pytest.mark.django_db
def test_a_host_that_is_stopped_leaves_nothing_behind(data_dir):
    beat(data_dir, "web", "scheduler")
    make_row("web")
    heartbeats.copy(data_dir, leads=True, up_seconds=1)
    heartbeats.leave()
    assert set(PartHeartbeat.objects.values_list("host", flat=True)) == {ELSEWHERE}


@pytest.mark.django_db
def test_the_copy_has_the_age_and_the_counters_of_each_part(data_dir):
    beat(data_dir, "people", ago=7)
    heartbeats.copy(data_dir, leads=False, up_seconds=1)
    row = PartHeartbeat.objects.annotate(now=Now()).get()
    assert (row.part, row.counters, row.leads) == ("people", {"errors": 2}, False)
    assert 6 < (row.now - row.beat_at).total_seconds() < 10


def test_a_full_disk_does_not_stop_the_heart(data_dir, monkeypatch):
    beat(data_dir, "web", ago=30)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    HeartbeatFile(data_dir, "web").beat({"errors": 3})
    assert HeartbeatFile(data_dir, "web").age() < 5


def test_progress_is_made_by_going_round_and_by_a_job_that_takes_no_hour(monkeypatch):
    progress = part_heartbeat.Progress()
    assert progress.is_made()
    later = time.monotonic() + part_heartbeat.Progress.IDLE_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert not progress.is_made()
    progress.begins()
    monkeypatch.setattr(time, "monotonic", lambda: later + 1_800)
    assert progress.is_made()
    monkeypatch.setattr(time, "monotonic", lambda: later + 3_700)
    assert not progress.is_made()
    progress.ends()
    assert progress.is_made()


def test_a_child_is_silent_after_its_last_beat_but_not_while_it_loads_or_the_supervisor_was_away(data_dir, monkeypatch):
    child = Child("web", [], {}, data_dir, heartbeat=HeartbeatFile(data_dir, "web"))
    child._judged_from = began = time.monotonic()

    def at(seconds: float) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: began + seconds)
        monkeypatch.setattr(time, "monotonic_ns", lambda: round((began + seconds) * 1e9))

    def is_silent(seconds: float) -> bool:
        at(seconds)
        return child.is_silent()

    assert not is_silent(STARTING_SECONDS - 1)
    assert is_silent(STARTING_SECONDS + 1)
    at(5)
    child.heartbeat.beat()  # it has loaded: from now on it has no more time than any
    assert not is_silent(5 + SILENT_SECONDS - 1)
    assert is_silent(5 + SILENT_SECONDS + 1)
    at(100)
    child.pardon()
    assert not is_silent(100 + STARTING_SECONDS - 1)


@pytest.mark.django_db(transaction=True)
def test_a_part_that_was_about_to_copy_when_it_was_stopped_leaves_nothing_behind(data_dir, monkeypatch):
    """Its rows would be told of as a part that is silent, for an hour."""
    beat(data_dir, "people")
    monkeypatch.setattr(part_heartbeat, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(part_heartbeat, "_ending", threading.Event())

    def is_stopped_meanwhile() -> bool:
        if not part_heartbeat._ending.is_set():
            part_heartbeat.end()
        return False

    monkeypatch.setattr(part_heartbeat, "_has_scheduler", is_stopped_meanwhile)
    part_heartbeat._copy_without_scheduler()
    assert not PartHeartbeat.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_part_goes_on_copying_after_a_moment_without_a_free_file_descriptor(data_dir, monkeypatch):
    beat(data_dir, "people")
    monkeypatch.setattr(part_heartbeat, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(part_heartbeat, "_ending", threading.Event())
    answers = iter([OSError(errno.EMFILE, "Too many open files"), False, True])

    def has_scheduler() -> bool:
        answer = next(answers)
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(part_heartbeat, "_has_scheduler", has_scheduler)
    part_heartbeat._copy_without_scheduler()
    assert PartHeartbeat.objects.count() == 1
