"""Packages of npm, installed once into a cache of the tests."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from . import installs


def modules_with(name: str, packages: Sequence[str]) -> Path:
    """The ``node_modules`` that has packages; skips the test, and says why, where it cannot be had.

    A Node below what a package asks for is tried all the same, and what packages want of each other is not asked.
    """
    if shutil.which("npm") is None:
        pytest.skip(f"there is no npm on this machine to install {name} with")
    place = installs.cache() / "-".join([name, *packages]).replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes want it at once
        if not (place / "installed").exists():
            installs.skip_unless_wanted(" ".join(packages))
            options = ["--no-audit", "--no-fund", "--legacy-peer-deps"]
            command = ["npm", "install", "--prefix", str(place), *options, *packages]
            done = subprocess.run(command, capture_output=True, text=True, timeout=150)
            if done.returncode:
                pytest.skip(f"npm cannot install {name}: {done.stderr.strip()[-200:]}")
            (place / "installed").touch()
    return place / "node_modules"
