"""The lines of docs/gate/ and of the README of the package, run as a reader would."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest
from countersign.doctor.model_apis import ModelApis

from tests.places import DOCS, ROOT

from .bad_desks import WRONG_DESKS
from .conftest import SOURCE
from .real_clients import ClaudeCode, Codex, finished

PAGES = {name: (DOCS / "gate" / f"{name}.md").read_text() for name in ("claude-code", "codex", "http")}
REFUND = "def issue_refund(**given):\n    print('RAN', sorted(given.items()))\n"


def block(page: str, language: str, number: int = 0) -> str:
    return re.findall(rf"```{language}\n(.+?)```", page, re.S)[number]


def start(source: str, url: str, key: str = "cs_test") -> subprocess.Popen[str]:
    environment = {
        "PATH": os.environ["PATH"],
        "COUNTERSIGN_URL": url,
        "COUNTERSIGN_API_KEY": key,
        "PYTHONPATH": str(SOURCE),
    }
    return subprocess.Popen([sys.executable, "-c", REFUND + source], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


PROGRAMS = {
    "http": block(PAGES["http"], "python"),
    "client": block(PAGES["http"], "python", 1),
    "decorator": block(PAGES["http"], "python", 2),
    "readme": block((ROOT / "sdk" / "README.md").read_text(), "python"),
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_what_was_approved(program, desk_server, agent_key, asked, decide):
    running = start(PROGRAMS[program], desk_server, agent_key)
    decide(asked(), "approve")
    assert "RAN [('amount', '40.00'), ('order', '4711')]" in running.communicate(timeout=60)[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_what_was_edited(program, desk_server, agent_key, asked, decide):
    running = start(PROGRAMS[program], desk_server, agent_key)
    decide(asked(), "approve", arguments={"order": "4711", "amount": "4.00"})
    assert "RAN [('amount', '4.00'), ('order', '4711')]" in running.communicate(timeout=60)[0]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_does_not_run_what_was_denied(program, desk_server, agent_key, asked, decide):
    running = start(PROGRAMS[program], desk_server, agent_key)
    decide(asked(), "deny")
    assert "RAN" not in running.communicate(timeout=60)[0]


@pytest.mark.parametrize("desk", WRONG_DESKS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_nothing_without_a_desk(program, desk):
    impatient = (
        PROGRAMS[program].replace("timeout=60", "timeout=1").replace("expires_in=3600", "expires_in=3600, wait=1")
    )
    with WRONG_DESKS[desk]() as url:
        assert "RAN" not in start(impatient, url).communicate(timeout=60)[0]


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> Path:
    """Programs of an environment into which the package was installed, as the pages say."""
    place = tmp_path_factory.mktemp("environment")
    venv.create(place, with_pip=True)
    command = [place / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", ROOT / "sdk"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"pip cannot install the package here: {done.stderr.strip()[-200:]}")
    return place / "bin"


def lines(page: str, url: str, key: str, **changed: str) -> str:
    """The shell lines of a page for this desk and key, in an environment that is there already."""
    text = block(page, "sh").replace("https://desk.example.org", url).replace("cs_...", key)
    for before, after in changed.items():
        assert before.replace("_", " ") in text
        text = text.replace(before.replace("_", " "), after)
    return "set -e\n" + "\n".join(
        line for line in text.splitlines() if "venv" not in line and "pip install" not in line
    )


def test_the_lines_for_claude_code(tmp_path, package, desk_server, agent_key, asked, decide):
    with ModelApis([("Bash", {"command": "touch made"})]).serving() as apis:
        claude = ClaudeCode(tmp_path / "home", apis)
        running = shell(
            lines(PAGES["claude-code"], desk_server, agent_key), package, claude, ANTHROPIC_BASE_URL=apis.url
        )
        decide(asked(), "approve")
        finished(running)
    assert claude.made == ["made"]
    assert "hook.py" not in claude.settings.read_text()


def test_the_lines_for_codex(tmp_path, package, desk_server, agent_key, asked, decide):
    with ModelApis([("exec_command", {"cmd": "touch made"})]).serving() as apis:
        codex = Codex(tmp_path / "home", apis)
        page = lines(PAGES["codex"], desk_server, agent_key, codex_exec=f"codex exec {codex.TRUSTING}")
        running = shell(page, package, codex, CODEX_HOME=str(codex.home))
        decide(asked(), "approve")
        finished(running)
    assert codex.made == ["made"]
    assert "hook.py" not in codex.hooks.read_text()


def shell(text: str, package: Path, client: ClaudeCode | Codex, **more: str) -> subprocess.Popen[str]:
    environment = (
        client.environment("", "") | {"PATH": f"{package}:{client.program.parent}:{os.environ['PATH']}"} | more
    )
    for name in ("COUNTERSIGN_URL", "COUNTERSIGN_API_KEY"):
        del environment[name]  # the page sets them
    return subprocess.Popen(["/bin/sh", "-c", textwrap.dedent(text)], env=environment, cwd=client.work, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize("page", ["claude-code", "codex"])
def test_what_the_page_says_stays_open_is_in_bold(page):
    words = {"claude-code": ("--bare", "--safe-mode", "disableAllHooks"), "codex": ("not reviewed", "RUNS", "no gate")}[
        page
    ]
    bold = " ".join(re.findall(r"\*\*(.+?)\*\*", PAGES[page], re.S))
    assert [word for word in words if word not in bold] == []
