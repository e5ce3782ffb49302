"""Planted calls: like any other until they are decided, never executed, and marked in the record for good."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval, AuditEntry, Event, EventLink, OutgoingMessage, OutgoingWebhook, Role
from sessions_app.queries import chains
from sessions_app.services import audit
from sessions_app.services.approvals import decisions, requests
from sessions_app.services.oversight import planting
from sessions_app.services.people import members
from sessions_app.services.policies import grants, versions
from sessions_app.services.stops import doors
from vcon_app.services.receipts import issuing
from vcon_app.signing import receipt

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("document_storage")]
QUESTION = requests.Question("shell", {"command": "rm -rf /"}, context="Disk is full", risk="high")


@pytest.fixture
def ada(workspace):
    return members.add_member(workspace, "ada@example.org", "Ada", Role.ADMIN, by=audit.COMMAND)[0]


@pytest.fixture
def rosa(workspace):
    return members.add_member(workspace, "rosa@example.org", "Rosa", Role.REVIEWER, by=audit.COMMAND)[0]


def decider(member) -> decisions.Decider:
    actor = audit.Actor("member", str(member.pk), str(member))
    return decisions.Decider(actor, Role(member.role), "web", member_id=member.pk)


def decide(approval, member, verdict="approve", **more) -> Approval:
    return decisions.decide(
        approval, decider(member), decisions.Decision(verdict, approval.version, approval.digest, sure=True, **more)
    )


@pytest.fixture
def planted(agent, ada):
    return planting.plant(agent, QUESTION, by=ada)


def test_until_it_is_decided_nothing_in_its_session_says_so(planted, agent):
    assert (planted.status, planted.requested_by) == ("pending", agent.name)
    (event,) = Event.objects.filter(session=planted.session)
    assert "planted" not in event.data and event.actor_name == agent.name
    assert EventLink.objects.get(session=planted.session).reported_by == agent.name
    about = AuditEntry.objects.filter(subject_kind__in=["approval", "session"])
    assert not any("planted" in str(entry.details) or entry.actor_name == "Ada" for entry in about)


@pytest.mark.parametrize(
    ("verdict", "more"),
    [
        ("approve", {}),
        ("approve", {"arguments": {"command": "ls"}}),
        ("deny", {"reason": "No"}),
        ("answer", {"answer": "No"}),
    ],
)
def test_whatever_is_decided_nothing_can_be_executed_or_delivered(planted, rosa, verdict, more):
    decided = decide(planted, rosa, verdict, **more)
    for one in (decided, Approval.objects.get(pk=planted.pk)):
        assert (one.delivery, one.deliver_at, one.execution, one.executable_digest) == ("none", None, "none", "")
    assert not (decided.decision or {}).get("digest")
    assert not Approval.objects.filter(delivery__in=["queued", "sending", "uncertain", "failed"]).exists()


def test_no_program_is_told_by_a_webhook(agent, ada, rosa):
    OutgoingWebhook.objects.create(
        workspace=agent.workspace, name="executor", url="https://a.example", secret="whsec_x"
    )
    decide(planting.plant(agent, QUESTION, by=ada), rosa)
    assert not OutgoingMessage.objects.exists()
    asker = audit.Actor("agent", str(agent.pk), agent.name)
    requests.request_in_own_session(agent.workspace_id, agent.name, QUESTION, by=asker)
    assert OutgoingMessage.objects.exists(), "of a real one it is"


def test_the_record_says_what_it_was(planted, rosa, ada):
    decide(planted, rosa)
    entry = AuditEntry.objects.get(action="approval.planted")
    assert (entry.actor_name, entry.details["planted"], entry.subject_id) == ("Ada", True, str(planted.pk))
    assert AuditEntry.objects.get(action="approval.decided").details["planted"] is True
    assert Event.objects.get(session=planted.session, seq=2).data["planted"] is True
    said = receipt.read(receipt.jws.unbase64url(issuing.issue(planted).split(".")[1]))
    assert said["planted"] is True and said["decided"]["executable_digest"] is None
    assert list(chains.broken_decisions(planted.workspace_id)) == []


def test_who_placed_it_cannot_decide_it_not_even_through_a_key(planted, ada):
    with pytest.raises(decisions.NotAllowed, match="you asked for this yourself"):
        decide(planted, ada, "deny", reason="No")


@pytest.mark.parametrize("role", [Role.VIEWER, Role.REVIEWER])
def test_only_admins_place_one(agent, workspace, role):
    member = members.add_member(workspace, "x@example.org", "Xi", role, by=audit.COMMAND)[0]
    with pytest.raises(decisions.NotAllowed, match="only an admin"):
        planting.plant(agent, QUESTION, by=member)
    assert not Approval.objects.exists()


@pytest.mark.parametrize("effect", ["allow", "deny"])
def test_no_rule_answers_it(workspace, agent, ada, effect):
    rules = [{"name": "all", "match": {"tool": "*"}, "effect": effect, "reason": "rule"}]
    versions.publish(versions.save_draft(workspace.pk, rules, by=audit.COMMAND), by=audit.COMMAND)
    assert planting.plant(agent, QUESTION, by=ada).status == "pending"


def test_the_terms_of_the_rule_that_asks_are_its_terms(workspace, agent, ada):
    rules = [{"name": "two", "match": {"tool": "shell"}, "effect": "ask", "ask": {"approvals": 2}}]
    versions.publish(versions.save_draft(workspace.pk, rules, by=audit.COMMAND), by=audit.COMMAND)
    planted = planting.plant(agent, QUESTION, by=ada)
    assert (planted.rule, planted.votes_needed) == ("two", 2)


def test_no_grant_is_used_up_for_it(agent, ada, monkeypatch):
    monkeypatch.setattr(grants, "use", lambda *arguments: pytest.fail("a grant was asked"))
    assert planting.plant(agent, QUESTION, by=ada).grant is None


def test_none_is_placed_while_the_agent_is_stopped(agent, ada):
    from sessions_app.models import Stop

    Stop.objects.create(workspace=agent.workspace, agent=agent, reason="Fire", made_by="Ada", made_by_kind="member",
                        made_at=agent.created_at)  # fmt: skip
    with pytest.raises(doors.Stopped):
        planting.plant(agent, QUESTION, by=ada)
    assert not Approval.objects.exists()
