"""The types of the code hold, as mypy reads them with the plugins for Django and Pydantic (``[tool.mypy]``)."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.places import ROOT


@pytest.mark.timeout(600)  # half a minute on an idle core, of which it may have half beside the browser tests
def test_there_is_no_type_error() -> None:
    done = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
