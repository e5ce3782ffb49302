"""Where the tests keep the programs of others, and whether they may fetch them: 1.9 GB in all, some minutes each."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SWITCH = "TEST_INSTALLS"


def cache() -> Path:
    """Folder of what was installed once; it stays for the next run."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "countersign-tests"


def skip_unless_wanted(what: str) -> None:
    """Skip the test that would install ``what``, unless whoever runs it asked for that."""
    if not os.environ.get(SWITCH):
        pytest.skip(f"{what} is not installed in {cache()}; set {SWITCH}=1 to have the tests install it")
