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


def set_up(place: Path, python: str = sys.executable) -> subprocess.CompletedProcess[str]:
    """Bring the environment of a copy to what its requirements say, which is nothing."""
    (place / "script").mkdir(exist_ok=True)
    shutil.copy(ROOT / "script" / "_setup.sh", place / "script")
    (place / "requirements.txt").write_text("")
    command = ["bash", "-c", f"set -euo pipefail; source {place}/script/_setup.sh; install requirements.txt"]
    environ = os.environ | {"PYTHON": python}
    return subprocess.run(command, capture_output=True, text=True, env=environ, check=False)


def test_a_set_up_that_was_stopped_in_the_middle_is_begun_anew(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)

    first = set_up(tmp_path)
    assert first.returncode == 0, first.stderr
    assert (tmp_path / ".venv" / ".requirements.txt.sum").exists()

    kept = tmp_path / ".venv" / "kept"
    kept.touch()
    again = set_up(tmp_path)
    assert (again.returncode, again.stderr) == (0, "") and kept.exists(), "one that is whole is left as it is"


def test_a_python_that_is_named_and_will_not_do_is_not_passed_over(tmp_path):
    refused = set_up(tmp_path, python="/nowhere/python3")
    assert refused.returncode == 2 and not (tmp_path / ".venv").exists()
    assert (
        refused.stderr
        == "countersign: PYTHON=/nowhere/python3 is no Python 3.11 or later: correct it, or leave it out\n"
    )
