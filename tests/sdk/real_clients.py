"""The real coding agents, installed once from npm into a cache of the tests, and run against model APIs of theirs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from countersign.doctor.model_apis import ModelApis

from . import installs
from .conftest import SOURCE

PACKAGES = {
    "claude": "@anthropic-ai/claude-code@2.1.330", "codex": "@openai/codex@0.169.0",
    "claude-agent-acp": "@zed-industries/claude-agent-acp@0.23.1",
}  # fmt: skip
PATIENCE = 60
PIPES: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def program(name: str) -> Path:
    """Path of a client; skips the test, and says why, where it cannot be had."""
    if shutil.which("npm") is None:
        pytest.skip(f"there is no npm on this machine to install {PACKAGES[name]} with")
    place = installs.cache() / PACKAGES[name].replace("/", "-")
    place.mkdir(parents=True, exist_ok=True)
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes want it at once
        if not (place / "installed").exists():
            installs.skip_unless_wanted(PACKAGES[name])
            command = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", PACKAGES[name]]
            done = subprocess.run(command, capture_output=True, text=True, timeout=150)
            if done.returncode:
                pytest.skip(f"npm cannot install {PACKAGES[name]}: {done.stderr.strip()[-200:]}")
            (place / "installed").touch()
    return place / "node_modules" / ".bin" / name


class ClaudeCode:
    """Claude Code with a home of its own, and the hooks that the installer wrote."""

    def __init__(self, place: Path, apis: ModelApis) -> None:
        self.home, self.work, self.apis = place, place / "work", apis
        self.work.mkdir(parents=True)
        self.program = program("claude")
        self.settings = place / ".claude" / "settings.json"

    def install(self, *options: str) -> None:
        _install("claude-code", self.settings, self.program, *options)

    def start(self, url: str, key: str, *options: str, prompt: str | None = "go") -> subprocess.Popen[str]:
        words = [prompt] if prompt else []
        command = [str(self.program), "-p", *words, "--output-format", "json", "--allowedTools", "Bash", *options]
        return subprocess.Popen(command, env=self.environment(url, key), cwd=self.work, text=True, **PIPES)

    def environment(self, url: str, key: str) -> dict[str, str]:
        return self.environment_of(self.home, self.apis, url, key)

    @staticmethod
    def environment_of(home: Path, apis: ModelApis, url: str, key: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "HOME": str(home), "ANTHROPIC_API_KEY": "sk-ant-test",
            "ANTHROPIC_BASE_URL": apis.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1", "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key,
        }  # fmt: skip

    def run(self, url: str, key: str = "cs_test", *options: str, prompt: str | None = "go") -> str:
        """What it prints."""
        return finished(self.start(url, key, *options, prompt=prompt))

    @property
    def made(self) -> list[str]:
        """Files in its working directory: what its calls did."""
        return sorted(path.name for path in self.work.iterdir())


class Codex:
    """Codex with a home of its own, and the hooks that the installer wrote."""

    TRUSTING = "--dangerously-bypass-hook-trust"
    """In place of a person who reviews the hooks in the terminal."""

    def __init__(self, place: Path, apis: ModelApis) -> None:
        self.home, self.work, self.apis = place / ".codex", place / "work", apis
        for folder in (self.home, self.work):
            folder.mkdir(parents=True)
        self.program = program("codex")
        self.hooks = self.home / "hooks.json"
        provider = f'name = "fake"\nbase_url = "{apis.url}/v1"\nwire_api = "responses"\nenv_key = "FAKE_KEY"\n'
        top = 'model = "gpt-5.5"\nmodel_provider = "fake"\nsandbox_mode = "danger-full-access"\n'
        (self.home / "config.toml").write_text(f"{top}[model_providers.fake]\n{provider}")

    def install(self, *options: str) -> None:
        _install("codex", self.hooks, self.program, *options)

    def start(self, url: str, key: str, *options: str) -> subprocess.Popen[str]:
        command = [str(self.program), "exec", "--skip-git-repo-check", *options, "go"]
        return subprocess.Popen(command, env=self.environment(url, key), cwd=self.work, text=True, **PIPES)

    def environment(self, url: str, key: str) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"], "HOME": str(self.home.parent), "CODEX_HOME": str(self.home), "FAKE_KEY": "x",
            "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key,
        }  # fmt: skip

    def run(self, url: str, key: str = "cs_test", *options: str) -> str:
        """What it prints."""
        return finished(self.start(url, key, *(options or (self.TRUSTING,))))

    @property
    def made(self) -> list[str]:
        """Files in its working directory: what its calls did."""
        return sorted(path.name for path in self.work.iterdir())


def _install(client: str, settings: Path, path: Path, *options: str) -> None:
    command = [sys.executable, "-c", "from countersign.cli import main; main()", "hooks", "install", client,
               "--yes", "--settings", str(settings), "--client", str(path), *options]  # fmt: skip
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def shell_below(pid: int) -> int:
    """The shell of the hook that a client waits for."""
    for _ in range(400):
        for process in _below(pid):
            if "hook.py" in _command(process):
                time.sleep(0.5)  # until the hook asks
                return process
        time.sleep(0.05)
    raise AssertionError("the client started no hook")


def _below(pid: int) -> list[int]:
    found = subprocess.run(["pgrep", "--parent", str(pid)], capture_output=True, text=True)
    children = [int(line) for line in found.stdout.split()]
    return children + [process for child in children for process in _below(child)]


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def finished(client: subprocess.Popen[str]) -> str:
    printed, complained = client.communicate(timeout=PATIENCE)
    assert client.returncode == 0, printed + complained
    return printed
