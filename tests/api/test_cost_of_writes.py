"""What a program sends all the time takes few statements and one commit: an event, a question that a rule allows."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.models import Approval, AuditEntry, EventLink, OutgoingMessage, OutgoingWebhook, Role, Session
from tests.api.client import Api

pytestmark = pytest.mark.django_db

ALLOWED = {"rules": [{"name": "commands", "match": {"tool": "Bash"}, "effect": "allow"}], "note": "for the test"}


@pytest.fixture
def program(workspace, key_for) -> Api:
    return key_for(workspace, Role.AGENT)


def put_in_force(admin: Api) -> None:
    assert admin.send("PUT", "/api/v1/policy", json.dumps(ALLOWED)).status_code in (200, 201)


def ask(program: Api, number: int, tool: str = "Bash") -> dict:
    question = {
        "agent": "claude-code", "external_id": "a run", "client_id": f"call {number}",
        "tool": {"name": tool, "arguments": {"command": "ls"}},
    }  # fmt: skip
    answer = program.post("/api/v1/approvals", question)
    assert answer.status_code == 201
    return answer.json()


def test_an_event_alone_takes_nine_statements_and_writes_no_row_twice(program, workspace):
    ask(program, 0)
    session = Session.objects.get(external_id="a run")
    path = f"/api/v1/sessions/{session.pk}/events"
    for number in range(2):
        with CaptureQueriesContext(connection) as captured:
            event = {"client_id": f"e{number}", "kind": "agent_message", "text": "Words"}
            assert program.post(path, {"events": [event]}).status_code == 200
    ours = [one["sql"] for one in captured if "SAVEPOINT" not in one["sql"]]
    assert len(ours) <= 9, ours
    for table in ("session", "runsummary"):
        assert sum(f"UPDATE sessions_app_{table} " in one for one in ours) == 1, ours


def test_a_question_that_a_rule_allows_takes_29_statements_and_one_commit(admin, program):
    put_in_force(admin)
    ask(program, 0)
    with CaptureQueriesContext(connection) as captured:
        answer = ask(program, 1)
    assert answer["status"] == "auto_allowed" and answer["delivery"] == "delivered"
    ours = [one["sql"] for one in captured if "SAVEPOINT" not in one["sql"]]
    assert len(ours) <= 29, ours
    began = [one["sql"] for one in captured if one["sql"].startswith("SAVEPOINT")]
    assert len(began) == 1  # a transaction, which is a savepoint in that of the test


def test_question_and_answer_are_on_the_record_as_if_they_had_come_one_after_the_other(admin, program, workspace):
    put_in_force(admin)
    approval = Approval.objects.get(pk=ask(program, 0)["id"])
    entries = list(AuditEntry.objects.filter(workspace=workspace, subject_id=str(approval.pk)).order_by("seq"))
    assert [entry.action for entry in entries] == ["approval.requested", "approval.allowed"]
    assert entries[1].previous_hash == entries[0].hash
    links = list(EventLink.objects.filter(session=approval.session).order_by("last_seq"))
    assert [(link.reporter_kind, link.first_seq, link.last_seq) for link in links] == [
        ("api_key", 1, 1), ("policy", 2, 2)
    ]  # fmt: skip
    assert approval.event_seq == 1
    events = list(approval.session.events.order_by("seq"))
    assert [event.data["status"] for event in events] == ["pending", "auto_allowed"]


def test_the_same_question_again_is_the_same_answer(admin, program):
    put_in_force(admin)
    first, again = ask(program, 0), ask(program, 0)
    assert (again["id"], again["status"], again["delivery"]) == (first["id"], "auto_allowed", "delivered")
    assert Approval.objects.count() == 1


def test_outgoing_webhooks_are_told_of_the_answer_and_that_it_was_delivered(admin, program, workspace):
    OutgoingWebhook.objects.create(workspace=workspace, url="https://example.org/in", active=True)
    put_in_force(admin)
    ask(program, 0)
    told = OutgoingMessage.objects.order_by("event").values_list("event", flat=True)
    assert list(told) == ["approval.decided", "approval.delivered"]


def test_what_waits_for_a_person_is_delivered_to_nobody_as_it_is_asked(program):
    answer = ask(program, 0, tool="Write")
    assert (answer["status"], answer["delivery"]) == ("pending", "none")
