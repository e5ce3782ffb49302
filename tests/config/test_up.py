"""``manage.py up``: the ready line, the refusals, and that nothing is left behind."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest

from config import doctor
from config.database.postgres import wait_until

from .running import MANAGE, PARTS, Up, all_gone, environment, serves, start


def refusal(data_dir: Path, *options: str, **env: str) -> str:
    """What `up` says on standard error when it does not start, which has to be one line and status 2."""
    done = subprocess.run(
        [*MANAGE, "up", *options], env=environment(data_dir) | env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def up(data_dir: Path) -> Iterator[Up]:
    running = start(data_dir)
    yield running
    if running.process.poll() is None:
        running.process.terminate()
        running.process.wait(timeout=60)


def test_the_sign_in_link_of_the_ready_line_works(up):
    with urlopen(up.link) as page:
        assert page.status == 200


def test_all_parts_work_and_a_scheduler_leads_when_the_ready_line_comes(tmp_path):
    """Else who starts it and asks at once is told that nothing that is due is called."""
    running = start(tmp_path)
    try:
        assert serves(running.address + "readyz")
    finally:
        running.process.terminate()
        running.process.wait(timeout=60)


def test_a_second_up_on_the_same_data_directory_is_refused(up):
    assert "another `up` runs on" in refusal(up.data_dir, "--port", "0")


def test_a_taken_port_is_refused_before_anything_starts(up, tmp_path):
    assert f"port {up.port}" in refusal(tmp_path, "--port", str(up.port))
    assert not (tmp_path / "postgres").exists()


def test_the_settings_say_where_to_listen_and_the_command_line_wins(up, tmp_path):
    taken = str(up.port)
    assert f"cannot listen on 127.0.0.1 port {taken}" in refusal(tmp_path, COUNTERSIGN_PORT=taken)
    assert f"cannot listen on 192.0.2.1 port {taken}" in refusal(
        tmp_path, "--host", "192.0.2.1", COUNTERSIGN_PORT=taken
    )
    assert "cannot listen on 192.0.2.1 port 8123" in refusal(
        tmp_path, "--port", "8123", COUNTERSIGN_HOST="192.0.2.1", COUNTERSIGN_PORT=taken
    )


def test_a_number_that_is_no_port_is_refused(tmp_path):
    assert "port 99999" in refusal(tmp_path, "--port", "99999")


def test_a_directory_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot write to" in refusal(tmp_path / "file" / "data")


@pytest.mark.parametrize(("name", "value"), [("DEBUG", "Ture"), ("COUNTERSIGN_DATADIR", "/x"), ("DATABASE_URL", "no")])
def test_a_bad_setting_is_refused_by_name(tmp_path, name, value):
    assert name in refusal(tmp_path, **{name: value})


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:secret@127.0.0.1:1/x", "Connection refused"),
        ("postgresql://u:secret@localhost:1/x", "Connection refused"),
        ("postgresql://u:secret@no-such-host.invalid/x", "failed to resolve host"),
        ("postgresql://countersign@{socket}/nosuch", 'database "nosuch" does not exist'),
        ("postgresql://nobody:wrong@{socket}/countersign", 'role "nobody" does not exist'),
    ],
)
def test_a_database_that_cannot_be_reached_is_one_line(up, tmp_path, url, said):
    url = url.format(socket=quote(str(up.data_dir / "run"), safe=""))
    told = refusal(tmp_path, "--port", "0", DATABASE_URL=url)
    assert said in told
    assert "DATABASE_URL" in told
    assert "secret" not in told
    command = [*MANAGE, "wallet", "show"]
    done = subprocess.run(command, env=environment(tmp_path) | {"DATABASE_URL": url}, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, told)


def test_management_command_works_beside_a_running_up(up):
    done = subprocess.run([*MANAGE, "doctor"], env=environment(up.data_dir), capture_output=True, text=True)
    said = done.stdout.splitlines()
    checks = {line.removeprefix("ok").strip() for line in said if line.startswith("ok ")}
    expected = {name for name, *_ in (*doctor.BEFORE_WORKER, *doctor.AFTER_WORKER, *doctor.OF_THIS_HOST)}
    assert (done.returncode, len(checks)) == (0, len(said)), done.stdout + done.stderr
    assert checks > expected | {"database", "database role", "worker", "event months"}, checks


def test_secrets_are_closed_to_other_users(up):
    assert (up.data_dir / "secret_key").stat().st_mode & 0o077 == 0
    assert (up.data_dir / "documents").stat().st_mode & 0o077 == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each part loads for itself")
def test_the_parts_share_what_was_loaded_once(up):
    assert wait_until(lambda: all(map(up.child, PARTS)), seconds=60)
    forker = up.child("forker")
    for part in PARTS:
        assert up.child(part).cmdline() == forker.cmdline()
        assert up.child(part).memory_full_info().pss < forker.memory_info().rss / 2


@pytest.mark.parametrize("part", [*PARTS, "postgres"])
def test_a_part_that_is_killed_comes_back(up, part):
    dead = up.child(part)
    orphans = dead.children(recursive=True)
    dead.kill()
    assert all_gone([dead, *orphans])
    assert wait_until(lambda: serves(up.address + "readyz") and up.child(part) not in (dead, None), seconds=60)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is none")
def test_parts_come_back_without_the_forker_too(up):
    forker, web = up.child("forker"), up.child("web")
    forker.kill()
    assert all_gone([forker])
    assert serves(up.address + "readyz")
    web.kill()
    assert all_gone([web])
    assert wait_until(lambda: serves(up.address + "readyz"), seconds=60)
    assert "config.web.serve" in up.child("web").cmdline()


def test_sigterm_stops_everything_within_ten_seconds(up):
    assert wait_until(lambda: all(map(up.child, PARTS)), seconds=60)
    tree, began = up.tree(), time.monotonic()
    up.process.send_signal(signal.SIGTERM)
    assert up.process.wait(timeout=60) == 0
    assert time.monotonic() - began < 10
    assert len(tree) > 5
    assert all_gone(tree)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", up.port)) != 0


def test_a_killed_supervisor_takes_everything_with_it_and_the_next_start_works(data_dir):
    if sys.platform != "linux":
        pytest.skip("only Linux tells a process that its parent died")
    first = start(data_dir)
    assert wait_until(lambda: all(map(first.child, PARTS)), seconds=60)
    tree = first.tree()
    first.process.kill()
    first.process.wait()
    assert all_gone(tree)
    second = start(data_dir)
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(timeout=60) == 0
