"""Several people and the clock at the same approval: one outcome, and everybody is told which."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Approval, Vote
from sessions_app.services import audit, sessions
from sessions_app.services.approvals import endings, requests
from sessions_app.services.approvals.decisions import Conflict

from ..build import at_once, log
from .test_decisions import AGENT, ask, decide, decider

pytestmark = pytest.mark.django_db(transaction=True)


def outcome(approval) -> str:
    return Approval.objects.get(pk=approval.pk).status


@pytest.mark.parametrize("second", ["approve", "deny"])
def test_first_of_two_concurrent_decisions_wins_and_is_named_to_the_second(session, second):
    approval = ask(session)
    results = at_once(
        lambda: decide(approval, by=decider("Ines")), lambda: decide(approval, second, by=decider("Omar"))
    )
    won = [result for result in results if isinstance(result, Approval)]
    lost = [result for result in results if isinstance(result, Conflict)]
    assert (len(won), len(lost)) == (1, 1)
    winner = won[0].decision["by"]
    assert str(lost[0]).startswith(f"{winner} decided this already")
    assert lost[0].approval.decision["by"] == winner
    assert Vote.objects.get().by == winner
    assert [event.text for event in log(session)][1:] == [f"{winner}: {won[0].status}"]


def test_one_person_who_clicks_many_times_decides_once(session):
    approval = ask(session)
    results = at_once(*[lambda: decide(approval)] * 5)
    assert all(isinstance(result, Approval) and result.version == 2 for result in results)
    assert Vote.objects.count() == 1 and len(log(session)) == 2


def test_the_same_question_at_once_is_asked_once(session):
    results = at_once(*[lambda: ask(session, client_id="call-1")] * 4)
    assert {result.pk for result in results} == {Approval.objects.get().pk}
    assert len(log(session)) == 1


@pytest.mark.parametrize("seconds", [-0.001, 0.0, 0.003, 0.01])
def test_deadline_and_decision_at_the_same_moment_have_one_outcome(session, seconds):
    approval = ask(session)
    Approval.objects.update(expires_at=timezone.now() + timedelta(seconds=seconds))
    results = at_once(endings.expire_due, lambda: decide(approval), endings.expire_due)
    status = outcome(approval)
    assert status in (Approval.Status.APPROVED, Approval.Status.EXPIRED)
    assert isinstance(results[1], Approval if status == Approval.Status.APPROVED else Conflict)
    assert len(log(session)) == 2


def test_archiving_and_deciding_at_once_neither_lock_up_nor_both_win(session):
    for _ in range(8):
        other = sessions.create(session.agent, by=audit.SYSTEM)
        several = [requests.request(other, requests.Question("refund", {"n": n}), by=AGENT) for n in range(3)]
        results = at_once(
            lambda s=other: sessions.archive(s, by=audit.COMMAND),
            *(lambda a=a: decide(a) for a in several),
            lambda s=other: requests.request(s, requests.Question("refund", {}), by=AGENT),
        )
        assert not [r for r in results if isinstance(r, Exception) and not isinstance(r, (Conflict, sessions.Archived))]
        statuses = set(Approval.objects.filter(session=other).values_list("status", flat=True))
        assert statuses <= {Approval.Status.APPROVED, Approval.Status.CANCELLED}
        other.refresh_from_db()
        assert other.pending_approvals == 0
    assert list(audit.broken_rows(session.workspace_id)) == []


@pytest.mark.parametrize("seconds", [0, 600])
def test_forty_at_once_by_every_way_in_have_one_winner(session, person, key_of, seconds, settings):
    """And every loser is told who that is."""
    settings.UNDO_SECONDS = seconds
    approval = ask(session)
    people = [person(f"P{number}") for number in range(3)]
    ways = [
        *people, *(replace(one, channel="slack") for one in people), *(key_of(one, "robot") for one in people),
        key_of(None, "pipeline"),
    ]  # fmt: skip
    verdicts = ["approve", "deny"]
    results = at_once(*(
        lambda by=by, verdict=verdict: decide(approval, verdict, by=by)
        for by in ways for verdict in verdicts for _ in range(2)
    ))  # fmt: skip
    won = [result for result in results if isinstance(result, Approval)]
    lost = [result for result in results if isinstance(result, Conflict)]
    assert len(won) + len(lost) == 40 and won
    vote = Vote.objects.get()
    assert all(str(conflict).startswith(f"{vote.by} decided this already") for conflict in lost)
    assert {result.version for result in won} == {2}
    assert list(audit.broken_rows(session.workspace_id)) == []


def test_a_session_that_is_locked_for_long_makes_deciders_wait_and_not_fail(session, person):
    approval = ask(session)
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with transaction.atomic():
            sessions.lock(session.pk)
            held.set()
            let_go.wait(10)

    def decide_then_let_go(by):
        held.wait(60)
        threading.Timer(1.2, let_go.set).start()
        return decide(approval, by=by)

    results = at_once(hold, *(lambda by=by: decide_then_let_go(by) for by in (person("Ines"), person("Omar"))))
    assert sorted(type(result).__name__ for result in results) == ["Approval", "Conflict", "NoneType"]
