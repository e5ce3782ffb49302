"""Several people decide one approval: distinct people, one denial is enough, and an edit begins anew."""

from __future__ import annotations

import pytest

from sessions_app.models import Approval, AuditEntry, Member, Role
from sessions_app.queries import chains, votes
from sessions_app.services.approvals import decisions, endings
from sessions_app.services.approvals.decisions import Conflict
from sessions_app.services.people import api_keys

from ..build import log
from .test_decisions import ask, late

pytestmark = pytest.mark.django_db
Status = Approval.Status


def ask_of(session, number: int, arguments=None, **terms) -> Approval:
    approval = ask(session, arguments)
    Approval.objects.filter(pk=approval.pk).update(votes_needed=number, terms=terms)
    return Approval.objects.get(pk=approval.pk)


def vote(approval, by, verdict="approve", **more) -> Approval:
    """Vote on the approval as it stands now."""
    now = Approval.objects.get(pk=approval.pk)
    shown = {"version": now.version, "digest": votes.tally(now).digest} | more
    return decisions.decide(now, by, decisions.Decision(verdict, **shown))


def test_it_waits_until_enough_people_have_approved(session, person):
    approval = ask_of(session, 2)
    first = vote(approval, person("Ines"))
    assert (first.status, first.version, first.decision, first.executable_digest) == (Status.PENDING, 2, None, "")
    assert AuditEntry.objects.get(action="approval.voted").details["votes"] == 1
    assert len(log(session)) == 1
    second = vote(approval, person("Omar"))
    assert (second.status, second.version, second.decision["by"]) == (Status.APPROVED, 3, "Omar")
    assert second.decision["approved_by"] == ["Ines", "Omar"]
    assert second.executable_digest == second.decision["digest"] == approval.digest_of_call(approval.arguments)
    assert [event.text for event in log(session)][1:] == ["Omar: approved"]
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_the_same_person_counts_once_also_with_their_key(session, person, key_of):
    approval, ines = ask_of(session, 2), person("Ines")
    vote(approval, ines)
    assert vote(approval, ines).status == Status.PENDING
    assert vote(approval, key_of(ines)).status == Status.PENDING
    assert vote(approval, key_of(ines, "second robot")).status == Status.PENDING
    assert vote(approval, key_of()).status == Status.APPROVED


def test_a_member_who_is_added_again_is_the_same_person(session, workspace, person):
    approval, ines = ask_of(session, 2), person("Ines")
    vote(approval, ines)
    member = Member.objects.get(pk=ines.member_id)
    twin = api_keys.create_api_key(workspace, "robot", Role.REVIEWER, by=ines.actor)[0]
    again = Member(workspace=workspace, user=member.user, role=Role.REVIEWER)
    assert (
        votes.person_of(member, None, "Ines") == votes.person_of(again, None, "I.") == votes.person_of(None, twin, "")
    )


def test_one_denial_ends_it_whatever_was_approved(session, person):
    approval = ask_of(session, 3)
    for name in ("Ines", "Omar"):
        vote(approval, person(name))
    denied = vote(approval, person("Kim"), "deny", reason="no")
    assert (denied.status, denied.decision["by"], denied.executable_digest) == (Status.DENIED, "Kim", "")
    with pytest.raises(Conflict, match="Kim decided this already: denied"):
        vote(approval, person("Lou"))


def test_who_approved_may_still_deny(session, person):
    approval, ines = ask_of(session, 2), person("Ines")
    vote(approval, ines)
    assert vote(approval, ines, "deny").status == Status.DENIED


def test_an_edit_voids_the_votes_before_and_has_a_digest_of_its_own(session, person):
    approval, ines, omar = ask_of(session, 2), person("Ines"), person("Omar")
    vote(approval, ines)
    edited = vote(approval, omar, arguments={"amount": 20})
    counted = votes.tally(edited)
    assert (edited.status, counted.arguments, [one.by for one in counted.approvals]) == (
        Status.PENDING, {"amount": 20}, ["Omar"],
    )  # fmt: skip
    assert counted.digest == approval.digest_of_call({"amount": 20}) != approval.digest
    with pytest.raises(Conflict, match="the arguments changed since you looked"):
        vote(approval, ines, digest=approval.digest)
    done = vote(approval, ines)
    assert (done.status, done.decision["arguments"]) == (Status.APPROVED_EDITED, {"amount": 20})
    assert done.executable_digest == counted.digest
    assert done.arguments == {"amount": 40}


def test_an_edit_back_to_what_was_asked_is_an_edit_too(session, person):
    approval, ines, omar = ask_of(session, 2), person("Ines"), person("Omar")
    vote(approval, ines, arguments={"amount": 20})
    back = vote(approval, omar, arguments={"amount": 40.0})
    assert votes.tally(back).digest == approval.digest
    assert [one.by for one in votes.tally(back).approvals] == ["Omar"]
    assert vote(approval, ines).status == Status.APPROVED


def test_true_in_the_place_of_one_is_an_edit(session, person):
    approval = ask_of(session, 1, {"amount": 1})
    decided = vote(approval, person("Ines"), arguments={"amount": True})
    assert (decided.status, decided.decision["arguments"]) == (Status.APPROVED_EDITED, {"amount": True})


def test_a_vote_on_a_version_before_others_voted_is_refused(session, person):
    approval, omar = ask_of(session, 2), person("Omar")
    vote(approval, person("Ines"))
    with pytest.raises(Conflict, match="the approval changed since you looked .it is version 2 now, you answered 1"):
        vote(approval, omar, version=1)


def test_the_same_vote_again_changes_nothing_and_one_that_is_void_is_told_so(session, person):
    approval, ines, omar = ask_of(session, 3), person("Ines"), person("Omar")
    vote(approval, ines)
    assert vote(approval, ines, version=1).version == 2
    assert approval.votes.count() == 1
    vote(approval, omar, arguments={"amount": 20})
    with pytest.raises(Conflict):
        vote(approval, ines, version=1, digest=approval.digest)


def test_votes_that_are_not_enough_expire(session, person):
    approval = ask_of(session, 2)
    vote(approval, person("Ines"))
    late(approval)
    assert endings.expire_due() == 1
    assert Approval.objects.get(pk=approval.pk).status == Status.EXPIRED
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_what_is_executable_keeps_its_digest_in_the_database(session, person):
    """Numbers that jsonb spells in its own way are the same numbers."""
    changed = {"big": 1e22, "int": 2**53 + 1, "small": 5e-324, "f": 1.0, "to": "e\u0301\u202e"}
    decided = vote(ask_of(session, 1), person("Ines"), arguments=changed)
    kept = Approval.objects.get(pk=decided.pk)
    assert kept.digest_of_call(kept.decision["arguments"]) == kept.executable_digest == kept.decision["digest"]
