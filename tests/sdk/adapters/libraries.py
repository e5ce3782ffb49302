"""Other people's agent libraries, each in an environment of its own: installed once into a cache of the tests."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.places import DOCS
from tests.sdk import installs
from tests.sdk.conftest import SOURCE

EXPORTER = ["opentelemetry-sdk==1.45.2", "opentelemetry-exporter-otlp-proto-http==1.45.2"]
CLIENTS = ["anthropic==2.14.0", "openai==3.57.0"]
PINNED = {
    "openai-agents": ["openai-agents==0.24.0"],
    "pydantic-ai": ["pydantic-ai-slim==2.62.0"],
    "claude-agent-sdk": ["claude-agent-sdk==0.2.187"],
    "mcp": ["mcp==2.3.0"],
    "acp": ["agent-client-protocol==0.12.1"],
    "google-adk": ["google-adk==2.13.0"],
    "agent-framework": ["agent-framework-core==1.23.0", "agent-framework-openai==1.17.0"],
    "langchain": ["langgraph==1.2.22"],
    "ag-ui": ["pydantic-ai-slim==2.62.0", "starlette==1.10.0"],
    "model-clients": ["anthropic==2.12.0", "openai==3.54.0"],
    "recorded-langchain": ["langgraph==1.2.22", "anthropic==2.12.0"],
    "recorded-pydantic-ai": ["pydantic-ai-slim[anthropic,openai]==2.68.0"],
    "genai": [
        *EXPORTER,
        "opentelemetry-instrumentation-genai-openai==1.3b0",
        "opentelemetry-instrumentation-genai-anthropic==1.3b0",
        *CLIENTS,
    ],
    "openinference": [
        *EXPORTER,
        "openinference-instrumentation-openai==0.1.66",
        "openinference-instrumentation-anthropic==3.1.0",
        *CLIENTS,
    ],
    "openllmetry": [
        *EXPORTER,
        "opentelemetry-instrumentation-openai==0.62.4",
        "opentelemetry-instrumentation-anthropic==0.62.4",
        *CLIENTS,
    ],
    "openllmetry-0.47": [
        "opentelemetry-sdk==1.39.1",
        "opentelemetry-exporter-otlp-proto-http==1.39.1",
        "opentelemetry-instrumentation-openai==0.47.5",
        "opentelemetry-instrumentation-anthropic==0.47.5",
        *CLIENTS,
    ],
    "openllmetry-0.33": [
        "opentelemetry-sdk==1.28.2",
        "opentelemetry-exporter-otlp-proto-http==1.28.2",
        "opentelemetry-instrumentation-openai==0.33.12",
        "opentelemetry-instrumentation-anthropic==0.33.12",
        "setuptools==65.5.0",
        *CLIENTS,
    ],
    "openllmetry-0.10": [*EXPORTER, "opentelemetry-instrumentation-openai==0.10.5", "setuptools==65.5.0", *CLIENTS],
    "genai-v2": [
        "opentelemetry-sdk==1.39.1",
        "opentelemetry-exporter-otlp-proto-http==1.39.1",
        "opentelemetry-instrumentation-openai-v2==2.4b0",
        "opentelemetry-util-genai==0.4b0",
        "openai==2.54.0",
    ],
    "langfuse": [*EXPORTER, "langfuse==5.0.4", *CLIENTS],
    "opentelemetry": [
        "opentelemetry-sdk==1.45.2",
        "opentelemetry-exporter-otlp-proto-http==1.45.2",
        "anthropic==2.10.0",
    ],
}
"""What each page in docs/gate is run with, and the programs that are recorded."""
AS_THEY_ARE = {
    "langchain": ["langchain==1.5.0", "langchain-core==1.8.2"],
    "recorded-langchain": ["langchain==1.5.0", "langchain-core==1.8.2", "langchain-anthropic==1.7.10"],
    "ag-ui": ["ag-ui-protocol==1.0.0"],
}
"""Installed on top, without what they ask for: a certifi that not every mirror of the package index has, or, of AG-UI,
with what does not want it yet: Pydantic AI 2.62 asks for a version below 1.
"""
COUNTERSIGN = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); "
               "from countersign.cli import main; main()"]  # fmt: skip
"""The command as it is when the package is installed."""
DRIVER = Path(__file__).with_name("drive.py")
INSTALLING, PATIENCE = 300, 60


def python_with(name: str) -> Path:
    """The interpreter that has a library; skips the test, and says why, where it cannot be had."""
    alone = AS_THEY_ARE.get(name, [])
    place = installs.cache() / "-".join([name, *PINNED[name], *alone, str(sys.version_info[1])]).replace("==", "-")
    place.mkdir(parents=True, exist_ok=True)
    python = place / "venv" / "bin" / "python"
    with (place / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test processes want it at once
        if not (place / "installed").exists():
            installs.skip_unless_wanted(" ".join(PINNED[name]))
            pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            commands = [[sys.executable, "-m", "venv", "--clear", str(place / "venv")], [*pip, *PINNED[name]]]
            for command in [*commands, [*pip, "--no-deps", *alone]] if alone else commands:
                done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALLING)
                if done.returncode:
                    pytest.skip(f"pip cannot install {' '.join(PINNED[name])}: {done.stderr.strip()[-200:]}")
            (place / "installed").touch()
    return python


def start(name: str, desks: list[str], key: str = "cs_test", wait: float = 2, calls: int = 1) -> subprocess.Popen[str]:
    """The example of a page, run once for each desk at the same time; the model asks for ``calls`` calls at once."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONPATH": str(SOURCE), "COUNTERSIGN_API_KEY": key,
        "OPENAI_AGENTS_DISABLE_TRACING": "1", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [str(python_with(name)), str(DRIVER), name, str(DOCS / "gate" / f"{name}.md"), str(wait), str(calls)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = subprocess.Popen(command, env=environment, text=True, **pipes)
    assert program.stdin
    program.stdin.write(json.dumps(desks))
    program.stdin.close()
    program.stdin = None
    return program


def finished(program: subprocess.Popen[str]) -> list[dict[str, Any]]:
    """For each desk: ``ran`` (the arguments of each execution), ``told`` (what the model read), ``error``."""
    printed, complained = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, complained
    return json.loads(printed)
