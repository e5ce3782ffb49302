"""An agent asks, a person decides, once; nothing ever approves itself."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Role
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import decisions, endings, requests
from sessions_app.services.approvals.decisions import Conflict, Decider, Invalid, NotAllowed

from ..build import append, log, result

pytestmark = pytest.mark.django_db
AGENT = audit.Actor("api_key", "k1", "deploy bot")
Status = Approval.Status


def decider(name: str = "Ines", role: Role = Role.REVIEWER) -> Decider:
    return Decider(audit.Actor("member", name, name), role, "web")


def ask(session, arguments=None, **more) -> Approval:
    return requests.request(
        session, requests.Question("refund", {"amount": 40} if arguments is None else arguments, **more), by=AGENT
    )


def decide(approval, verdict="approve", by=None, **more) -> Approval:
    shown = {"version": approval.version, "digest": approval.digest} | more
    return decisions.decide(approval, by or decider(), decisions.Decision(verdict, **shown))


def pending(session) -> int:
    session.refresh_from_db()
    return session.pending_approvals


def late(approval) -> None:
    Approval.objects.filter(pk=approval.pk).update(expires_at=timezone.now() - timedelta(seconds=1))


def test_approval_request_is_pending_in_log_audit_and_session(session):
    approval = ask(session, server="shop", context="customer wrote twice", expires_in=60)
    assert (approval.status, approval.version, approval.requested_by) == (Status.PENDING, 1, "deploy bot")
    event = log(session)[0]
    assert (event.kind, event.seq, event.tool_name, event.arguments) == (
        "approval",
        approval.event_seq,
        "refund",
        {"amount": 40},
    )
    assert AuditEntry.objects.get(action="approval.requested").details["digest"] == approval.digest
    assert pending(session) == 1


@pytest.mark.parametrize(
    "verdict, more, status",
    [
        ("approve", {}, Status.APPROVED), ("deny", {"reason": "too much"}, Status.DENIED),
        ("answer", {"answer": "Use 20"}, Status.ANSWERED),
        ("approve", {"arguments": {"amount": 20}}, Status.APPROVED_EDITED),
        ("approve", {"arguments": {"amount": 40}}, Status.APPROVED),
    ],
)  # fmt: skip
def test_decision_ends_the_pending_approval(session, verdict, more, status):
    decided = decide(ask(session), verdict, **more)
    assert (decided.status, decided.version, decided.delivery) == (status, 2, "queued")
    assert decided.decision["by"] == "Ines"
    assert [event.text for event in log(session)] == [
        "deploy bot asks to run refund",
        f"Ines: {status.replace('_', ' ')}",
    ]
    vote = decided.votes.get()
    assert (vote.by, vote.verdict, vote.channel) == ("Ines", verdict, "web")
    assert AuditEntry.objects.get(action="approval.decided").details["status"] == status
    assert pending(session) == 0


def test_edited_arguments_are_the_ones_to_run(session):
    decided = decide(ask(session), arguments={"amount": 20})
    assert decided.decision["arguments"] == {"amount": 20}
    assert decided.arguments == {"amount": 40}


def test_a_denial_without_a_reason_tells_the_model_not_to_try_again(session):
    assert decide(ask(session), "deny").decision["reason"] == decisions.DEFAULT_DENIAL


@pytest.mark.parametrize(
    "verdict, more",
    [("approve", {}), ("deny", {}), ("answer", {"answer": "no"}), ("approve", {"arguments": {"a": 1e22}})],
)
def test_the_same_decision_again_changes_nothing(session, verdict, more):
    approval = ask(session)
    first, again = (decide(approval, verdict, **more) for _ in range(2))
    assert (again.pk, again.version, again.decided_at) == (first.pk, 2, first.decided_at)
    assert again.votes.count() == 1 and len(log(session)) == 2


def test_another_reason_for_the_same_decision_is_not_kept_and_that_is_said(session):
    approval = ask(session)
    assert decide(approval, "deny", reason="too much").not_kept == ""
    for reason, said in (("too much", False), ("", False), ("on a Sunday", True)):
        again = decide(approval, "deny", reason=reason)
        assert ("was not kept" in again.not_kept) is said
        assert again.decision["reason"] == "too much" and again.votes.get().reason == "too much"


@pytest.mark.parametrize("by, verdict, more", [
    ("Omar", "approve", {}), ("Ines", "deny", {}), ("Ines", "answer", {"answer": "x"}),
    ("Ines", "approve", {"arguments": {"amount": 1}}),
])  # fmt: skip
def test_conflicting_decision_is_refused_with_the_first_one(session, by, verdict, more):
    approval = ask(session)
    decide(approval)
    with pytest.raises(Conflict, match="Ines decided this already: approved") as conflict:
        decide(approval, verdict, by=decider(by), **more)
    assert conflict.value.approval.decision["by"] == "Ines"
    assert Approval.objects.get(pk=approval.pk).version == 2


def test_a_decision_about_other_arguments_is_refused(session):
    approval = ask(session)
    with pytest.raises(Conflict, match="the arguments changed since you looked"):
        decide(approval, digest="0" * 64)
    with pytest.raises(Conflict, match="version 1 now, you answered 7"):
        decide(approval, version=7)
    assert pending(session) == 1 and len(log(session)) == 1


def test_a_viewer_cannot_decide(session):
    with pytest.raises(NotAllowed):
        decide(ask(session), by=decider(role=Role.VIEWER))
    assert pending(session) == 1


@pytest.mark.parametrize("verdict, more, field", [
    ("maybe", {}, "verdict"), ("answer", {}, "answer"), ("answer", {"answer": " \n"}, "answer"),
    ("deny", {"arguments": {}}, "arguments"),
])  # fmt: skip
def test_a_decision_that_makes_no_sense_is_refused(session, verdict, more, field):
    with pytest.raises(Invalid) as invalid:
        decide(ask(session), verdict, **more)
    assert invalid.value.field == field
    assert pending(session) == 1


def test_expired_approval_is_denied(session):
    approval = ask(session, expires_in=60)
    late(approval)
    assert endings.expire_due() == 1
    approval.refresh_from_db()
    assert (approval.status, approval.decision["by_kind"], approval.delivery) == (Status.EXPIRED, "system", "queued")
    assert pending(session) == 0
    assert endings.expire_due() == 0


def test_a_decision_after_the_deadline_comes_too_late_even_if_nobody_swept(session):
    approval = ask(session, expires_in=60)
    late(approval)
    with pytest.raises(Conflict, match=r"it is expired \(Countersign: “No reviewer answered in time"):
        decide(approval)
    assert Approval.objects.get(pk=approval.pk).status == Status.EXPIRED


def test_approval_without_a_deadline_stays_pending(session):
    ask(session)
    ask(session, expires_in=3600)
    assert endings.expire_due() == 0


def test_archiving_cancels_what_waits_and_a_late_decision_says_so(session):
    waiting, decided = ask(session), decide(ask(session))
    sessions.archive(session, by=audit.COMMAND)
    waiting.refresh_from_db()
    decided.refresh_from_db()
    assert (waiting.status, decided.status, pending(session)) == (Status.CANCELLED, Status.APPROVED, 0)
    with pytest.raises(Conflict, match=r"cancelled \(command line: “the session was archived”\)"):
        decide(waiting, version=1)
    with pytest.raises(sessions.Archived):
        ask(session)
    assert log(session)[-1].text == "command line: cancelled"


def test_archiving_twice_changes_nothing(session):
    ask(session)
    for _ in range(2):
        sessions.archive(session, by=audit.COMMAND)
    assert AuditEntry.objects.filter(action="session.archived").count() == 1


def test_the_same_question_again_is_the_same_approval(session):
    first, again = (ask(session, client_id="call-1") for _ in range(2))
    assert first.pk == again.pk and len(log(session)) == 1
    decide(first)
    assert ask(session, client_id="call-1").status == Status.APPROVED


def test_another_question_with_the_same_id_is_refused(session):
    ask(session, client_id="call-1")
    with pytest.raises(Conflict, match='"call-1" was used in this session with another tool.arguments'):
        ask(session, {"amount": 41}, client_id="call-1")


def test_questions_without_an_id_are_all_different(session):
    assert ask(session).pk != ask(session).pk
    assert pending(session) == 2


def test_an_answer_waits_for_its_asker_and_is_handed_over_once(session):
    approval = ask(session)
    endings.mark_delivered(approval)
    assert Approval.objects.get(pk=approval.pk).delivery == "none"
    decided = decide(approval)
    endings.mark_delivered(decided)
    endings.mark_delivered(decided)
    assert Approval.objects.get(pk=approval.pk).delivery == "delivered"


def test_execution_is_recorded_separately_from_the_decision(session):
    failed, done, refused = (ask(session, client_id=name) for name in ("c1", "c2", "c3"))
    for approval, verdict in ((failed, "approve"), (done, "approve"), (refused, "deny")):
        decide(approval, verdict)
    append(session, result("c1", "error"), result("c2", None), result("c3", "error"), result("unknown"))
    executions = Approval.objects.in_bulk([failed.pk, done.pk, refused.pk])
    assert [executions[a.pk].execution for a in (failed, done, refused)] == ["errored", "succeeded", "none"]


HOSTILE = {
    "nul": "a\0b",
    "surrogate": "\ud800",
    "big": 2**70,
    "nan": float("nan"),
    "float": 1e22,
    "deep": [[[]]],
    "1": "é",
}


def test_hostile_questions_and_answers_are_kept(session):
    approval = ask(session, HOSTILE, server="\0", context="\0\ud800", client_id="i" * 5_000)
    decided = decide(approval, "approve", arguments={**HOSTILE, "more": "\0"}, reason="\0\ud800")
    assert (decided.status, decided.decision["arguments"]["nul"]) == (
        Status.APPROVED_EDITED,
        "a\N{REPLACEMENT CHARACTER}b",
    )
    assert decide(approval, "approve", arguments={**HOSTILE, "more": "\0"}).version == 2
    assert ask(session, HOSTILE, server="\0", context="\0\ud800", client_id="i" * 5_000).pk == approval.pk
    assert decide(ask(session), "answer", answer="\0\ud800").status == Status.ANSWERED
    assert list(audit.broken_rows(session.workspace_id)) == []


def test_the_digest_covers_everything_that_is_shown(session):
    ids = session.pk, uuid4()
    parts = [(*ids, "tool", "server", {"a": 1}), (*ids, "tool2", "server", {"a": 1}), (*ids, "tool", None, {"a": 1}),
             (*ids, "tool", "server", {"a": 2}), (session.pk, uuid4(), "tool", "server", {"a": 1})]  # fmt: skip

    def digest_of(session_id, approval_id, tool, server, arguments) -> str:
        asked = {"tool_name": tool, "tool_server": server, "arguments": arguments}
        return Approval(id=approval_id, session_id=session_id, **asked).digest_of_question()

    assert len({digest_of(*part) for part in parts}) == 5
    assert digest_of(*ids, "t", None, {"a": 1, "b": 2}) == digest_of(*ids, "t", None, {"b": 2, "a": 1})


def test_arguments_are_read_in_the_order_in_which_they_were_sent(session):
    asked = requests.request(
        session, requests.Question("pay", {"to": "Kim", "amount": "4.20", "a": {"z": 1, "y": 2}}), by=audit.COMMAND
    )
    asked.refresh_from_db()
    assert json.dumps(asked.arguments) == '{"to": "Kim", "amount": "4.20", "a": {"z": 1, "y": 2}}'
