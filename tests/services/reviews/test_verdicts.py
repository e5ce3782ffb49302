"""Verdicts: one current one of each reviewer, every earlier one kept, about the session as it was then."""

from __future__ import annotations

import pytest

from sessions_app.models import AuditEntry, Member, Role, Session, Verdict
from sessions_app.queries.reviews.verdicts import review_of
from sessions_app.services import audit
from sessions_app.services.people import members
from sessions_app.services.reviews import rubrics, verdicts
from sessions_app.services.reviews.problems import NotAllowed, Refused
from sessions_app.services.reviews.verdicts import Said
from tests.services.build import append, user
from vcon_app.services.erasure import erasing


def someone(workspace, name: str, role: Role = Role.REVIEWER) -> Member:
    return members.add_member(workspace, f"{name}@example.org", name, role, by=audit.COMMAND)[0]


def actor(member: Member) -> audit.Actor:
    return audit.Actor("member", str(member.id), str(member))


def give(session: Session, member: Member, says: str, **more) -> Verdict:
    return verdicts.give(session.pk, member, Said(says, **more), by=actor(member))


@pytest.fixture
def rosa(workspace) -> Member:
    return someone(workspace, "rosa")


@pytest.fixture
def ada(workspace) -> Member:
    return someone(workspace, "ada", Role.ADMIN)


def column(session: Session) -> str:
    return Session.objects.values_list("verdict", flat=True).get(pk=session.pk)


def test_a_change_replaces_the_verdict_and_keeps_the_one_before(session, rosa):
    give(session, rosa, "pass", note="looks right")
    give(session, rosa, "fail")
    review = review_of(session)
    assert [one.says for one in review.current] == ["fail"]
    assert [(one.says, one.note) for one in review.earlier] == [("pass", "looks right")]
    given = AuditEntry.objects.filter(action="verdict.given").order_by("seq")
    assert [(one.details["before"], one.details["verdict"]) for one in given] == [(None, "pass"), ("pass", "fail")]
    assert {one.actor_name for one in given} == {"rosa"}
    assert "looks right" not in str([one.details for one in given]), "what is never deleted quotes no session"


def test_the_same_again_is_no_change(session, rosa):
    first = give(session, rosa, "pass")
    assert give(session, rosa, "pass").pk == first.pk
    assert AuditEntry.objects.filter(action="verdict.given").count() == 1


def test_the_session_says_what_all_say_or_that_they_differ(session, rosa, ada):
    give(session, rosa, "pass")
    assert column(session) == "pass"
    give(session, ada, "fail")
    assert column(session) == "mixed"
    assert review_of(session).agreement.share == 0
    verdicts.withdraw(session.pk, rosa, by=actor(rosa))
    assert column(session) == "fail"
    verdicts.withdraw(session.pk, ada, by=actor(ada))
    assert column(session) == "" and review_of(session).current == []
    assert [one.says for one in review_of(session).earlier] == ["", "", "fail", "pass"]


def test_withdrawing_nothing_changes_nothing(session, rosa):
    verdicts.withdraw(session.pk, rosa, by=actor(rosa))
    give(session, rosa, "pass")
    verdicts.withdraw(session.pk, rosa, by=actor(rosa))
    verdicts.withdraw(session.pk, rosa, by=actor(rosa))
    assert Verdict.objects.count() == 2


def test_a_verdict_is_about_the_events_that_its_reviewer_had_before_them(session, rosa):
    append(session, user("Hello"))
    assert give(session, rosa, "pass").last_seq == 1
    append(session, user("And more"))
    assert give(session, rosa, "fail", last_seq=1).last_seq == 1
    for wrong in (-1, 3):
        with pytest.raises(Refused, match="its last one is 2"):
            give(session, rosa, "pass", last_seq=wrong)


def test_a_viewer_gives_none(session, workspace):
    vito = someone(workspace, "vito", Role.VIEWER)
    with pytest.raises(NotAllowed, match='needs the role "reviewer"'):
        give(session, vito, "pass")
    with pytest.raises(NotAllowed):
        verdicts.withdraw(session.pk, vito, by=actor(vito))
    assert not Verdict.objects.exists()


@pytest.mark.parametrize("says", ["", "mixed", "PASS", "withdrawn", "good\0"])
def test_other_words_are_no_verdict(session, rosa, says):
    with pytest.raises(Refused, match="is no verdict; use one of pass, fail, unsure"):
        give(session, rosa, says)


def test_scores_are_those_of_the_rubrics_and_keep_their_names(session, rosa, ada):
    tone = rubrics.add(ada, " Tone ", "scale", by=actor(ada))
    rubrics.add(ada, "Policy kept", "yes_no", by=actor(ada))
    made = give(session, rosa, "pass", scores={str(tone.pk): "4", "Policy kept": "no"})
    assert made.scores == [
        {"name": "Tone", "kind": "scale", "value": 4}, {"name": "Policy kept", "kind": "yes_no", "value": False},
    ]  # fmt: skip
    rubrics.retire(tone, ada, by=actor(ada))
    with pytest.raises(Refused, match='"Tone" is no rubric of this workspace; there are: Policy kept'):
        give(session, rosa, "pass", scores={"Tone": 4})
    made.refresh_from_db()
    assert made.scores[0]["name"] == "Tone"


@pytest.mark.parametrize("value", [0, 6, "6", "x", True, 4.5, "44", [], {}])
def test_a_scale_goes_from_1_to_5(session, rosa, ada, value):
    rubrics.add(ada, "Tone", "scale", by=actor(ada))
    with pytest.raises(Refused, match="is scored from 1 to 5"):
        give(session, rosa, "pass", scores={"Tone": value})


@pytest.mark.parametrize("value", [0, 1, "maybe", [True]])
def test_yes_or_no_is_one_of_the_two(session, rosa, ada, value):
    rubrics.add(ada, "Polite", "yes_no", by=actor(ada))
    with pytest.raises(Refused, match="is answered yes or no"):
        give(session, rosa, "pass", scores={"Polite": value})


def test_rubrics_are_named_once_and_by_admins(workspace, rosa, ada):
    rubrics.add(ada, "Tone", "scale", by=actor(ada))
    with pytest.raises(Refused, match="already"):
        rubrics.add(ada, "Tone", "yes_no", by=actor(ada))
    with pytest.raises(NotAllowed):
        rubrics.add(rosa, "Mine", "scale", by=actor(rosa))
    for name, kind in (("", "scale"), ("x" * 61, "scale"), ("Stars", "stars")):
        with pytest.raises(Refused):
            rubrics.add(ada, name, kind, by=actor(ada))


def test_a_session_that_is_deleted_takes_its_verdicts_along(session, rosa):
    append(session, user("Hello"))
    give(session, rosa, "pass", note="fine")
    erasing.erase_session(session, by=audit.COMMAND)
    assert not Verdict.objects.exists()


def test_a_person_who_leaves_is_still_named(session, rosa):
    give(session, rosa, "pass")
    rosa.user.delete()
    assert [(one.by, one.user_id) for one in review_of(session).current] == [("rosa", None)]
