"""The proxy between an editor and an agent of the real ACP library: nothing runs without a decision of the desk."""

from __future__ import annotations

import json
import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
from countersign.doctor.model_apis import ModelApis

from config.database.postgres import wait_until
from sessions_app.models import Approval
from tests.browser import server
from tests.places import DOCS
from tests.sdk.adapters.libraries import COUNTERSIGN, PATIENCE, python_with
from tests.sdk.bad_desks import GARBAGE, LIES, answering, lying, nobody
from tests.sdk.conftest import a_moment
from tests.sdk.real_clients import ClaudeCode, program

HERE = Path(__file__).parent
ASKED, EDITED = {"order": "4711", "amount": 40.0}, {"order": "4711", "amount": 4.5}
RAN = [["yes", ASKED]]
TOUCH = ("Bash", {"command": "touch made", "description": "Make a file"})


class Editors:
    """Editors with settings as the page has them, each with an agent and a ledger of its own."""

    def __init__(self, place: Path) -> None:
        self.place, self.python, self.lines = place, python_with("acp"), []
        page = (DOCS / "gate" / "acp.md").read_text()
        self.settings = json.loads(re.search(r"```json\n(.+?)```", page, re.S)[1])["agent_servers"]["Refunds"]

    def add(self, url, key="cs_test", *options, hold=2, answer=None, cancels=False):
        assert self.settings["command"] == "countersign"
        put = {"3600": str(hold), "python": str(self.python), "refunds.py": str(HERE / "agent.py")}
        words = [put.get(word, word) for word in self.settings["args"]]
        command = [*COUNTERSIGN, words[0], *options, *words[1:]]
        said = {"COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key}
        assert set(said) == set(self.settings["env"])
        environment = {"PATH": os.environ["PATH"], "LEDGER": str(self._ledger(len(self.lines)))} | said
        line = {"command": command, "environment": environment, "answer": answer, "cancels": cancels}
        self.lines.append(json.dumps(line))

    def start(self):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        program = subprocess.Popen([str(self.python), str(HERE / "editor.py")], text=True, **pipes)
        program.stdin.write("\n".join(self.lines))
        program.stdin.close()
        program.stdin = None
        return program

    def finished(self, program):
        """What each agent ran, and what came of the prompt."""
        printed, complained = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0, complained
        ended = json.loads(printed)
        assert not [one for one in ended if "raised" in one], (ended, complained)
        return [(self.ran(number), one) for number, one in enumerate(ended)]

    def ran(self, number):
        ledger = self._ledger(number)
        return [json.loads(line) for line in ledger.read_text().splitlines()] if ledger.exists() else []

    def _ledger(self, number):
        return self.place / f"ledger {number}"


@pytest.fixture
def editors(tmp_path):
    return Editors(tmp_path)


def outcome(ended):
    return told(ended)["outcome"]


def told(ended):
    """The answer that the agent had, which it repeats."""
    [said] = ended["said"]
    return json.loads(said)


def test_nothing_runs_where_the_desk_does_not_say_yes(editors):
    with (
        answering(lying(lambda said: None)) as yes,
        answering(lying(LIES["denied"])) as no,
        answering(lying(LIES["other arguments"])) as lies,
        answering(GARBAGE["a page"]) as garbage,
        answering(lambda request: None) as never,
        nobody() as gone,
    ):
        for url in (yes, no, lies, garbage, never, gone):
            editors.add(url)
        for url in (no, gone):
            editors.add(url, "cs_test", "--ask-editor", answer="yes")
        approved, *refused = editors.finished(editors.start())
    assert (approved[0], outcome(approved[1])) == (RAN, {"outcome": "selected", "optionId": "yes"})
    for ran, ended in refused:
        assert (ran, outcome(ended)) == ([], {"outcome": "selected", "optionId": "no"}), ended
        assert re.match("Not run|Denied by Rosa", told(ended)["_meta"]["countersign"]["message"])
    assert [ended["asked"] for _, ended in [approved, *refused]] == [False] * 6 + [True] * 2


def test_people_approve_edit_and_deny_and_the_desk_is_told_what_came_of_it(editors, desk_server, agent_key, decide):
    for _ in range(3):
        editors.add(desk_server, agent_key, hold=50)
    program = editors.start()
    assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 3, 60)
    found = list(Approval.objects.all())
    assert {(one.tool_name, str(one.arguments), one.context, one.session.agent.name) for one in found} == {
        ("execute", str(ASKED), "Pay 40 back", "Refund agent")
    }
    decide(found[0], "approve")
    decide(found[1], "approve", arguments=EDITED)
    decide(found[2], "deny", reason="Too much.")
    ended = editors.finished(program)
    assert sorted((ran for ran, _ in ended), key=len) == [[], [], RAN]
    said = " ".join(told(one)["_meta"]["countersign"]["message"] for _, one in ended)
    assert "Denied by Rosa. Too much." in said and "allows other arguments" in said
    assert wait_until(lambda: Approval.objects.get(pk=found[0].pk).execution == "succeeded", 60)
    assert list(Approval.objects.exclude(pk=found[0].pk).values_list("execution", flat=True)) == ["none"] * 2


