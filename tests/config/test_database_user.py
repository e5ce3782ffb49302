"""As root, the first start makes the user that the database server runs as; several first starts may come at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.database.cluster import NAME
from tests.places import ROOT

AT_ONCE = 6
ASKING = """
import multiprocessing, sys
from config.database.cluster import server_user

def ask(barrier):
    barrier.wait()
    return server_user().pw_uid

if __name__ == "__main__":
    with multiprocessing.Manager() as manager, multiprocessing.Pool(int(sys.argv[1])) as pool:
        barrier = manager.Barrier(int(sys.argv[1]))
        print(set(pool.map(ask, [barrier] * int(sys.argv[1]), chunksize=1)) == {server_user().pw_uid})
"""
"""Asks for the user from several processes in the same moment; True when all were given the one that is there."""


def isolated(etc: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command that sees ``etc`` as /etc, in a mount namespace of its own, with the PATH that cron gives."""
    mount = 'mount --bind "$0" /etc && exec "$@"'
    environ = os.environ | {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", mount, etc, *command],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    """A copy of /etc in which the user is not there yet."""
    copy = tmp_path / "etc"
    shutil.copytree("/etc", copy, symlinks=True, ignore_dangling_symlinks=True)
    if os.geteuid() != 0 or isolated(copy, "true").returncode:
        pytest.skip("only root is in need of a user, and only where mount namespaces can be made")
    for file in ("passwd", "shadow", "group", "gshadow"):  # not by userdel: it leaves a user that has processes
        lines = (copy / file).read_text().splitlines(keepends=True)
        (copy / file).write_text("".join(line for line in lines if not line.startswith(f"{NAME}:")))
    assert isolated(copy, "getent", "passwd", NAME).returncode == 2  # not found
    return copy


def test_several_first_starts_at_once_make_one_user(etc, tmp_path):
    script = tmp_path / "ask.py"
    script.write_text(ASKING)
    done = isolated(etc, sys.executable, script, str(AT_ONCE))
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr
    assert [line.split(":")[0] for line in (etc / "passwd").read_text().splitlines()].count(NAME) == 1
