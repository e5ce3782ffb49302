"""The real Claude Agent SDK and its Claude Code, as docs/gate/claude-agent-sdk.md has it, with a model on loopback."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from countersign.doctor.model_apis import ModelApis

from config.database.postgres import wait_until
from sessions_app.models import Approval
from tests.browser import server
from tests.places import DOCS
from tests.sdk.bad_desks import GARBAGE, LIES, answering, lying, nobody
from tests.sdk.conftest import a_moment

from .libraries import PATIENCE, SOURCE, python_with

PAGE = DOCS / "gate" / "claude-agent-sdk.md"
TOUCH = ("Bash", {"command": "touch made", "description": "Make a file"})


class Program:
    """The example of the page, in a directory of its own, with a model of its own."""

    def __init__(self, place: Path, number: int, url: str, apis: ModelApis, key: str, wait: float) -> None:
        home, self.work, self.apis = place / f"home {number}", place / f"work {number}", apis
        home.mkdir()
        self.work.mkdir()
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": str(SOURCE),
            "ANTHROPIC_BASE_URL": apis.url, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1", "ANTHROPIC_API_KEY": "sk-ant-test", "COUNTERSIGN_URL": url, "COUNTERSIGN_API_KEY": key,
        }  # fmt: skip
        command = [str(python_with("claude-agent-sdk")), str(Path(__file__).with_name("run_page.py")), str(PAGE)]
        self.process = subprocess.Popen(
            [*command, str(wait)], env=environment, cwd=self.work, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip

    def finished(self) -> tuple[list[str], str]:
        """The files that its calls made, and what the model was told of them."""
        printed, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, printed
        return self.made, " ".join(self.apis.results())

    @property
    def made(self) -> list[str]:
        return sorted(path.name for path in self.work.iterdir())


@pytest.fixture
def start(tmp_path):
    """Starts a program for a desk."""
    serving, programs = [], []

    def make(url: str, key: str = "cs_test", wait: float = 3) -> Program:
        serving.append(ModelApis([TOUCH]).serving())
        programs.append(Program(tmp_path, len(programs), url, serving[-1].__enter__(), key, wait))
        return programs[-1]

    yield make
    for program in programs:
        if program.process.poll() is None:
            program.process.kill()
    for apis in serving:
        apis.__exit__(None, None, None)


def test_nothing_runs_where_the_desk_does_not_say_yes(start):
    with (
        answering(lying(lambda said: None)) as yes,
        answering(lying(LIES["other arguments"])) as lies,
        answering(GARBAGE["a page"]) as garbage,
        answering(lambda request: None) as never,
        nobody() as gone,
    ):
        approved, *refused = [program for url in (yes, lies, garbage, never, gone) for program in [start(url)]]
        assert approved.finished()[0] == ["made"]
        for program in refused:
            made, told = program.finished()
            assert made == [] and "Not run" in told, told


def test_people_approve_edit_and_deny(start, desk_server, agent_key, decide):
    programs = [start(desk_server, agent_key, 150) for _ in range(3)]
    assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 3, 100)
    found = list(Approval.objects.all())
    assert {(one.tool_name, str(one.arguments), one.session.agent.name) for one in found} == {
        (TOUCH[0], str(TOUCH[1]), "Build agent")
    }
    decide(found[0], "approve")
    decide(found[1], "approve", arguments={"command": "touch edited"})
    decide(found[2], "deny", reason="Not here.")
    ended = [program.finished() for program in programs]
    assert sorted(made for made, _ in ended) == [[], ["edited"], ["made"]]
    assert "Denied by Rosa. Not here." in " ".join(told for _, told in ended)
    executed = [Approval.objects.get(pk=one.pk).execution for one in found]
    assert executed == ["succeeded", "succeeded", "none"]


def test_the_desk_is_told_of_a_call_that_fails(start, desk_server, agent_key, asked, decide):
    program = start(desk_server, agent_key, 50)
    approval = decide(asked(), "approve", arguments={"command": "touch edited; exit 3"})
    assert program.finished()[0] == ["edited"]
    assert Approval.objects.get(pk=approval.pk).execution == "errored"


def test_a_restart_of_the_desk_loses_no_decision_and_makes_none(start, process_environment, agent_key, decide):
    port = server.free_port()
    with server.running(process_environment, port) as url:
        program = start(url, agent_key, 50)
        assert wait_until(lambda: Approval.objects.filter(status="pending").exists(), 60)
    decide(Approval.objects.get(), "approve")
    a_moment()
    assert (program.made, program.process.poll()) == ([], None)
    with server.running(process_environment, port):
        assert program.finished()[0] == ["made"]