def test_whoever_sits_at_the_editor_can_cancel_and_refuse_but_not_allow(editors, desk_server, agent_key):
    """The desk is silent, and would wait for fifty seconds."""
    editors.add(desk_server, agent_key, hold=50, cancels=True)
    editors.add(desk_server, agent_key, "--ask-editor", hold=50, answer="no")
    editors.add(desk_server, agent_key, "--ask-editor", hold=50, answer="yes", cancels=True)
    cancelled, refused, allowed = editors.finished(editors.start())
    assert [ran for ran, _ in (cancelled, refused, allowed)] == [[]] * 3
    assert outcome(cancelled[1]) == outcome(allowed[1]) == {"outcome": "cancelled"}
    assert outcome(refused[1]) == {"outcome": "selected", "optionId": "no"}


def test_a_restart_of_the_desk_loses_no_decision_and_makes_none(editors, process_environment, agent_key, decide):
    port = server.free_port()
    with server.running(process_environment, port) as url:
        editors.add(url, agent_key, hold=50)
        program = editors.start()
        assert wait_until(lambda: Approval.objects.filter(status="pending").exists(), 60)
    decide(Approval.objects.get(), "approve")
    a_moment()
    assert (editors.ran(0), program.poll()) == ([], None)
    with server.running(process_environment, port):
        assert [ran for ran, _ in editors.finished(program)] == [RAN]


def test_claude_code_itself_in_an_editor(tmp_path):
    """The agent that editors start for it, with a model on loopback, at a desk that approves, denies, is gone."""
    agent = program("claude-agent-acp")
    lines, works, asked = [], [], []
    with ExitStack() as serving:
        apis = [serving.enter_context(ModelApis([TOUCH]).serving()) for _ in range(3)]
        desks = [answering(lying(lambda said: asked.append(said["tool"]))), answering(lying(LIES["denied"])), nobody()]
        for number, (api, desk) in enumerate(zip(apis, desks, strict=True)):
            works.append(tmp_path / f"work {number}")
            works[-1].mkdir()
            claude = ClaudeCode.environment_of(tmp_path / f"home {number}", api, serving.enter_context(desk), "cs_test")
            command = [*COUNTERSIGN, "acp", "--hold", "2", "--", str(agent)]
            lines.append(json.dumps({"command": command, "environment": claude, "cwd": str(works[-1])}))
        editor = [str(python_with("acp")), str(HERE / "editor.py")]
        done = subprocess.run(editor, input="\n".join(lines), capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert [ended.get("stop") for ended in json.loads(done.stdout)] == ["end_turn"] * 3, done.stdout + done.stderr
    assert [[path.name for path in work.iterdir()] for work in works] == [["made"], [], []]
    assert asked == [{"server": None, "name": TOUCH[0], "arguments": TOUCH[1]}]
