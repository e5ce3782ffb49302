"""Command lines that clients run as their hooks."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from ..hook import DECIDED

REFUSED = "countersign: there is no decision on this call, so it is refused"
"""Said as well as meant: Codex lets a call run when its hook ends with status 2 and is silent."""
PACKAGE = Path(__file__).parents[1]
HOOK, REPORT = PACKAGE / "hook.py", PACKAGE / "report.py"
"""They stay where they are: these paths stand in the settings of people who installed them."""


def gate(client: str, event: str, *options: str) -> str:
    """A command that prints one valid decision with status 0, or ends with status 2 (``hook`` says why so)."""
    return f"{_run(HOOK, client, event, *options)}; [ $? -eq {DECIDED} ] || {{ echo '{REFUSED}' >&2; exit 2; }}"


def report(client: str, event: str) -> str:
    """A command that decides nothing, and stops nothing when it fails."""
    return f"{_run(REPORT, client, event)} || true"


def _run(script: Path, *words: str) -> str:
    return shlex.join([sys.executable, "-I", "-S", str(script), *words])
