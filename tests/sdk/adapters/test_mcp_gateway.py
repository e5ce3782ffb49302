"""The gateway in front of a real MCP server: no call runs without a decision, whatever the client or the desk does."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from config.database.postgres import wait_until
from sessions_app.models import Approval
from sessions_app.services.approvals.decisions import Conflict
from tests.browser import server
from tests.places import DOCS
from tests.sdk.bad_desks import GARBAGE, LIES, answering, lying, nobody, pause
from tests.sdk.conftest import a_moment

from .libraries import PATIENCE, SOURCE, python_with

HERE = Path(__file__).parent
COUNTERSIGN = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(SOURCE)!r}); "
               "from countersign.cli import main; main()"]  # fmt: skip
ASKED, EDITED, MODERN = {"order": "4711", "amount": 40.0}, {"order": "4711", "amount": 4.5}, "2026-07-28"


class Clients:
    """Clients with settings as the page has them, each with a ledger of its own."""

    def __init__(self, place: Path) -> None:
        self.place, self.python, self.lines = place, python_with("mcp"), []
        page = (DOCS / "gate" / "mcp.md").read_text()
        self.settings = json.loads(re.search(r"```json\n(.+?)```", page, re.S)[1])["mcpServers"]["shop"]

    def add(
        self, url: str, key: str = "cs_test", *, mode: str = MODERN, hold: float = 2, patience: float | None = None
    ):
        assert self.settings["command"] == "countersign"
        put = {"3600": str(hold), "python": str(self.python), "shop.py": str(HERE / "mcp_shop.py")}
        command = COUNTERSIGN + [put.get(word, word) for word in self.settings["args"]]
        environment = {
            "PATH": os.environ["PATH"], "LEDGER": str(self._ledger(len(self.lines))), "COUNTERSIGN_URL": url,
            "COUNTERSIGN_API_KEY": key,
        }  # fmt: skip
        line = {"command": command, "environment": environment, "mode": mode, "patience": patience}
        self.lines.append(json.dumps(line))

    def start(self) -> subprocess.Popen[str]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        program = subprocess.Popen([str(self.python), str(HERE / "mcp_client.py")], text=True, **pipes)
        program.stdin.write("\n".join(self.lines))
        program.stdin.close()
        program.stdin = None
        return program

    def finished(self, program: subprocess.Popen[str]) -> list[tuple[list, dict]]:
        """What each ran and was told."""
        printed, complained = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, complained
        return [(self.ran(number), told) for number, told in enumerate(json.loads(printed))]

    def ran(self, number: int) -> list:
        ledger = self._ledger(number)
        return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []

    def _ledger(self, number: int) -> Path:
        return self.place / f"ledger {number}"


@pytest.fixture
def clients(tmp_path):
    return Clients(tmp_path)


def test_a_call_that_the_desk_does_not_allow_is_an_error(clients):
    with (
        answering(lying(lambda said: None)) as yes,
        answering(lying(LIES["denied"])) as no,
        answering(lying(LIES["other arguments"])) as lies,
        answering(GARBAGE["a page"]) as garbage,
        answering(lambda request: None) as never,
        nobody() as gone,
    ):
        clients.add(yes, mode="legacy")
        for url in (yes, no, lies, garbage, never, gone):
            clients.add(url)
        clients.add(no, mode="legacy")
        old, new, *refused = clients.finished(clients.start())
    assert old == new == ([ASKED], {"tools": ["refund"], "failed": False, "said": ["Paid 40.0 back for 4711."]})
    for ran, told in refused:
        assert (ran, told["tools"], told["failed"]) == ([], ["refund"], True), told
        assert re.match("Not run|Denied by Rosa", told["said"][0])


def test_people_approve_edit_and_deny(clients, desk_server, agent_key, decide):
    for mode in (MODERN, MODERN, "legacy"):
        clients.add(desk_server, agent_key, mode=mode, hold=50)
    program = clients.start()
    assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 3, 60)
    found = list(Approval.objects.all())
    assert {(one.tool_name, one.tool_server, one.session.agent.name) for one in found} == {
        ("refund", "shop", "Refund agent")
    }
    assert not any(clients.ran(number) for number in range(3))
    decide(found[0], "approve")
    decide(found[1], "deny", reason="Too much.")
    decide(found[2], "approve", arguments=EDITED)
    ended = sorted(((ran, told["failed"], told["said"]) for ran, told in clients.finished(program)), key=str)
    assert ended == [
        ([], True, ["Denied by Rosa. Too much."]),
        ([EDITED], False, ["Paid 4.5 back for 4711."]),
        ([ASKED], False, ["Paid 40.0 back for 4711."]),
    ]


def test_a_restart_of_the_desk_loses_no_decision_and_makes_none(clients, process_environment, agent_key, decide):
    port = server.free_port()
    with server.running(process_environment, port) as url:
        for mode in (MODERN, "legacy"):
            clients.add(url, agent_key, mode=mode, hold=50)
        program = clients.start()
        assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 2, 60)
    for approval in Approval.objects.all():
        decide(approval, "approve")
    a_moment()
    assert ([clients.ran(number) for number in range(2)], program.poll()) == ([[], []], None)
    with server.running(process_environment, port):
        assert [ran for ran, _ in clients.finished(program)] == [[ASKED], [ASKED]]


@pytest.mark.parametrize("mode", [MODERN, "legacy"])
def test_a_call_that_the_client_gave_up_on_is_withdrawn_and_does_not_run(
    clients, desk_server, agent_key, asked, decide, mode
):
    clients.add(desk_server, agent_key, mode=mode, hold=50, patience=3)
    program = clients.start()
    approval = asked()
    assert wait_until((clients.place / "ledger 0 gave up").exists, 60)
    assert wait_until(lambda: Approval.objects.get().status == "cancelled", 60), "it was not withdrawn"
    with pytest.raises(Conflict, match="no longer waits"):
        decide(approval, "approve")
    [(ran, told)] = clients.finished(program)
    assert (ran, told) == ([], {"tools": ["refund"], "gave_up": True})


WRITES_DOWN = (
    "import sys\nfor line in sys.stdin:\n    open(sys.argv[1], 'a').write(line)\n    print(line, end='', flush=True)"
)
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "refund", "arguments": ASKED}}


def spoken(tmp_path, url, *lines, is_patient=True):
    """What a server received of these lines, and what the client was answered; an impatient one goes at once.

    The tools that the gateway asks for itself are left out.
    """
    heard = tmp_path / "heard"
    heard.unlink(missing_ok=True)
    command = [*COUNTERSIGN, "mcp-gateway", "--hold", "5", "--", sys.executable, "-c", WRITES_DOWN, str(heard)]
    environment = {"PATH": os.environ["PATH"], "COUNTERSIGN_API_KEY": "cs_test", "COUNTERSIGN_URL": url}
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    gateway = subprocess.Popen(command, env=environment, **pipes)
    answers = []
    for line in lines:
        gateway.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        gateway.stdin.flush()
        if is_patient:
            answers.append(json.loads(gateway.stdout.readline()))
    gateway.stdin.close()
    gateway.stdin = None
    gateway.communicate(timeout=30)
    received = [json.loads(line) for line in heard.read_text().splitlines()] if heard.exists() else []
    return [message for message in received if message.get("method") != "tools/list"], answers


def test_a_call_whose_client_is_gone_or_took_it_back_does_not_run(tmp_path):
    """The desk approves after a second and a half; the server is told of the cancellation, which does no harm."""
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    with answering(pause(1.5)) as url:
        heard, _ = spoken(tmp_path, url, ping, CALL, is_patient=False)
        assert heard == [ping]
        heard, _ = spoken(tmp_path, url, ping, CALL, cancelled, is_patient=False)
        assert heard == [ping, cancelled]


def test_a_message_that_hides_a_call_is_not_passed_on(tmp_path):
    """A list of messages, a call without an id or a name, two keys of one name, what is no JSON."""
    twice = b'{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "method": "ping", "params": {}}\n'
    with answering(lying(LIES["denied"])) as url:
        heard, answers = spoken(
            tmp_path, url, [CALL], CALL | {"id": None}, CALL | {"id": True}, CALL | {"params": {"arguments": {}}},
            CALL | {"params": "x"}, b"{\n", b'{"id": NaN}\n', CALL | {"params": CALL["params"] | {"arguments": "x"}},
            CALL, twice,
        )  # fmt: skip
    assert [answer.get("error", {}).get("code") for answer in answers[:7]] == [-32600] * 5 + [-32700] * 2
    assert [answer["result"]["isError"] for answer in answers[7:9]] == [True, True]
    assert heard == [{"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {}}]


def test_what_was_approved_is_what_the_server_reads(tmp_path):
    hidden = (
        b'{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "refund", "arguments": {"amount": 9},'
    )
    hidden += b' "arguments": {"amount": 4.5}, "_meta": {"progressToken": 7}}}\n'
    with answering(lying(lambda said: None)) as url:
        heard, _ = spoken(tmp_path, url, CALL, hidden)
    assert heard == [CALL, json.loads(hidden)]


def test_without_a_desk_or_a_program_the_server_is_not_started(tmp_path):
    command = [*COUNTERSIGN, "mcp-gateway", "--", sys.executable, "-c", "open('started', 'w')"]
    for words in (command, command[:-4], [*command[:-3], "https://mcp.example.org/"]):
        done = subprocess.run(words, cwd=tmp_path, env={"PATH": os.environ["PATH"]}, capture_output=True, timeout=30)
        assert done.returncode == 2 and done.stdout == b""
    assert list(tmp_path.iterdir()) == []
