"""The set-up that ``script/server`` begins with, in a directory of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ...places import ROOT

pytestmark = pytest.mark.skipif(shutil.which("uv") is not None, reason="uv needs no pip")


def set_up(place: Path) -> subprocess.CompletedProcess[str]:
    """Bring the environment of a copy to what its requirements say, which is nothing."""
    command = ["bash", "-c", f"set -euo pipefail; source {place}/script/_setup.sh; install requirements.txt"]
    environ = os.environ | {"PYTHON": sys.executable}
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False)


def test_a_set_up_that_was_stopped_in_the_middle_is_begun_anew(tmp_path):
    (tmp_path / "script").mkdir()
    shutil.copy(ROOT / "script" / "_setup.sh", tmp_path / "script")
    (tmp_path / "requirements.txt").write_text("")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)

    first = set_up(tmp_path)
    assert first.returncode == 0, first.stderr
    assert (tmp_path / ".venv" / ".requirements.txt.sum").exists()

    kept = tmp_path / ".venv" / "kept"
    kept.touch()
    again = set_up(tmp_path)
    assert (again.returncode, again.stderr) == (0, "") and kept.exists(), "one that is whole is left as it is"
