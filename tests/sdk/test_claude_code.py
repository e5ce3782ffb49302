"""The real Claude Code behind the real hooks and a real desk: nothing runs without a decision about that very call."""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter

import pytest
from countersign.doctor.model_apis import ModelApis

from config.database.postgres import wait_until
from sessions_app.models import Approval, Event
from sessions_app.services.approvals.decisions import Conflict
from tests.browser import server

from .bad_desks import WRONG_DESKS, answering, lying
from .conftest import a_moment
from .real_clients import ClaudeCode, finished, shell_below

TOUCH = ("Bash", {"command": "touch made", "description": "Make a file"})


@pytest.fixture
def apis():
    with ModelApis([TOUCH]).serving() as apis:
        yield apis


@pytest.fixture
def claude(tmp_path, apis):
    return ClaudeCode(tmp_path / "home", apis)


@pytest.fixture
def impatient(tmp_path, apis):
    return ClaudeCode(tmp_path / "another home", apis)


def test_an_approved_call_runs_and_the_card_says_what_it_is(claude, desk_server, agent_key, asked, decide):
    claude.install("--hold", "60")
    client = claude.start(desk_server, agent_key)
    approval = asked()
    a_moment()
    assert claude.made == []
    assert (approval.tool_name, approval.arguments, approval.context) == (*TOUCH, "Make a file")
    assert approval.session.agent.name == "Claude Code"
    assert approval.session.title == "Claude Code in work"
    assert wait_until(lambda: ("agent_message", "I will do that.") in log_of(approval), 60), "nothing led to the card"
    assert ("user_message", "go") in log_of(approval)
    decide(approval, "approve")
    printed = json.loads(finished(client))
    assert claude.made == ["made"]
    assert approval.session.external_id == printed["session_id"]


def test_the_transcript_of_a_run_is_in_its_session_once(claude, desk_server, agent_key, asked, decide):
    claude.install("--hold", "60")
    client = claude.start(desk_server, agent_key)
    approval = asked()
    decide(approval, "approve")
    finished(client)
    kinds = Counter(kind for kind, _ in log_of(approval))
    expected = {"user_message": 1, "agent_message": 2, "tool_call": 1, "tool_result": 1, "model_request": 2}
    assert {kind: kinds[kind] for kind in expected} == expected
    session = approval.session
    session.refresh_from_db()
    assert session.output_tokens == 40
    approval.refresh_from_db()
    assert (approval.delivery, approval.execution) == ("delivered", "succeeded")


def log_of(approval):
    return list(Event.objects.filter(session=approval.session_id).order_by("seq").values_list("kind", "text"))


def test_a_denied_call_does_not_run_and_the_model_is_told_why(claude, desk_server, agent_key, asked, decide):
    claude.install("--hold", "60")
    client = claude.start(desk_server, agent_key, "--dangerously-skip-permissions")
    decide(asked(), "deny", reason="Not in this folder.")
    finished(client)
    assert claude.made == []
    assert "Denied by Rosa. Not in this folder." in claude.apis.results()[0]


def test_an_edited_call_runs_as_it_was_edited(claude, desk_server, agent_key, asked, decide):
    claude.install("--hold", "60")
    client = claude.start(desk_server, agent_key)
    decide(asked(), "approve", arguments={"command": "touch edited"})
    finished(client)
    assert claude.made == ["edited"]


def test_an_answer_is_what_the_model_reads_and_nothing_runs(claude, desk_server, agent_key, asked, decide):
    claude.install("--hold", "60")
    client = claude.start(desk_server, agent_key)
    decide(asked(), "answer", answer="It is there already.")
    finished(client)
    assert claude.made == []
    assert "It is there already." in claude.apis.results()[0]


def test_a_restart_loses_no_decision_and_a_desk_that_stays_away_is_no(
    claude, impatient, process_environment, agent_key, decide
):
    claude.install("--hold", "60")
    impatient.install("--hold", "3")
    port = server.free_port()
    with server.running(process_environment, port) as url:
        clients = [one.start(url, agent_key) for one in (impatient, claude)]
        assert wait_until(lambda: Approval.objects.count() == 2, 60)
    finished(clients[0])
    assert (impatient.made, claude.made) == ([], [])
    too_late, in_time = Approval.objects.order_by("expires_at")
    try:
        decide(too_late, "approve")
    except Conflict as refused:  # where its three seconds were over before the desk was gone
        assert "no longer waits, it is expired" in str(refused)
    decide(in_time, "approve")
    a_moment()
    assert (impatient.made, claude.made) == ([], [])
    with server.running(process_environment, port):
        finished(clients[1])
    assert (impatient.made, claude.made) == ([], ["made"])


@pytest.mark.parametrize("desk", WRONG_DESKS)
def test_nothing_runs_without_a_desk_that_says_so(claude, desk):
    """Even where the client's own rules would let the call run (``--allowedTools Bash``)."""
    claude.install("--hold", "1")
    with WRONG_DESKS[desk]() as url:
        claude.run(url)
    assert claude.made == []
    assert len(claude.apis.results()) == 1


def test_the_bad_desks_are_what_stops_it(claude):
    """Else the tests above would pass with hooks that stop everything."""
    claude.install("--hold", "1")
    with answering(lying(lambda said: None)) as url:
        claude.run(url)
    assert claude.made == ["made"]


def test_a_hook_that_is_killed_lets_nothing_run(claude):
    claude.install("--hold", "30")
    with answering(lambda request: None) as url:
        client = claude.start(url, "cs_test")
        subprocess.run(["pkill", f"-{signal.SIGKILL}", "--parent", str(shell_below(client.pid))], check=True)
        finished(client)
    assert claude.made == []


def test_a_deferred_call_ends_the_run_and_runs_when_it_is_resumed_with_a_decision(
    claude, desk_server, agent_key, asked, decide
):
    claude.install("--hold", "1", "--defer")
    printed = json.loads(claude.run(desk_server, agent_key))
    assert printed["stop_reason"] == "tool_deferred"
    assert claude.made == []
    decide(asked(), "approve", arguments={"command": "touch edited"})
    claude.run(desk_server, agent_key, "--resume", printed["session_id"], prompt=None)
    assert claude.made == ["edited"]
    assert Approval.objects.count() == 1


def test_what_the_client_itself_denies_stays_denied_whatever_was_approved(
    claude, desk_server, agent_key, asked, decide
):
    """Whatever was approved, and for the arguments that a reviewer wrote, too."""
    claude.install("--hold", "60")
    settings = json.loads(claude.settings.read_text())
    claude.settings.write_text(json.dumps(settings | {"permissions": {"deny": ["Bash(touch edited)"]}}))
    client = claude.start(desk_server, agent_key)
    decide(asked(), "approve", arguments={"command": "touch edited"})
    finished(client)
    assert claude.made == []


def test_a_message_after_a_deferred_call_takes_it_back(claude, desk_server, agent_key, asked, decide):
    """Whoever resumes with other words has changed their mind, whatever was approved meanwhile."""
    claude.install("--hold", "1", "--defer")
    printed = json.loads(claude.run(desk_server, agent_key))
    decide(asked(), "approve")
    claude.run(desk_server, agent_key, "--resume", printed["session_id"], prompt="Do not do that")
    assert claude.made == []
    assert "a person wrote something else" in claude.apis.results()[0]
