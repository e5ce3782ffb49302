"""Programs with the libraries of others, recorded at a real desk while they ask models on loopback."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.sdk.adapters.libraries import PATIENCE, python_with

from ..conftest import SOURCE
from .apis import apis

HERE = Path(__file__).parent


@pytest.fixture
def recorded(desk_server: str, agent_key: str, tmp_path: Path) -> Callable[..., str]:
    """Runs a file, or source behind ``-c``, with the libraries of others; what it prints."""

    def run(name: str, *program: str) -> str:
        with apis() as url:
            environment = {
                "PYTHONPATH": str(SOURCE), "COUNTERSIGN_URL": desk_server, "COUNTERSIGN_API_KEY": agent_key,
                "COUNTERSIGN_SPOOL": str(tmp_path), "HOME": "/nonexistent",
                "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-test", "OPENAI_BASE_URL": f"{url}/v1",
                "OPENAI_API_KEY": "sk-test",
            }  # fmt: skip
            command = [str(python_with(name)), *program, url]
            done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout

    return run
