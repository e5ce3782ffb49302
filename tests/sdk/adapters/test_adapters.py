"""Each agent library, as its page in docs/gate puts it behind the desk: nothing runs without a decision about it."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest
from countersign import canonical

from config.database.postgres import wait_until
from sessions_app.models import Approval, Session
from tests.browser import server
from tests.sdk.bad_desks import GARBAGE, LIES, answering, http, lying, nobody, nowhere, pause
from tests.sdk.conftest import a_moment

from .libraries import finished, start

EXAMPLES = ["openai-agents", "pydantic-ai", "google-adk", "agent-framework", "langchain", "ag-ui"]
"""Those whose page in docs/gate is a program with a model; the others have tests of their own."""
ASKED = {"order": "4711", "amount": 40.0}
EDITED = {"order": "4711", "amount": 4.5}


@pytest.mark.parametrize("name", EXAMPLES)
def test_nothing_runs_where_the_desk_does_not_say_yes(name):
    """One desk that approves, else the others would prove nothing."""
    with ExitStack() as desks:
        good = desks.enter_context(answering(lying(lambda said: None)))
        bad = {lie: answering(lying(change)) for lie, change in LIES.items()}
        bad |= {garbage: answering(reply) for garbage, reply in GARBAGE.items()}
        bad |= {"nobody": nobody(), "nowhere": nowhere(), "never": answering(lambda request: None)}
        bad |= {"late": answering(pause(5)), "slow": answering(lying(lambda said: None), pace=0.05)}
        urls = [good, *(desks.enter_context(desk) for desk in bad.values())]
        approved, *refused = finished(start(name, urls))
    assert (approved["ran"], approved["told"]) == ([ASKED], ["Paid 40.0 back for 4711."]), approved
    for what, became in zip(bad, refused, strict=True):
        assert became["ran"] == [], (what, became)
        assert "Not run" in str(became["told"]) or "Denied" in str(became["told"]), (what, became)


@pytest.mark.parametrize("name", EXAMPLES)
def test_people_approve_edit_answer_and_deny(name, desk_server, agent_key, decide):
    program = start(name, [desk_server] * 4, agent_key, wait=40)
    assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 4, 60), program.communicate()[1]
    a_moment()
    approvals = list(Approval.objects.all())
    assert {(one.tool_name, str(one.arguments), one.session.agent.name) for one in approvals} == {
        ("refund", str(ASKED), "Refund agent")
    }
    assert Session.objects.count() == 4
    decide(approvals[0], "approve")
    decide(approvals[1], "approve", arguments=EDITED)
    decide(approvals[2], "answer", answer="It was paid back yesterday.")
    decide(approvals[3], "deny", reason="Too much.")
    runs = finished(program)
    assert [run["error"] for run in runs] == [""] * 4
    ran = sorted((run["ran"] for run in runs), key=str)
    assert ran == [[], [], [EDITED], [ASKED]]
    told = " ".join(text for run in runs for text in run["told"])
    for said in ("Paid 40.0 back", "Paid 4.5 back", "It was paid back yesterday.", "Denied by Rosa. Too much."):
        assert said in told
    executed = [Approval.objects.get(pk=one.pk).execution for one in approvals]
    assert executed == ["succeeded", "succeeded", "none", "none"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_desk_is_told_what_came_of_a_call(name):
    """One that is approved, one that is edited, one that is edited into a call that fails, and one that is denied."""
    reports = [[], [], [], []]

    def edits(edited):
        def change(said):
            digest = canonical.digest(said["session_id"], said["id"], "refund", None, edited)
            said["status"] = "approved_edited"
            said["decision"] |= {"arguments": edited, "digest": digest}

        return change

    def desk(change, told):
        def reply(request):
            head, _, body = request.partition(b"\r\n\r\n")
            if b"/execution " not in head:
                return lying(change)(request)
            told.append(json.loads(body)["status"])
            return http(b"{}")

        return answering(reply)

    with ExitStack() as desks:
        changes = (lambda said: None, edits(EDITED), edits({"order": "broken", "amount": 1.0}), LIES["denied"])
        urls = [desks.enter_context(desk(*each)) for each in zip(changes, reports, strict=True)]
        runs = finished(start(name, urls))
    assert [run["ran"] for run in runs] == [[ASKED], [EDITED], [], []]
    assert reports == [["succeeded"], ["succeeded"], ["errored"], []], runs


@pytest.mark.parametrize("name", EXAMPLES)
def test_calls_of_one_answer_are_decided_each_for_itself_in_one_session(name, desk_server, agent_key, decide):
    program = start(name, [desk_server], agent_key, wait=40, calls=3)
    assert wait_until(lambda: Approval.objects.filter(status="pending").count() == 3, 60), program.communicate()[1]
    for approval in Approval.objects.all():
        decide(approval, "approve" if approval.arguments["order"] == "4712" else "deny")
    [run] = finished(program)
    assert [ran["order"] for ran in run["ran"]] == ["4712"]
    assert Session.objects.count() == 1


def test_a_restart_of_the_desk_loses_no_decision_and_makes_none(process_environment, agent_key, decide):
    """All libraries at once: each asks, the desk goes away for a while, and comes back with its decisions."""
    port = server.free_port()
    with server.running(process_environment, port) as url:
        programs = {name: start(name, [url], agent_key, wait=150) for name in EXAMPLES}
        assert wait_until(lambda: Approval.objects.filter(status="pending").count() == len(EXAMPLES), 100)
    for approval in Approval.objects.filter(status="pending"):
        decide(approval, "approve")
    a_moment()
    assert all(program.poll() is None for program in programs.values())
    with server.running(process_environment, port):
        for name, program in programs.items():
            [run] = finished(program)
            assert run["ran"] == [ASKED], (name, run)
