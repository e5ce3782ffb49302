"""What must not be possible: other arguments than those approved, approvals that somebody brings along, odd tools."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.approvals.decisions import Conflict

from ..build import append, log, result
from .test_decisions import ask, decide
from .test_votes import vote

pytestmark = pytest.mark.django_db
Status = Approval.Status


@pytest.mark.parametrize("tool", ["__proto__", "constructor", "toString", "refund\u200b", "\u202erefund"])
def test_a_tool_by_any_name_asks_and_is_bound_to_its_name(session, tool):
    question = requests.Question(tool, {"__proto__": {"amount": 40}, "constructor": None})
    approval = requests.request(session, question, by=audit.COMMAND)
    assert approval.status == Status.PENDING
    decided = decide(approval)
    other = Approval(pk=decided.pk, session_id=session.pk, tool_name="refund")
    assert decided.executable_digest != other.digest_of_call(decided.arguments)


def test_arguments_of_another_unicode_form_are_other_arguments(session, person):
    approval = ask(session, {"to": "caf\u00e9"})
    decided = vote(approval, person("Ines"), arguments={"to": "cafe\u0301"})
    assert decided.status == Status.APPROVED_EDITED
    assert decided.executable_digest != approval.digest_of_call({"to": "caf\u00e9"})


def test_one_client_id_is_one_call_though_python_takes_true_for_one(session):
    ask(session, {"n": 1}, client_id="c1")
    assert ask(session, {"n": 1.0}, client_id="c1").version == 1
    with pytest.raises(Conflict, match="with another tool.arguments"):
        ask(session, {"n": True}, client_id="c1")


def test_decisions_that_contradict_each_other_have_one_outcome(session):
    approval = ask(session)
    decide(approval, "deny", reason="no")
    for _ in range(3):
        with pytest.raises(Conflict):
            decide(approval, "approve")
        assert decide(approval, "deny", reason="no").version == 2
    assert [event.text for event in log(session)][1:] == ["Ines: denied"]


def test_a_result_that_says_the_call_was_refused_is_no_execution(session):
    approval = decide(ask(session, client_id="c1"))
    append(session, result("c1", "denied"))
    assert Approval.objects.get(pk=approval.pk).execution == "refused"
