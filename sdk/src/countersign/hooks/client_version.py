"""The version of a coding agent that is installed here."""

from __future__ import annotations

import re
import shutil
import subprocess

from .settings_file import Unusable

PATIENCE = 60


def version_of(program: str) -> tuple[str, tuple[int, ...]]:
    """Path and version of a client. Raises ``Unusable`` where it does not say it: nobody can tell how it fails."""
    found = shutil.which(program)
    if found is None:
        raise Unusable(
            f"there is no {program} here, so nobody can tell whether it fails closed; name it with --client PATH"
        )
    command = [found, "--version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unusable(f"{found} does not say its version: {error}") from None
    version = re.search(r"\b(\d+)\.(\d+)\.(\d+)\b", done.stdout)
    if done.returncode or not version:
        raise Unusable(f"{found} does not say its version: {(done.stdout + done.stderr).strip()[:200]}")
    return found, tuple(int(part) for part in version.groups())
