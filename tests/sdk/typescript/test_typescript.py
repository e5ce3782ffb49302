"""The client in sdk/ts, run by Node against a real desk, and its types, read by the real compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sessions_app.models import Event, Session
from tests.places import DOCS, ROOT

from .. import installs

CLIENT = ROOT / "sdk" / "ts"
HERE = Path(__file__).parent
PATIENCE = 180
TYPESCRIPT = "typescript@7.0.2"
PAGE = (DOCS / "typescript.md").read_text()
PROGRAMS = re.findall(r"```js\n(.+?)```", PAGE, re.S)


@pytest.fixture(autouse=True)
def spool(tmp_path, monkeypatch) -> None:
    """Not the one of whoever runs the tests."""
    monkeypatch.setenv("COUNTERSIGN_SPOOL", str(tmp_path / "spool"))


@pytest.fixture
def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.skip("there is no node on this machine to run the client with")
    return found


def environment(url: str, key: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "COUNTERSIGN_SPOOL")}
    return kept | {"COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key}


def started(command: list[str], url: str, key: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, env=environment(url, key), text=True, **pipes)  # type: ignore[call-overload, no-any-return]


def finished(running: subprocess.Popen[str]) -> str:
    said = running.communicate(timeout=PATIENCE)[0]
    assert running.returncode == 0, said
    return said


def test_the_client_against_a_desk(node, desk_server, agent_key):
    npm = shutil.which("npm")
    command = [npm, "--prefix", str(CLIENT), "test"] if npm else [node, "--test", str(HERE / "session.test.js")]
    said = finished(started(command, desk_server, agent_key))
    assert re.search(r"^(#|ℹ) pass 15$", said, re.M), said
    session = Session.objects.get(external_id="ts-1")
    assert (session.user_id, session.metadata, session.input_tokens) == ("ines", {"shop": "Porto"}, 10)


def test_a_person_decides(node, desk_server, agent_key, asked, decide):
    running = started([node, "--test", str(HERE / "approve.test.js")], desk_server, agent_key)
    decide(asked(), "approve")
    decide(asked(), "approve", arguments={"order": "4711", "amount": 4})
    decide(asked(), "deny")
    assert re.search(r"^(#|ℹ) pass 2$", finished(running), re.M)


def test_the_programs_of_the_page(node, desk_server, agent_key, asked, decide, tmp_path):
    packages = tmp_path / "node_modules"
    packages.mkdir()
    (packages / "countersign").symlink_to(CLIENT)
    printed = []
    for number, program in enumerate(PROGRAMS):
        path = tmp_path / f"{number}.mjs"
        path.write_text(program)
        running = started([node, "--preserve-symlinks", str(path)], desk_server, agent_key)
        if "approve(" in program:
            decide(asked(), "approve")
        printed.append(finished(running))
    assert printed == ["40.00 is on its way back.\n", "user Refund order 4711, please.\nassistant 40.00 is on its way "
                       "back.\n[ 'tea', 'milk' ]\n"]  # fmt: skip
    kinds = Event.objects.filter(session__external_id="refund-4711").values_list("kind", flat=True)
    assert {"tool_call", "tool_result", "model_request"} <= set(kinds)


def test_the_types(node):
    """Of a program that uses all of it, strictly; a wrong use is an error."""
    place = installs.cache() / TYPESCRIPT
    if not (place / "installed").exists():
        installs.skip_unless_wanted(TYPESCRIPT)
        command = ["npm", "install", "--prefix", str(place), "--no-audit", "--no-fund", TYPESCRIPT]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        if done.returncode:
            pytest.skip(f"npm cannot install {TYPESCRIPT}: {done.stderr.strip()[-200:]}")
        (place / "installed").touch()
    compiler = str(place / "node_modules" / ".bin" / "tsc")
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", "--lib", "es2022"]
    command = [node, compiler, *options, "--types", "", str(HERE / "typed.ts")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, "")
