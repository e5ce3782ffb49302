"""Decisions that a file tells of are approvals that were settled elsewhere: to be read, not to be decided."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sessions_app.drafts import EventDraft, ToolDraft
from sessions_app.models import Approval, Event, Role, Session
from sessions_app.queries.approvals import decided
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.log import events, links, projections
from tests.places import SAMPLES

from ..imports.test_imports import drop

pytestmark = pytest.mark.django_db
TOLD = {
    "ag-ui/thread.jsonl": ["approved"],
    "claude-code/stream.jsonl": ["denied"],
    "codex/session.jsonl": ["auto_denied"],
    "copilot-cli/vscode.json": ["approved", "denied"],
    "inspect/jars.json": ["auto_allowed", "denied"],
    "managed-agents/session.jsonl": ["approved", "denied", "auto_denied"],
}


def told(kind: str = "approval", key: str = "a", call: str | None = "c1", **data: Any) -> EventDraft:
    tool = ToolDraft(call_id=call, name="rm", arguments={"path": "/tmp/x"} if kind == "tool_call" else None)
    parent = data.pop("parent", None)
    return EventDraft(kind, key, tool=tool, data=data, parent=parent, text=data.pop("why", ""))


def take(session: Session, *new: EventDraft) -> list[Approval]:
    events.append(session.pk, list(new), document="0" * 64, origin=links.RUNTIME)
    return list(session.approvals.order_by("event_seq"))


@pytest.mark.parametrize("name", sorted(TOLD))
def test_decisions_in_an_imported_file_become_approval_records(workspace, name):
    imported = drop(workspace, (SAMPLES / name).read_bytes(), Path(name).name)
    assert imported.status == "done", imported.error
    found = Approval.objects.filter(workspace=workspace)
    assert sorted(one.status for one in found) == sorted(TOLD[name])
    assert all(one.recorded and one.decision["by_kind"] == "file" for one in found)
    assert set(Session.objects.values_list("pending_approvals", flat=True)) == {0}


def test_question_and_answer_are_one_record_whichever_import_brings_them(session):
    (asked,) = take(session, told("tool_call", "c"), told(key="ask", decision="pending"))
    assert (asked.status, asked.decision, asked.arguments) == ("settled_elsewhere", None, {"path": "/tmp/x"})
    (answered,) = take(session, told(key="yes", decision="approved", by="user", why="go on"))
    assert answered.pk == asked.pk
    assert (answered.status, answered.decision["by"], answered.decision["reason"]) == ("approved", "user", "go on")


def test_an_answer_without_a_call_id_finds_the_question_it_answers(session):
    (one,) = take(
        session,
        told(key="ask", call=None, decision="pending"),
        told(key="no", call=None, parent="ask", decision="denied"),
    )
    assert one.status == "denied"


def test_a_result_shows_that_an_approved_call_was_made(session):
    take(session, told("tool_call", "c"), told(key="yes", decision="approved", by="user"))
    (one,) = take(session, EventDraft("tool_result", "r", tool=ToolDraft(call_id="c1", status="error"), parent="c"))
    assert one.execution == "errored"


def test_a_rebuild_keeps_the_records_and_their_ids(session):
    before = take(session, told("tool_call", "c"), told(key="yes", decision="approved", by="policy"))
    projections.rebuild(session.pk)
    after = list(session.approvals.all())
    assert [(one.pk, one.status) for one in after] == [(one.pk, "auto_allowed") for one in before]


def test_a_question_that_was_asked_here_stays_what_it_is(session):
    asker = audit.Actor("api_key", "k", "Hook")
    asked = requests.request(session, requests.Question("rm", {"path": "/tmp/x"}, client_id="c1"), by=asker)
    (still,) = take(session, told("tool_call", "c"), told(key="yes", decision="approved", by="user"))
    assert (still.pk, still.status, still.recorded) == (asked.pk, "pending", False)


def test_nobody_decides_a_record(session):
    (one,) = take(session, told(key="ask", decision="pending"))
    decider = decisions.Decider(audit.Actor("member", "m", "Ines"), Role.ADMIN, "desk")
    with pytest.raises(decisions.Conflict, match="no longer waits"):
        decisions.decide(one, decider, decisions.Decision("approve", version=one.version, digest=one.digest))


def test_records_are_not_among_the_decisions_of_the_desk(session):
    take(session, told(key="yes", decision="approved", by="user"))
    assert list(decided(session.workspace_id)) == []


def test_decisions_sent_by_an_agent_are_no_approval_records(session):
    events.append(session.pk, [told(key="yes", decision="approved", by="user")], origin=links.RUNTIME)
    assert Event.objects.filter(session=session).exists()
    assert not session.approvals.exists()


def test_answers_with_unknown_verdicts_are_settled_elsewhere(session):
    (one,) = take(session, told(key="what", decision={"a": 1}))
    assert one.status == "settled_elsewhere"
