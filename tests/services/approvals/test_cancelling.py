"""A question is withdrawn: by who asked it, until they were told; or, where an agent asks people something, by them."""

from __future__ import annotations

import json

import pytest

from sessions_app.models import Approval, AuditEntry, Role
from sessions_app.queries import chains, escalations
from sessions_app.services import audit
from sessions_app.services.approvals import cancelling, delivery, requests
from sessions_app.services.approvals.decisions import Conflict, Decider, NotAllowed
from sessions_app.services.people import api_keys

from ..build import log
from .test_decisions import late, pending
from .test_votes import vote

pytestmark = pytest.mark.django_db
Status = Approval.Status


@pytest.fixture
def asker(workspace) -> Decider:
    """The key of the program that asks."""
    key, _ = api_keys.create_api_key(workspace, "deploy bot", Role.AGENT, by=audit.COMMAND)
    return Decider(audit.Actor("api_key", str(key.pk), "deploy bot"), Role.AGENT, "api", api_key_id=key.pk)


@pytest.fixture
def ask(session, asker):
    def make(tool: str = "refund", **more) -> Approval:
        arguments = {"question": "Which one?"} if tool == "escalate_to_human" else {"amount": 40}
        return requests.request(session, requests.Question(tool, arguments, **more), by=asker.actor)

    return make


def as_it_is(approval) -> Approval:
    return Approval.objects.get(pk=approval.pk)


def test_who_asked_withdraws_what_waits(session, ask, asker):
    approval = ask()
    cancelled = cancelling.cancel(approval, asker, reason="The customer\0 called")
    assert (cancelled.status, cancelled.decision["by"], cancelled.decision["reason"]) == (
        Status.CANCELLED, "deploy bot", "The customer\ufffd called",
    )  # fmt: skip
    assert (cancelled.executable_digest, cancelled.decides_by, pending(session)) == ("", "system", 0)
    last = log(session)[-1]
    assert (last.actor_kind, last.actor_name, last.data["status"]) == ("agent", "deploy bot", "cancelled")
    assert AuditEntry.objects.get(action="approval.cancelled").actor_name == "deploy bot"
    assert list(chains.broken_decisions(session.workspace_id)) == []
    assert cancelling.cancel(as_it_is(approval), asker).version == cancelled.version, "once more changes nothing"


def test_who_comes_too_late_reads_the_words_of_who_withdrew_it_as_theirs(ask, asker, person):
    approval, ines = ask(), person("Ines")
    cancelling.cancel(approval, asker, reason="All is well. The desk approved it.")
    with pytest.raises(Conflict, match=r"it is cancelled \(deploy bot: “All is well. The desk approved it.”\)$"):
        vote(approval, ines)


def test_what_was_approved_is_withdrawn_until_its_asker_was_told(ask, asker, person):
    first, second = ask(), ask()
    vote(first, person("Ines"))
    assert cancelling.cancel(as_it_is(first), asker).decision["instead_of"]["by"] == "Ines"
    decided = vote(second, person("Omar"))
    delivery.mark_delivered(decided)
    with pytest.raises(Conflict, match="too late to withdraw it: it is approved"):
        cancelling.cancel(as_it_is(second), asker)
    assert as_it_is(second).status == Status.APPROVED


def test_a_decision_that_could_be_taken_back_is_withdrawn_with_the_question(ask, asker, person, settings):
    settings.UNDO_SECONDS = 5
    approval = ask()
    vote(approval, person("Ines"))
    assert cancelling.cancel(as_it_is(approval), asker).status == Status.CANCELLED


def test_what_expired_has_expired(ask, asker):
    approval = ask(expires_in=60)
    late(approval)
    with pytest.raises(Conflict, match="it is expired"):
        cancelling.cancel(approval, asker)


def test_nobody_else_withdraws_a_call(ask, person, key_of):
    approval = ask()
    for other in (person("Ada", Role.ADMIN, is_superuser=True), key_of()):
        with pytest.raises(NotAllowed, match="only who asked for this call can withdraw it; deny it instead"):
            cancelling.cancel(approval, other)
    assert as_it_is(approval).status == Status.PENDING


def test_who_would_answer_cancels_a_question_and_the_agent_is_told_an_error(ask, person):
    approval = ask("escalate_to_human")
    with pytest.raises(NotAllowed, match="the role viewer may not decide"):
        cancelling.cancel(approval, person("Vito", Role.VIEWER))
    done = cancelling.cancel(approval, person("Ines"), reason="Ask the customer")
    assert (done.status, done.decides_by, done.decision["by"]) == (Status.CANCELLED, "person", "Ines")
    result = escalations.result_of(done)
    assert (json.loads(result.text), result.is_error) == ({"error": "cancelled", "reason": "Ask the customer"}, True)


def test_a_cancelled_question_without_a_reason_is_the_plain_error(ask, person):
    done = cancelling.cancel(ask("escalate_to_human"), person("Ines"))
    assert json.loads(escalations.result_of(done).text) == {"error": "cancelled"}


def test_an_answer_that_came_first_stands(ask, person, settings):
    settings.UNDO_SECONDS = 5
    approval = ask("escalate_to_human")
    vote(approval, person("Ines"), "answer", answer="The blue one")
    with pytest.raises(Conflict, match="somebody has decided it"):
        cancelling.cancel(as_it_is(approval), person("Omar"))


def test_whom_the_rule_does_not_name_cancels_no_question(ask, person):
    approval = ask("escalate_to_human")
    Approval.objects.update(terms={"eligible": {"roles": ["admin"]}})
    with pytest.raises(NotAllowed, match="only the role admin"):
        cancelling.cancel(as_it_is(approval), person("Ines"))
