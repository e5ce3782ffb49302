"""The embedded server: closed to others, shared by commands, careful with what it finds."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg
import pytest

from config.database import postgres
from config.database.cluster import PORT, Cluster, make_data_dir, make_directories
from config.env import ConfigError


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        yield Cluster(Path(directory))


def answer(cluster: Cluster) -> int:
    with psycopg.connect(**cluster.parameters) as connection:
        return connection.execute("SELECT 42").fetchone()[0]


def test_the_first_command_starts_the_server_and_the_last_one_stops_it(cluster):
    with postgres.on_demand(cluster) as first:
        with postgres.on_demand(cluster) as second:
            assert (first, second) == (True, False)
        assert answer(cluster) == 42
    assert postgres.running(cluster) is None


def test_embedded_server_listens_on_no_network_address(cluster):
    with postgres.on_demand(cluster), psycopg.connect(**cluster.parameters) as connection:
        assert connection.execute("SHOW listen_addresses").fetchone() == ("",)


def test_the_socket_lies_in_a_directory_that_others_cannot_enter(cluster):
    make_directories(cluster)
    assert stat.S_IMODE(cluster.sockets.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can try it as another user")
def test_another_user_of_the_machine_cannot_connect(cluster):
    attempt = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    address = str(cluster.sockets / f".s.PGSQL.{PORT}")
    with postgres.on_demand(cluster):
        command = [sys.executable, "-S", "-c", attempt, address]
        ours = subprocess.run(command, capture_output=True, text=True)
        other = subprocess.run(
            ["/bin/sh", "-c", 'test -S "$0" || ls "$0"', address],
            user="nobody",
            group="nogroup",
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
        )
    assert ours.returncode == 0, ours.stderr
    assert other.returncode != 0
    assert "Permission denied" in other.stderr


def test_a_data_directory_of_another_major_version_is_refused_and_left_as_it_is(tmp_path):
    cluster = Cluster(tmp_path)
    cluster.directory.mkdir()
    (cluster.directory / "PG_VERSION").write_text("16\n")
    with pytest.raises(ConfigError, match="made by PostgreSQL 16, this is 18"), postgres.on_demand(cluster):
        pass
    assert [path.name for path in cluster.directory.iterdir()] == ["PG_VERSION"]


def test_a_cluster_that_was_only_half_made_is_made_anew(cluster):
    with tempfile.TemporaryDirectory(prefix="countersign-test-") as directory:
        half = Cluster(Path(directory))
        (half.data_dir / "postgres.new").mkdir()
        (half.data_dir / "postgres.new" / "PG_VERSION").write_text("18\n")
        with postgres.on_demand(half):
            assert answer(half) == 42


def test_a_pid_file_that_names_a_stranger_does_not_stop_the_start(cluster):
    with postgres.on_demand(cluster):
        pass
    (cluster.directory / "postmaster.pid").write_text(f"{os.getpid()}\n{cluster.directory}\n0\n5432\n\n\n\nready\n")
    with postgres.on_demand(cluster) as started:
        assert started
        assert answer(cluster) == 42


def test_a_path_too_long_for_a_socket_gets_a_short_one(tmp_path):
    cluster = Cluster(tmp_path / ("d" * 120))
    assert cluster.sockets.parent == Path("/tmp")
    assert len(str(cluster.sockets)) < 60


def test_a_directory_in_place_of_the_socket_that_is_anothers_is_refused(tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    cluster = Cluster(tmp_path / "data")
    cluster.data_dir.mkdir()
    cluster.sockets.symlink_to(elsewhere)
    with pytest.raises(ConfigError, match="belongs to another user"):
        make_directories(cluster)


def test_a_data_directory_that_is_a_file_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot write to"):
        make_data_dir(tmp_path / "file")
