"""Two collections of the same files give the tests the same names: without that no run in several processes begins."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def test_no_name_of_a_test_depends_on_the_clock_a_random_number_or_the_order_of_a_set(request: pytest.FixtureRequest):
    """pytest-xdist stops before the first test where two of its processes name one differently."""
    collected = [item.nodeid for item in request.session.items]
    again = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *sorted({name.split("::")[0] for name in collected})],
        cwd=request.config.rootpath,
        env={name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | {"PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
    )
    assert again.returncode == 0, again.stdout[-2000:] + again.stderr
    assert set(collected) - set(again.stdout.splitlines()) == set()
