"""Who may decide, and how: what the rule says holds for everybody, superusers included, and by every way in."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sessions_app.models import Approval, Member, Role
from sessions_app.services.approvals.decisions import Invalid, NotAllowed
from tests.policy.build import rule
from tests.services.policies.build import in_force

from .test_votes import ask_of, vote

pytestmark = pytest.mark.django_db
Status = Approval.Status
WAYS = ["web", "slack", "api"]


@pytest.mark.parametrize("channel", WAYS)
def test_only_those_whom_the_rule_names_decide(session, person, channel):
    approval = ask_of(session, 1, eligible={"roles": ["admin"], "members": ["ines@example.org"]})
    omar = replace(person("Omar", is_superuser=True), channel=channel)
    with pytest.raises(NotAllowed, match="only the role admin or ines@example.org decide this"):
        vote(approval, omar)
    with pytest.raises(NotAllowed):
        vote(approval, omar, "deny")
    assert vote(approval, replace(person("Ines"), channel=channel)).status == Status.APPROVED
    assert vote(ask_of(session, 1, eligible={"roles": ["admin"]}), person("Ada", Role.ADMIN)).status == Status.APPROVED


def test_whom_two_rules_name_has_to_fit_both(session, person):
    eligible = {"roles": ["admin"], "and": [{"members": ["ines@example.org"]}]}
    for by in (person("Ada", Role.ADMIN), person("Ines")):
        with pytest.raises(NotAllowed, match="the rule lets only"):
            vote(ask_of(session, 1, eligible=eligible), by)
    ines = Member.objects.get(user__username="ines@example.org")
    by = replace(person("Omar", Role.ADMIN), member_id=ines.pk)
    assert vote(ask_of(session, 1, eligible=eligible), by).status == Status.APPROVED


def test_an_edit_is_judged_by_the_rules_as_well(session, person):
    large = {"path": "/amount", "op": ">", "value": 100}
    in_force(session.workspace, rule("deny", "no large ones", arguments=[large]))
    approval = ask_of(session, 1)
    with pytest.raises(Invalid, match="policy 1: no large ones denies the call with these arguments") as refused:
        vote(approval, person("Ada", Role.ADMIN), arguments={"amount": 101})
    assert refused.value.field == "arguments"
    assert vote(approval, person("Omar"), arguments={"amount": 99}).status == Status.APPROVED_EDITED


def test_a_key_of_somebody_who_is_named_is_not_named(session, person, key_of):
    ines = person("Ines")
    approval = ask_of(session, 1, eligible={"members": [str(ines.member_id)]})
    with pytest.raises(NotAllowed):
        vote(approval, key_of(ines))
    assert vote(approval, ines).status == Status.APPROVED


@pytest.mark.parametrize("eligible", [{"roles": ["owner"]}, {"members": ["gone@example.org"]}, {"members": [None]}])
def test_a_rule_that_names_nobody_who_is_there_lets_nobody_decide(session, person, eligible):
    with pytest.raises(NotAllowed, match="ask one of them"):
        vote(ask_of(session, 1, eligible=eligible), person("Ada", Role.ADMIN, is_superuser=True))


def test_who_began_it_does_not_decide_where_the_rule_says_so(session, person, key_of):
    ines = person("Ines", Role.ADMIN, is_superuser=True)
    user = Member.objects.get(pk=ines.member_id).user
    forbidden, allowed = ask_of(session, 1, not_initiator=True), ask_of(session, 1)
    Approval.objects.update(initiated_by=user)
    for by in (ines, replace(ines, channel="slack"), key_of(ines)):
        with pytest.raises(NotAllowed, match="led to this call, and the rule wants somebody else"):
            vote(forbidden, by)
    assert vote(allowed, ines).status == Status.APPROVED
    assert vote(forbidden, person("Omar")).status == Status.APPROVED


@pytest.mark.parametrize("terms, verdict, more, field", [
    ({"decisions": ["approve"]}, "approve", {"arguments": {"amount": 1}}, "arguments"),
    ({"decisions": ["approve"]}, "answer", {"answer": "x"}, "verdict"),
    ({"decisions": ["answer"]}, "approve", {}, "verdict"),
    ({"comment": ["approve"]}, "approve", {}, "reason"), ({"comment": ["deny"]}, "deny", {"reason": " "}, "reason"),
    ({"typed_confirmation": True}, "approve", {}, "confirmation"),
    ({"typed_confirmation": True}, "approve", {"confirmation": "refun"}, "confirmation"),
])  # fmt: skip
def test_a_decision_that_lacks_what_the_rule_wants_is_refused(session, person, terms, verdict, more, field):
    approval = ask_of(session, 1, **terms)
    with pytest.raises(Invalid) as invalid:
        vote(approval, person("Ines"), verdict, **more)
    assert invalid.value.field == field
    assert Approval.objects.get(pk=approval.pk).status == Status.PENDING


def test_what_the_rule_wants_suffices_and_a_denial_is_always_possible(session, person):
    ines = person("Ines")
    strict = {"decisions": ["approve", "edit"], "comment": ["approve"], "typed_confirmation": True}
    given = {"reason": "checked", "confirmation": "refund"}
    assert vote(ask_of(session, 1, **strict), ines, **given).status == Status.APPROVED
    edit = {"arguments": {"amount": 1}}
    assert vote(ask_of(session, 1, **strict), ines, **given, **edit).status == Status.APPROVED_EDITED
    assert vote(ask_of(session, 1, **strict), ines, "deny").status == Status.DENIED
