"""An approval is void when the conversation moved on under it: until somebody was told of the decision."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, Role
from sessions_app.queries import chains
from sessions_app.services import audit
from sessions_app.services.approvals import endings, requests
from sessions_app.services.people import api_keys

from ..build import answer, append, call, log, result, user
from .test_decisions import decide

pytestmark = pytest.mark.django_db
Status = Approval.Status


@pytest.fixture
def asker(workspace) -> audit.Actor:
    key, _ = api_keys.create_api_key(workspace, "bot", Role.AGENT, by=audit.SYSTEM)
    return audit.Actor("api_key", str(key.pk), "bot")


def ask(session, asker, call_id="c1") -> Approval:
    return requests.request(session, requests.Question("refund", {"amount": 40}, client_id=call_id), by=asker)


def status(approval) -> str:
    return Approval.objects.get(pk=approval.pk).status


def test_a_message_after_the_question_cancels_it(session, asker):
    approval = ask(session, asker)
    append(session, user("Wait, do NOT do that"))
    ended = Approval.objects.get(pk=approval.pk)
    assert ended.status == Status.CANCELLED
    assert ended.decision["reason"].startswith("superseded: somebody wrote to the agent after it asked")
    assert session.pending_approvals == 0
    assert log(session)[-1].text == "Countersign: cancelled"


def test_an_approval_that_nobody_was_told_of_is_not_told_any_more(session, asker):
    approval = decide(ask(session, asker))
    append(session, user("Wait"))
    ended = Approval.objects.get(pk=approval.pk)
    assert (ended.status, ended.executable_digest) == (Status.CANCELLED, "")
    assert ended.decision["instead_of"]["by"] == "Ines"
    assert not endings.mark_delivered(approval)
    assert list(chains.broken_decisions(session.workspace_id)) == []


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_what_was_told_or_denied_stays(session, asker, verdict):
    approval = decide(ask(session, asker), verdict)
    if verdict == "approve":
        endings.mark_delivered(approval)
    append(session, user("Wait"))
    assert status(approval) == approval.status


def test_results_of_other_calls_and_words_of_the_agent_change_nothing(session, asker):
    approval, other = ask(session, asker), ask(session, asker, "c2")
    append(session, call("c1"), call("c3"), result("c3"), answer(), user("Look into it", depth=1))
    assert status(approval) == status(other) == Status.PENDING


@pytest.mark.parametrize("outcome", ["ok", "error", "denied", None])
def test_a_call_that_has_its_result_is_not_decided_any_more(session, asker, outcome):
    approval, other = ask(session, asker), ask(session, asker, "c2")
    append(session, result("c1", outcome))
    assert (status(approval), status(other)) == (Status.CANCELLED, Status.PENDING)


def test_what_was_said_before_the_question_and_is_sent_late_changes_nothing(session, asker):
    """An SDK asks at once, and sends its events in batches: the message that led to the call comes after it."""
    approval, other = ask(session, asker), ask(session, asker, "c2")
    append(session, user("Refund it", at=timezone.now() - timedelta(seconds=30)))
    append(session, user("Refund both"), call("c1"), call("c2"))
    assert status(approval) == status(other) == Status.PENDING
    append(session, user("Stop", at=timezone.now() + timedelta(seconds=1)))
    assert status(approval) == status(other) == Status.CANCELLED
