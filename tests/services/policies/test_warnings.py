"""Who writes rules that nobody here could decide is told so; an empty list of decisions lets nobody decide anything."""

from __future__ import annotations

import pytest
from django.utils import timezone

from sessions_app.models import ApiKey, Member, Role
from sessions_app.policy.faults import Invalid
from sessions_app.policy.reading import read_rules
from sessions_app.policy.terms import decisions_allowed
from sessions_app.queries import deciders
from sessions_app.services import audit
from sessions_app.services.approvals import decisions
from sessions_app.services.people import api_keys, members
from tests.policy.build import rule

from ..approvals.test_votes import ask_of, vote

pytestmark = pytest.mark.django_db


def person(workspace, name, role=Role.REVIEWER) -> Member:
    return members.add_member(workspace, f"{name}@example.org".lower(), name, role, by=audit.COMMAND)[0]


def warned(workspace, **ask) -> list[str]:
    return deciders.warnings(workspace.pk, [rule("ask", "Money", ask=ask)])


def test_nobody_at_all(workspace):
    person(workspace, "Vito", Role.VIEWER)
    assert warned(workspace) == [
        "Nobody in this workspace may decide anything: add a reviewer, or what asks waits for ever."
    ]


def test_nobody_whom_the_rule_names(workspace):
    rosa = person(workspace, "Rosa")
    assert warned(workspace) == warned(workspace, eligible={"members": ["rosa@example.org"]}) == []
    said = ["Rule “Money”: nobody in this workspace may decide it. Its calls would wait until they expire."]
    assert warned(workspace, eligible={"roles": ["admin"]}) == said
    assert warned(workspace, eligible={"members": ["gone@example.org"]}) == said
    rosa.user.is_active = False
    rosa.user.save()
    person(workspace, "Omar")
    assert warned(workspace, eligible={"members": ["rosa@example.org"]}) == said, "she cannot sign in any more"


def test_more_people_than_there_are(workspace):
    rosa = person(workspace, "Rosa")
    api_keys.create_api_key(workspace, "hers", Role.REVIEWER, by=audit.Actor("member", str(rosa.pk), "Rosa"))
    api_keys.create_api_key(workspace, "robot", Role.REVIEWER, by=audit.COMMAND)
    assert warned(workspace, approvals=2) == []
    (said,) = warned(workspace, approvals=3)
    assert "3 people have to approve it, and 2 here may" in said, "a member and their key are one"
    ApiKey.objects.filter(name="robot").update(expires_at=timezone.now())
    assert "and 1 here may" in warned(workspace, approvals=2)[0]


def test_rules_that_do_not_ask_or_cannot_be_read_are_no_reason(workspace):
    person(workspace, "Rosa")
    assert deciders.warnings(workspace.pk, [rule("deny"), {"name": "broken"}, 7]) == []


def test_no_decision_at_all_is_refused_when_it_is_saved():
    with pytest.raises(Invalid, match="nothing but a denial could be decided"):
        read_rules([rule("ask", ask={"decisions": []})])
    with pytest.raises(Invalid, match="eligible names nobody"):
        read_rules([rule("ask", ask={"eligible": {"roles": [], "members": []}})])


@pytest.mark.parametrize("stated", [[], None, "approve", {"approve": True}])
def test_where_it_stands_all_the_same_nothing_but_a_denial_is_possible(session, workspace, stated):
    assert decisions_allowed({"decisions": stated}) == ("deny",)
    approval = ask_of(session, 1, decisions=stated)
    rosa = person(workspace, "Rosa")
    by = decisions.Decider(audit.Actor("member", str(rosa.pk), "Rosa"), Role.REVIEWER, "web", member_id=rosa.pk)
    for verdict, more in (("approve", {}), ("approve", {"arguments": {"amount": 1}}), ("answer", {"answer": "x"})):
        with pytest.raises(decisions.Invalid, match="it allows deny"):
            vote(approval, by, verdict, **more)
    assert vote(approval, by, "deny").status == "denied"


@pytest.mark.parametrize("stated", [{}, None, {"roles": [], "members": []}, {"roles": ["admin"], "and": [{}]}])
def test_a_rule_that_names_nobody_who_is_there_lets_nobody_decide(session, workspace, stated):
    ada = person(workspace, "Ada", Role.ADMIN)
    by = decisions.Decider(audit.Actor("member", str(ada.pk), "Ada"), Role.ADMIN, "web", member_id=ada.pk)
    approval = ask_of(session, 1, eligible=stated)
    with pytest.raises(decisions.NotAllowed, match="names nobody"):
        vote(approval, by)
    assert not deciders.fits(deciders.Candidate(Role.ADMIN, ada), {"eligible": stated})
