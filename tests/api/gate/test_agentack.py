"""AgentAck's conformance rules (ACK001 to ACK009 of version 0.6) over what the desk let a program do.

A program asks, and reports each call to the desk before it makes it; it makes it where the desk takes the report. It
tries what AgentAck's own scenarios do: another call than was approved, a denied one, the same one twice, after the
stop... What happened is written down as AgentAck's trace, and AgentAck judges it. Skipped where AgentAck is not
installed (``pip install agentack==0.6.3``): nothing else here needs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Role
from tests.api.client import Api, ok

agentack = pytest.importorskip("agentack", reason="pip install agentack==0.6.3")
pytestmark = pytest.mark.django_db
ARGUMENTS = {"argv": ["git", "status"]}
OTHER = {"argv": ["curl", "https://example.invalid"]}


@dataclass
class Program:
    """An agent's program, the person who decides, and the trace of both."""

    agent: Api
    person: Api
    session: str
    events: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, action: str, arguments: dict[str, Any], intent: str = "i1", tool: str = "shell", **more: Any) -> Any:
        body = {"session_id": self.session, "tool": {"name": tool, "arguments": arguments}, **more}
        said = self.call(arguments, tool)
        self.note("action_proposed", action_id=action, intent_id=intent, action=said)
        asked = ok(self.agent.post("approvals", body), 201)
        self.note("approval_requested", action_id=action, intent_id=intent, approval_id=asked["id"], action=said)
        return asked

    def decide(self, action: str, asked: Any, verdict: str, intent: str = "i1") -> None:
        body = {"verdict": verdict, "version": asked["version"], "digest": asked["digest"], "reason": "because"}
        answer = self.person.post(f"approvals/{asked['id']}/decision", body)
        word = "allow" if answer.status_code == 200 and verdict == "approve" else "deny"
        self.note("approval_decision", action_id=action, intent_id=intent, approval_id=asked["id"], decision=word)

    def execute(
        self, action: str, asked: Any, arguments: dict[str, Any], intent: str = "i1", tool: str = "shell"
    ) -> bool:
        """Make the call where the desk takes the report that it is being made; whether it did.

        A report after the call was made is taken, too, since reports may be late: the answer says ``succeeded``.
        """
        digest = Approval.objects.get(pk=asked["id"]).digest_of_call(arguments)
        report = {"digest": digest, "status": "running"}
        answer = self.agent.post(f"approvals/{asked['id']}/execution", report)
        known = {"action_id": action, "intent_id": intent, "approval_id": asked["id"]}
        if answer.status_code != 200 or answer.json()["execution"] != "running":
            assert answer.status_code in (200, 409), answer.content
            ended = [event for event in self.events if event["type"] in ("action_executed", "action_blocked")]
            if not any(event["action_id"] == action for event in ended):
                self.note("action_blocked", reason="the desk refused it", **known)
            return False
        self.note("action_executed", action=self.call(arguments, tool), **known)
        ok(self.agent.post(f"approvals/{asked['id']}/execution", report | {"status": "succeeded"}))
        return True

    @staticmethod
    def call(arguments: dict[str, Any], tool: str) -> dict[str, Any]:
        return {"tool": tool, "operation": "run", "parameters": arguments}

    def note(self, kind: str, **more: Any) -> None:
        at = timezone.now().isoformat()
        self.events.append({"schema_version": 2, "type": kind, "timestamp": at, "session_id": self.session} | more)

    def judged(self) -> Any:
        self.note("session_end")
        return agentack.evaluate_events([agentack.TraceEvent.from_dict(event) for event in self.events])


@pytest.fixture
def program(workspace, key_for, agent) -> Program:
    robot = key_for(workspace, Role.AGENT, "robot")
    session = ok(robot.post(f"/dashboard/agents/{agent.pk}/sessions", {"title": "Work"}), 201)["id"]
    return Program(robot, key_for(workspace, Role.REVIEWER, "reviewer"), session)


def passes(program: Program) -> None:
    report = program.judged()
    assert (report.status, report.rule_counts) == ("PASS", {}), [finding.message for finding in report.findings]


def test_agentack_finds_what_is_wrong_where_something_is(program):
    """The judge can fail: a program that does not ask the desk before it calls."""
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "deny")
    program.note("action_executed", action_id="a1", approval_id=asked["id"], action=program.call(OTHER, "shell"))
    assert {"ACK002", "ACK003"} <= set(program.judged().rule_counts)


def test_an_approved_call_is_made(program):
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "approve")
    assert program.execute("a1", asked, ARGUMENTS)
    passes(program)


def test_another_call_than_was_approved_is_not_made(program):
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "approve")
    assert not program.execute("a1", asked, OTHER)
    passes(program)


def test_a_denied_call_is_not_made(program):
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "deny")
    assert not program.execute("a1", asked, ARGUMENTS)
    passes(program)


def test_an_approval_is_good_for_one_call(program):
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "approve")
    assert program.execute("a1", asked, ARGUMENTS)
    assert not program.execute("a1", asked, ARGUMENTS)
    passes(program)


def test_what_was_denied_is_not_made_by_another_way(program):
    asked = program.ask("a1", {"path": "report.txt"}, intent="delete", tool="filesystem")
    program.decide("a1", asked, "deny", intent="delete")
    assert not program.execute("a1", asked, {"path": "report.txt"}, intent="delete", tool="filesystem")
    other = program.ask("a2", {"method": "delete"}, intent="delete", tool="mcp")
    assert not program.execute("a2", other, {"method": "delete"}, intent="delete", tool="mcp"), "nobody decided it yet"
    report = program.judged()
    assert set(report.rule_counts) <= {"ACK009"}, "what still waits is no complete trace, and nothing was executed"


def test_an_expired_question_lets_nothing_through(program):
    asked = program.ask("a1", ARGUMENTS, expires_in=60)
    Approval.objects.filter(pk=asked["id"]).update(expires_at=timezone.now() - timedelta(seconds=1))
    program.decide("a1", asked, "approve")
    assert not program.execute("a1", asked, ARGUMENTS)
    passes(program)


def test_a_call_that_nobody_decided_is_not_made(program):
    asked = program.ask("a1", ARGUMENTS)
    assert not program.execute("a1", asked, ARGUMENTS)
    assert "ACK001" not in program.judged().rule_counts


def test_after_a_stop_nothing_is_made_that_was_approved_before(program, admin, agent):
    asked = program.ask("a1", ARGUMENTS)
    program.decide("a1", asked, "approve")
    ok(admin.post("stops", {"reason": "Fire"}), 201)
    program.note("interrupt", reason="Fire")
    assert not program.execute("a1", asked, ARGUMENTS)
    passes(program)
