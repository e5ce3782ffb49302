"""The sweep applies what policies ask for, and leaves alone what it must."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from sessions_app.models import AuditEntry, Pruning, Session, SessionRetention, Tombstone
from sessions_app.queries.retention import hidden, plans
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.retention import policies, sweeping
from sessions_app.tasks import apply_retention
from tests.services.build import append, at_once, user
from vcon_app.services.erasure import erasing

BY = audit.Actor("member", "m-1", "Ines")
pytestmark = pytest.mark.django_db


@pytest.fixture
def later(monkeypatch):
    """Lets days pass."""

    def pass_days(days):
        now = timezone.now() + timedelta(days=days)
        monkeypatch.setattr(timezone, "now", lambda: now)

    return pass_days


def say(session, count=1):
    append(session, *(user(f"{n}") for n in range(count)))


def keep(session, **policy):
    policies.set_policy(session.pk, policy, by=BY, is_admin=True)


def test_more_messages_than_the_policy_keeps_go_when_they_come(session):
    keep(session, auto_prune=True, max_messages=5)
    assert sweeping.sweep() == 0
    say(session, 8)
    assert apply_retention() == 1 and plans.messages_in_sight(session.pk) == 5
    assert sweeping.sweep() == 0 and Pruning.objects.count() == 1
    say(session, 2)
    assert sweeping.sweep() == 1
    marker = Pruning.objects.latest("id")
    assert (marker.rule, marker.by_kind, marker.messages) == ("sliding_window of 5", "system", 2)
    assert AuditEntry.objects.filter(action="session.pruned", actor_kind="system").count() == 2


def test_a_policy_that_does_not_prune_by_itself_is_only_told_of(session):
    keep(session, max_messages=5, ttl_days=1)
    say(session, 8)
    assert sweeping.sweep() == 0
    (due,) = sweeping.report()
    assert (due.what, due.messages, due.strategy.rule) == ("expired", 3, "sliding_window of 5")


def test_after_its_days_all_goes_and_what_comes_then_is_in_sight(session, later):
    keep(session, auto_prune=True, ttl_days=30)
    say(session, 4)
    assert sweeping.sweep() == 0
    later(29)
    assert sweeping.sweep() == 0
    later(2)
    assert sweeping.sweep() == 1 and plans.messages_in_sight(session.pk) == 0
    assert sweeping.sweep() == 0
    say(session)
    assert sweeping.sweep() == 0 and plans.messages_in_sight(session.pk) == 1
    later(31)
    assert sweeping.sweep() == 1 and plans.messages_in_sight(session.pk) == 0


def test_days_that_pass_while_it_waits_for_an_approval_wait_too(session, later):
    keep(session, auto_prune=True, ttl_days=1, max_messages=3)
    say(session, 5)
    requests.request(session, requests.Question("refund", {}, client_id="q"), by=BY)
    later(2)
    (due,) = sweeping.report()
    assert (due.what, due.strategy.rule) == ("prune", "sliding_window of 3")
    assert sweeping.sweep() == 1 and plans.messages_in_sight(session.pk) == 3
    (due,) = sweeping.report()
    assert (due.what, due.strategy.rule) == ("waits", "ttl_days of 1") and sweeping.sweep() == 0
    Session.objects.filter(pk=session.pk).update(pending_approvals=0)
    assert sweeping.sweep() == 1 and plans.messages_in_sight(session.pk) == 0


def test_a_hold_is_stronger_than_days_and_strategies(session, later):
    keep(session, auto_prune=True, ttl_days=1, max_messages=2, immutable=True)
    say(session, 9)
    later(500)
    assert sweeping.sweep() == 0 and not hidden.of_session(session.pk).spans
    assert [due.what for due in sweeping.report()] == ["held"] and list(sweeping.over()) == []
    keep(session, immutable=False)
    assert sweeping.sweep() == 1


def test_one_that_cannot_be_pruned_does_not_hold_up_the_others(agent, session, monkeypatch):
    other = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
    for one in (session, other):
        keep(one, auto_prune=True, max_messages=2)
        say(one, 5)
    real = plans.plan

    def broken(of, *args, **more):
        if of.pk == session.pk:
            raise RuntimeError("of the test")
        return real(of, *args, **more)

    monkeypatch.setattr(plans, "plan", broken)
    assert sweeping.sweep() == 1 and plans.messages_in_sight(other.pk) == 2
    monkeypatch.setattr(plans, "plan", real)
    assert sweeping.sweep() == 1 and plans.messages_in_sight(session.pk) == 2


@pytest.mark.django_db(transaction=True)
def test_two_sweepers_at_once_prune_each_session_once(agent):
    for _ in range(6):
        one = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
        keep(one, auto_prune=True, max_messages=3)
        say(one, 10)
    assert sum(at_once(sweeping.sweep, sweeping.sweep, sweeping.sweep)) == 6
    assert Pruning.objects.count() == 6 and set(Pruning.objects.values_list("messages", flat=True)) == {7}


@pytest.mark.django_db(transaction=True)
def test_a_hold_and_a_deletion_at_once_end_in_one_of_both(agent):
    for _ in range(4):
        session = Session.objects.create(workspace_id=agent.workspace_id, agent=agent)
        say(session, 3)
        held, gone = at_once(
            lambda: policies.set_policy(session.pk, {"immutable": True}, by=BY),  # noqa: B023
            lambda: erasing.erase_session(session, by=BY),  # noqa: B023
        )
        there = Session.objects.filter(pk=session.pk).exists()
        assert isinstance(gone, erasing.CannotErase) if there else isinstance(held, Session.DoesNotExist)
        assert SessionRetention.objects.filter(pk=session.pk).exists() == there


def test_the_command_says_what_is_due_applies_holds_and_deletes(session, later, capsys):
    keep(session, auto_prune=True, ttl_days=3)
    say(session, 4)
    later(4)
    call_command("retention", "--dry-run")
    told = capsys.readouterr().out
    assert f"{session.pk}  4 messages go out of sight with the next sweep (rule ttl_days of 3)" in told
    assert "1 sessions; nothing was changed" in told and not Pruning.objects.exists()
    call_command("retention", "--hold", str(session.pk))
    call_command("retention")
    assert "0 sessions were pruned" in capsys.readouterr().out
    call_command("retention", "--delete", "--reason", "days are over")
    assert Session.objects.filter(pk=session.pk).exists()
    call_command("retention", "--lift", str(session.pk))
    call_command("retention")
    with pytest.raises(CommandError, match="needs a --reason"):
        call_command("retention", "--delete")
    call_command("retention", "--delete", "--reason", "days are over")
    assert "deleted 1 sessions" in capsys.readouterr().out
    assert Tombstone.objects.get(subject_id=session.pk).reason == "days are over"
    assert not SessionRetention.objects.exists() and not Pruning.objects.exists()
