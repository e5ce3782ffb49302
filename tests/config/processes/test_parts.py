"""How many parts there are, which may be started alone, and that three of them work together without `up`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from config import broker, env
from config.database.postgres import TUNING, wait_until
from config.errors import ConfigError
from config.models import PartHeartbeat
from config.processes import alive, heartbeat_files, parts, single_part
from config.processes.heartbeat_files import HeartbeatFile
from config.processes.system import open_lock, try_lock
from tests.config.running import MANAGE

PATIENCE = 60
MOST = parts.A_CORE * parts.usable_cores()


@pytest.mark.parametrize("count", [0, -1, MOST + 1])
def test_a_number_of_processes_that_makes_no_sense_is_refused_by_its_option(count):
    with pytest.raises(ConfigError, match=rf"^--workers {count}: use 1 to {MOST} \(4 for each core"):
        parts.check_count("--workers", count)


@pytest.mark.parametrize("options", [["--web", "0"], ["--workers", "-1"], ["--workers", str(MOST + 1)]])
def test_up_refuses_such_a_number_in_one_line(options, tmp_path):
    done = subprocess.run(
        [*MANAGE, "up", "--data-dir", str(tmp_path / "none"), *options], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"countersign: {options[0]} {options[1]}: use 1 to ") and done.stderr.count("\n") == 1
    assert not (tmp_path / "none").exists()


def test_one_web_server_is_alone_on_its_port_and_several_share_it(tmp_path):
    (only,) = parts.web("127.0.0.1", 8000, tmp_path)
    assert (only.name, only.module[1:]) == ("web", ["127.0.0.1", "8000"])
    several = parts.web("127.0.0.1", 8000, tmp_path, 2)
    assert [part.name for part in several] == ["web-1", "web-2"]
    assert all("--shared" in part.module for part in several)


def test_the_embedded_database_has_connections_for_all_of_them():
    assert parts.connections(parts.WEB, parts.WORKERS) == 80
    assert parts.connections(3, 4) == parts.connections(1, 4) + 2 * parts.CONNECTIONS_OF_WEB
    assert "max_connections" not in TUNING


def test_a_worker_is_for_all_queues_unless_told():
    environment = env.read({})

    def names(**only: str | None) -> list[str]:
        return [part.name for part in single_part.parts_of("worker", environment, "", 0, 2, only.get("only"))]

    assert names() == ["worker-1", "worker-2", "turns", "people"]
    assert names(only="imports") == ["worker-1", "worker-2"]
    assert names(only="people") == ["people"]


def test_the_last_of_several_workers_leaves_what_is_big_to_the_others():
    def queues(count: int) -> list[str]:
        return [part.module[part.module.index("--queues") + 1] for part in parts.workers(count)]

    both = f"{broker.QUEUE},{broker.BIG}"
    assert queues(3) == [both, both, broker.QUEUE]
    assert queues(1) == [both], "an only one takes everything"


@pytest.mark.parametrize("kind", single_part.KINDS)
def test_a_part_alone_needs_a_database_of_yours(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("os.environ", {"COUNTERSIGN_DATA_DIR": str(tmp_path)})
    with pytest.raises(ConfigError, match=f"^`{kind}` alone needs DATABASE_URL"):
        single_part.main(kind, [])


def test_parts_and_up_do_not_share_a_data_directory(tmp_path):
    heartbeat_files.make_folder(tmp_path)
    HeartbeatFile(tmp_path, "worker-7").beat()
    with open_lock(tmp_path / "up.lock") as web, open_lock(tmp_path / "up.lock") as worker:
        single_part.share_folder(web, tmp_path)
        assert heartbeat_files.all_of(tmp_path) == [], "what an earlier start has left is no fault of this one"
        HeartbeatFile(tmp_path, "web").beat()
        single_part.share_folder(worker, tmp_path)
        assert [one.part for one in heartbeat_files.all_of(tmp_path)] == ["web"], "the first one works"
        with open_lock(tmp_path / "up.lock") as up:
            assert not try_lock(up)
    with open_lock(tmp_path / "up.lock") as up, open_lock(tmp_path / "up.lock") as web:
        assert try_lock(up)
        with pytest.raises(ConfigError, match="^`up` runs on"):
            single_part.share_folder(web, tmp_path)


def test_a_container_is_well_when_its_parts_beat(tmp_path):
    heartbeat_files.make_folder(tmp_path)
    assert "no part has been started" in (alive.fault(tmp_path, "127.0.0.1", 1) or "")
    HeartbeatFile(tmp_path, "scheduler").beat()
    assert alive.fault(tmp_path, "127.0.0.1", 1) is None
    HeartbeatFile(tmp_path, "web-1").beat()
    assert alive.fault(tmp_path, "127.0.0.1", 1) == "the web server does not answer"
    frozen = HeartbeatFile(tmp_path, "people")
    frozen.beat()
    long_ago = frozen.path.stat().st_mtime_ns - 60_000_000_000
    os.utime(frozen.path, ns=(long_ago, long_ago))
    assert (alive.fault(tmp_path, "127.0.0.1", 1) or "").startswith("people has shown no heartbeat for 6")


@contextmanager
def started(kind: str, data_dir: Path, environment: dict[str, str], *options: str) -> Iterator[subprocess.Popen[str]]:
    """A part alone, as a container starts it; it has to end with status 0 when it is told to."""
    command = [*MANAGE, kind, "--data-dir", str(data_dir), *options]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        yield process
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stdout
        process.stdout.close()


@pytest.mark.django_db(transaction=True)
def test_web_worker_and_scheduler_work_together_and_leave_nothing_behind(process_environment, tmp_path, settings):
    environment = process_environment | {"SECRET_KEY": settings.SECRET_KEY, "COUNTERSIGN_DATA_DIR": ""}
    environment |= {"STORAGE_URL": f"file://{settings.STORAGES['default']['OPTIONS']['location']}"}
    with ExitStack() as stack:
        web = stack.enter_context(started("web", tmp_path / "a", environment, "--port", "0", "--processes", "2"))
        stack.enter_context(started("worker", tmp_path / "b", environment, "--only", "people"))
        stack.enter_context(started("scheduler", tmp_path / "c", environment))
        stack.enter_context(started("scheduler", tmp_path / "d", environment))
        assert web.stdout
        line = web.stdout.readline()
        found = re.match(r"ready (http://127\.0\.0\.1:(\d+)/) web: web-1, web-2 ", line)
        assert found, line
        assert wait_until(lambda: _parts() >= {"web-1", "web-2", "people", "scheduler"}, PATIENCE), _parts()
        assert wait_until(lambda: _schedulers() == [False, True], PATIENCE), "of two one leads"
        with urlopen(f"{found[1]}readyz", timeout=PATIENCE) as answer:
            assert json.load(answer) == {"status": "ok"}
        looked = [sys.executable, "-m", "config.processes.alive", "127.0.0.1", found[2]]
        seen = environment | {"COUNTERSIGN_DATA_DIR": str(tmp_path / "a")}
        assert subprocess.run(looked, env=seen, cwd=env.BASE_DIR, capture_output=True, text=True).stdout == "ok\n"
    assert _parts() == set()


def _schedulers() -> list[bool]:
    """Of each scheduler, whether it leads."""
    return sorted(PartHeartbeat.objects.filter(part="scheduler").values_list("leads", flat=True))


def _parts() -> set[str]:
    return set(PartHeartbeat.objects.values_list("part", flat=True))
