"""``countersign mcp-permission``: what Claude Code asks in place of its user, alone and with the real client."""

from __future__ import annotations

import io
import json
import os
import queue
import re
import subprocess
import sys

import pytest
from countersign.doctor.model_apis import ModelApis
from countersign.mcp.permission_prompt import PermissionPrompt

from config.database.postgres import wait_until
from sessions_app.models import Approval, Event
from tests.places import DOCS
from tests.sdk.bad_desks import LIES, WRONG_DESKS, answering, lying

from ..conftest import SOURCE, a_moment
from ..real_clients import PIPES, ClaudeCode, finished
from .desks import desk

CALL = {"tool_name": "Bash", "input": {"command": "touch made", "description": "Make a file"}, "tool_use_id": "toolu_1"}


class _Out(io.BytesIO):
    def __init__(self) -> None:
        super().__init__()
        self.said: queue.SimpleQueue = queue.SimpleQueue()

    def write(self, line) -> int:
        self.said.put(json.loads(line))
        return len(line)


def served(url, *given, hold=2.0):
    """What comes back of these messages, in whatever order, by id."""
    out = _Out()
    lines = [one if isinstance(one, bytes) else json.dumps({"jsonrpc": "2.0"} | one).encode() for one in given]
    os.environ["COUNTERSIGN_URL"] = url
    PermissionPrompt("Claude Code", out, hold).serve(io.BytesIO(b"\n".join(lines)))
    answered = [one for one in given if isinstance(one, bytes) or "id" in one]
    return {one["id"]: one for one in (out.said.get(timeout=60) for _ in answered)}


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    """A place of its own for what is remembered of runs, and variables that a test may set."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("COUNTERSIGN_URL", "")
    monkeypatch.setenv("COUNTERSIGN_API_KEY", "cs_test")


def question(arguments, id_=1, name="decide"):
    return {"id": id_, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def said(answer):
    """As Claude Code reads it: the first block, a text, as JSON."""
    block = answer["result"]["content"][0]
    assert block["type"] == "text"
    return json.loads(block["text"])


def test_it_is_a_server_of_the_older_versions_and_of_the_new_one():
    given = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "ping"},
        {"id": 4, "method": "server/discover"},
        {"id": 5, "method": "resources/list"},
        {"id": 6, "method": "initialize", "params": {"protocolVersion": "1999-01-01"}},
        {"method": "notifications/initialized"},
        b"{",
    ]
    found = served("http://127.0.0.1:1", *given)
    assert found[1]["result"]["protocolVersion"] == "2025-06-18"
    assert found[6]["result"]["protocolVersion"] == "2025-11-25"
    assert [tool["name"] for tool in found[2]["result"]["tools"]] == ["decide"]
    assert "2026-07-28" in found[4]["result"]["supportedVersions"]
    assert (found[3]["result"], found[5]["error"]["code"], found[None]["error"]["code"]) == ({}, -32601, -32700)


def test_a_yes_holds_the_arguments_that_may_run():
    with desk() as made:
        answer = served(
            made.url, question(CALL), question(CALL | {"tool_name": "mcp__shop__refund", "tool_use_id": "t2"}, 2)
        )
        assert said(answer[1]) == {"behavior": "allow", "updatedInput": CALL["input"]}
    about = {one["tool"]["name"]: one for one in made.questions}
    assert about["mcp__shop__refund"]["tool"]["server"] == "shop"
    shell = about["Bash"]
    assert (shell["client_id"], shell["context"], shell["expires_in"]) == ("permission:toolu_1", "Make a file", 2)


@pytest.mark.parametrize("lie", LIES)
def test_an_answer_about_anything_else_is_no(lie):
    with answering(lying(LIES[lie])) as url:
        assert said(served(url, question(CALL))[1])["behavior"] == "deny"


@pytest.mark.parametrize("which", WRONG_DESKS)
def test_no_desk_is_no(which):
    with WRONG_DESKS[which]() as url:
        assert said(served(url, question(CALL), hold=1)[1])["behavior"] == "deny"


@pytest.mark.parametrize(
    "arguments",
    [None, [], {}, CALL | {"input": "touch made"}, CALL | {"tool_name": 7}, CALL | {"input": {"text": "\ud800"}}],
    ids=str,
)
def test_a_question_that_is_none_is_no(arguments):
    with answering(lying(lambda said: None)) as url:
        assert said(served(url, question(arguments))[1])["behavior"] == "deny"
        assert said(served(url, question(CALL, name="allow"))[1])["behavior"] == "deny"


@pytest.fixture
def claude(tmp_path):
    with ModelApis([("Bash", {"command": "touch made", "description": "Make a file"})]).serving() as apis:
        yield ClaudeCode(tmp_path / "home", apis)


SERVER = f"import sys; sys.path.insert(0, {str(SOURCE)!r}); from countersign.cli import main; main()"
DIES = "import os; from countersign.mcp import permission_prompt; permission_prompt.asked = lambda *given: os._exit(1)"
DYING = SERVER.replace("; from", f"; {DIES}; from")


def started(claude, url, key, hold="30", program=SERVER):
    """Claude Code with a prompt tool in place of hooks, and without a rule that allows anything."""
    arguments = ["-c", program, "mcp-permission", "--hold", hold]
    servers = {"mcpServers": {"countersign": {"command": sys.executable, "args": arguments}}}
    command = [str(claude.program), "-p", "go", "--output-format", "json", "--mcp-config", json.dumps(servers),
               "--permission-prompt-tool", "mcp__countersign__decide"]  # fmt: skip
    return subprocess.Popen(command, env=claude.environment(url, key), cwd=claude.work, text=True, **PIPES)


def test_the_real_client_asks_it_and_runs_what_was_decided(claude, desk_server, agent_key, asked, decide):
    client = started(claude, desk_server, agent_key)
    approval = asked()
    a_moment()
    assert claude.made == []
    assert (approval.tool_name, approval.arguments["command"]) == ("Bash", "touch made")
    decide(approval, "approve", arguments={"command": "touch edited"})
    printed = json.loads(finished(client))
    assert claude.made == ["edited"]
    assert approval.session.external_id == printed["session_id"]
    log = Event.objects.filter(session=approval.session_id)
    assert wait_until(lambda: log.filter(kind="agent_message", text="Done.").exists(), 60)
    assert log.filter(kind="user_message", text="go").exists()
    assert wait_until(lambda: Approval.objects.get().execution == "succeeded", 60)


def test_the_real_client_is_told_why_not(claude, desk_server, agent_key, asked, decide):
    client = started(claude, desk_server, agent_key)
    decide(asked(), "deny", reason="Not in this folder.")
    finished(client)
    assert claude.made == []
    assert "Denied by Rosa. Not in this folder." in claude.apis.results()[0]


@pytest.mark.parametrize("which", WRONG_DESKS)
def test_the_real_client_runs_nothing_without_a_desk_that_says_so(claude, which):
    with WRONG_DESKS[which]() as url:
        started(claude, url, "cs_test", hold="1").communicate(timeout=60)
    assert claude.made == []


def test_what_stops_it_is_the_desk_and_a_server_that_dies_lets_nothing_run(claude):
    with answering(lying(lambda said: None)) as url:
        started(claude, url, "cs_test", program=DYING).communicate(timeout=60)
        assert claude.made == []
        started(claude, url, "cs_test").communicate(timeout=60)
        assert claude.made == ["made"]


def test_the_lines_of_the_page(claude, tmp_path, desk_server, agent_key, asked, decide):
    program = tmp_path / "bin" / "countersign"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{SERVER}\n")
    program.chmod(0o755)
    page = re.search(r"```sh\n(.+?)```", (DOCS / "gate" / "mcp.md").read_text(), re.S)[1]
    page = page.replace("https://desk.example.org", desk_server).replace("cs_...", agent_key)
    environment = claude.environment("", "")
    environment["PATH"] = f"{program.parent}:{claude.program.parent}:{environment['PATH']}"
    running = subprocess.Popen(["/bin/sh", "-c", page], env=environment, cwd=claude.work, text=True, **PIPES)
    decide(asked(), "approve")
    finished(running)
    assert claude.made == ["made"]
