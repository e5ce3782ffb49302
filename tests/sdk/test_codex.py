"""The real Codex behind the real hooks and a real desk, and what it leaves open: docs/gate/codex.md says both."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter

import pytest
from countersign.doctor.model_apis import ModelApis

from config.database.postgres import wait_until
from sessions_app.models import Event

from .bad_desks import WRONG_DESKS, answering, nobody
from .conftest import a_moment
from .real_clients import Codex, finished, shell_below

TOUCH = ("exec_command", {"cmd": "touch made"})


@pytest.fixture
def apis():
    with ModelApis([TOUCH]).serving() as apis:
        yield apis


@pytest.fixture
def codex(tmp_path, apis):
    return Codex(tmp_path / "home", apis)


def test_an_approved_call_runs(codex, desk_server, agent_key, asked, decide):
    codex.install("--hold", "60")
    client = codex.start(desk_server, agent_key, codex.TRUSTING)
    approval = asked()
    a_moment()
    assert codex.made == []
    assert (approval.tool_name, approval.arguments) == ("Bash", {"command": "touch made"})
    assert approval.session.agent.name == "Codex"
    decide(approval, "approve")
    finished(client)
    assert codex.made == ["made"]


def test_what_led_to_a_call_and_what_came_of_it_is_in_its_session(codex, desk_server, agent_key, asked, decide):
    codex.install("--hold", "60")
    client = codex.start(desk_server, agent_key, codex.TRUSTING)
    approval = asked()
    assert wait_until(lambda: ("user_message", "go") in log_of(approval), 60), "nothing led to the card"
    decide(approval, "approve")
    finished(client)
    kinds = Counter(kind for kind, _ in log_of(approval))
    expected = {"user_message": 1, "agent_message": 1, "tool_call": 1, "tool_result": 1, "model_request": 2}
    assert {kind: kinds[kind] for kind in expected} == expected
    approval.refresh_from_db()
    assert (approval.delivery, approval.execution) == ("delivered", "succeeded")
    approval.session.refresh_from_db()
    assert approval.session.output_tokens == 10


def log_of(approval):
    return list(Event.objects.filter(session=approval.session_id).order_by("seq").values_list("kind", "text"))


def test_a_denied_call_does_not_run_and_the_model_is_told_why(codex, desk_server, agent_key, asked, decide):
    codex.install("--hold", "60")
    client = codex.start(desk_server, agent_key, codex.TRUSTING)
    decide(asked(), "deny", reason="Not in this folder.")
    finished(client)
    assert codex.made == []
    assert "Denied by Rosa. Not in this folder." in codex.apis.results()[0]


def test_an_edited_call_runs_as_it_was_edited(codex, desk_server, agent_key, asked, decide):
    codex.install("--hold", "60")
    client = codex.start(desk_server, agent_key, codex.TRUSTING)
    decide(asked(), "approve", arguments={"command": "touch edited"})
    finished(client)
    assert codex.made == ["edited"]


@pytest.mark.parametrize("desk", WRONG_DESKS)
def test_nothing_runs_without_a_desk_that_says_so(codex, desk):
    codex.install("--hold", "1")
    with WRONG_DESKS[desk]() as url:
        codex.run(url)
    assert codex.made == []
    assert "blocked by PreToolUse hook" in codex.apis.results()[0]


def test_a_hook_that_crashes_lets_nothing_run(codex):
    """Its shell is still there, and says no in its place."""
    codex.install("--hold", "30")
    with answering(lambda request: None) as url:
        client = codex.start(url, "cs_test", codex.TRUSTING)
        os.kill(_child_of(shell_below(client.pid)), signal.SIGKILL)
        finished(client)
    assert codex.made == []


def test_where_the_shell_of_the_hook_is_killed_codex_runs_the_call(codex):
    """Not ours to mend, and why the docs call it no gate: when this fails, say so there."""
    codex.install("--hold", "30")
    with answering(lambda request: None) as url:
        client = codex.start(url, "cs_test", codex.TRUSTING)
        shell = shell_below(client.pid)
        hook = _child_of(shell)
        os.kill(shell, signal.SIGKILL)
        os.kill(hook, signal.SIGKILL)
        finished(client)
    assert codex.made == ["made"]


def test_a_hook_that_nobody_reviewed_is_not_run_and_the_call_is(codex):
    """Not ours to mend either: the installer says it, too."""
    codex.install("--hold", "1")
    with nobody() as url:
        codex.run(url, "cs_test", "--color", "never")
    assert codex.made == ["made"]


def _child_of(shell: int) -> int:

    found = subprocess.run(["pgrep", "--parent", str(shell)], capture_output=True, text=True, check=True)
    return int(found.stdout.split()[0])
