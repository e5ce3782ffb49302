"""The real coding agents, installed once from npm into a cache of the tests, and run against model APIs of theirs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import SOURCE
from .model_apis import ModelApis

PACKAGES = {"claude": "@anthropic-ai/claude-code@2.1.330", "codex": "@openai/codex@0.169.0"}
PATIENCE = 60


def program(name: str) -> Path:
    """Path of a client; skips the test, and says why, where it cannot be had."""
    if shutil.which("npm") is None:
        pytest.skip(f"there is no npm on this machine to install {PACKAGES[name]} with")
    place = _cache() / PACKAGES[name].replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes want it at once
        if not (place / "installed").exists():
            command = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", PACKAGES[name]]
            done = subprocess.run(command, capture_output=True, text=True, timeout=150)
            if done.returncode:
                pytest.skip(f"npm cannot install {PACKAGES[name]}: {done.stderr.strip()[-200:]}")
            (place / "installed").touch()
    return place / "node_modules" / ".bin" / name


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "countersign-tests"


class ClaudeCode:
    """Claude Code with a home of its own, and the hooks that the installer wrote."""

    def __init__(self, place: Path, apis: ModelApis) -> None:
        self.home, self.work, self.apis = place, place / "work", apis
        self.work.mkdir(parents=True)
        self.program = program("claude")
        self.settings = place / ".claude" / "settings.json"

    def install(self, *options: str) -> None:
        command = [sys.executable, "-c", "from countersign.cli import main; main()", "hooks", "install", "claude-code",
                   "--yes", "--settings", str(self.settings), "--client", str(self.program), *options]  # fmt: skip
        done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def start(self, url: str, key: str, *options: str) -> subprocess.Popen[str]:
        command = [str(self.program), "-p", "go", "--output-format", "json", "--allowedTools", "Bash", *options]
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.home), "ANTHROPIC_API_KEY": "sk-ant-test",
            "ANTHROPIC_BASE_URL": self.apis.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1", "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key,
        }  # fmt: skip
        pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, cwd=self.work, text=True, **pipes)

    def run(self, url: str, key: str = "cs_test", *options: str) -> str:
        """What it prints."""
        return finished(self.start(url, key, *options))

    @property
    def made(self) -> list[str]:
        """Files in its working directory: what its calls did."""
        return sorted(path.name for path in self.work.iterdir())


def finished(client: subprocess.Popen[str]) -> str:
    printed, complained = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, printed + complained
    return printed
