"""A decision of a person can be taken back for some seconds, and nobody who waits is told of it before."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import Approval, AuditEntry, Stop
from sessions_app.queries import approvals as queries
from sessions_app.queries import chains, votes
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import effects, endings, taking_back
from sessions_app.services.approvals.decisions import Conflict, NotAllowed

from ..build import append, log, user
from .test_decisions import ask, late, pending
from .test_votes import ask_of, vote

pytestmark = pytest.mark.django_db
Status = Approval.Status


@pytest.fixture(autouse=True)
def seconds(settings) -> None:
    settings.UNDO_SECONDS = 5


def now_due(approval, seconds: float = -0.001) -> None:
    """As if its time had come; or is so many seconds away."""
    Approval.objects.filter(pk=approval.pk).update(deliver_at=timezone.now() + timedelta(seconds=seconds))


def as_it_is(approval) -> Approval:
    return Approval.objects.get(pk=approval.pk)


def test_it_is_pending_for_everybody_until_it_takes_effect(session, person):
    approval = ask(session)
    decided = vote(approval, person("Ines"))
    assert (decided.status, decided.decision, decided.delivery, decided.executable_digest) == (
        Status.PENDING, None, "none", "",
    )  # fmt: skip
    assert 4 < (decided.takes_effect_at - timezone.now()).total_seconds() <= 5
    assert len(log(session)) == 1 and pending(session) == 0
    assert not queries.waiting(session.workspace_id).exists()
    assert not effects.settle(approval.pk) and effects.settle_due() == 0
    now_due(approval)
    assert effects.settle_due() == 1
    settled = as_it_is(approval)
    assert (settled.status, settled.decision["by"], settled.delivery) == (Status.APPROVED, "Ines", "queued")
    assert settled.takes_effect_at is None and settled.executable_digest
    assert [event.text for event in log(session)][1:] == ["Ines: approved"]
    assert not effects.settle(approval.pk)
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_a_decision_that_is_taken_back_is_pending_again_and_can_be_another(session, person):
    approval, ines = ask(session), person("Ines")
    vote(approval, ines)
    back = taking_back.withdraw(approval, ines, reason="wrong one")
    assert (back.status, back.version, back.takes_effect_at, pending(session)) == (Status.PENDING, 3, None, 1)
    assert [one.verdict for one in votes.votes_of(back)] == ["approve", "withdraw"]
    assert votes.tally(back).last is None
    assert effects.settle_due() == 0
    denied = vote(approval, ines, "deny", reason="no")
    now_due(denied)
    effects.settle(denied.pk)
    assert as_it_is(approval).status == Status.DENIED
    actions = AuditEntry.objects.filter(subject_id=approval.pk).order_by("seq").values_list("action", flat=True)
    assert list(actions) == [
        "approval.requested", "approval.voted", "approval.withdrawn", "approval.voted", "approval.decided",
    ]  # fmt: skip
    assert list(chains.broken_decisions(session.workspace_id)) == []


def test_only_who_decided_takes_it_back_also_with_their_key(session, person, key_of):
    approval, ines = ask(session), person("Ines")
    vote(approval, ines)
    for other in (person("Omar"), key_of()):
        with pytest.raises(NotAllowed, match="only who voted can take the vote back"):
            taking_back.withdraw(approval, other)
    assert taking_back.withdraw(approval, key_of(ines)).takes_effect_at is None


def test_it_is_too_late_once_it_took_effect(session, person):
    approval, ines = ask(session), person("Ines")
    vote(approval, ines)
    now_due(approval)
    with pytest.raises(Conflict, match="too late to take it back: the decision took effect, it is approved"):
        taking_back.withdraw(approval, ines)
    assert as_it_is(approval).status == Status.APPROVED


def test_somebody_else_who_decides_meanwhile_is_told_who_did(session, person):
    approval, ines = ask(session), person("Ines")
    vote(approval, ines)
    with pytest.raises(Conflict, match="Ines decided this already: approve, and may take it back until"):
        vote(approval, person("Omar"), "deny")
    assert vote(approval, ines, version=1).version == 2


def test_a_decision_of_a_key_takes_effect_at_once(session, key_of):
    assert vote(ask(session), key_of()).status == Status.APPROVED


def test_a_vote_of_several_can_be_taken_back_while_others_vote(session, person):
    approval, ines, omar = ask_of(session, 2), person("Ines"), person("Omar")
    vote(approval, ines)
    taking_back.withdraw(approval, ines)
    assert vote(approval, omar).takes_effect_at is None
    assert vote(approval, ines).takes_effect_at
    taking_back.withdraw(approval, omar)
    assert [one.by for one in votes.tally(as_it_is(approval)).approvals] == ["Ines"]


def test_what_was_decided_in_time_does_not_expire(session, person):
    approval = ask(session, expires_in=60)
    vote(approval, person("Ines"))
    late(approval)
    assert endings.expire_due() == 0
    now_due(approval)
    effects.settle_due()
    assert as_it_is(approval).status == Status.APPROVED


@pytest.mark.parametrize("what", ["archived", "superseded", "stopped"])
def test_what_happens_meanwhile_wins(session, person, what):
    approval = ask(session)
    vote(approval, person("Ines"))
    if what == "archived":
        sessions.archive(session, by=audit.COMMAND)
    elif what == "superseded":
        append(session, user("No, do not"))
    else:
        Stop.objects.create(
            workspace_id=session.workspace_id, reason="smoke", made_by="Ada", made_by_kind="member",
            made_at=timezone.now(),
        )  # fmt: skip
    now_due(approval)
    effects.settle_due()
    ended = as_it_is(approval)
    assert ended.status == (Status.DENIED if what == "stopped" else Status.CANCELLED)
    assert ended.executable_digest == ""


def test_a_clock_that_is_set_back_does_not_hold_a_decision(session, person):
    """Set back by an hour, the moment is an hour away: further than it can be."""
    approval = ask(session)
    vote(approval, person("Ines"))
    now_due(approval, 3600)
    assert effects.settle_due() == 1
    assert as_it_is(approval).status == Status.APPROVED
