"""The retention of a workspace holds for the sessions that have none of their own."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from sessions_app.models import AuditEntry, Pruning, Session, SessionRetention, Tombstone, Workspace
from sessions_app.queries.retention import plans, strategies
from sessions_app.services import audit
from sessions_app.services.retention import policies, showing, sweeping, workspaces
from tests.services.build import append, user

BY = audit.Actor("member", "m-1", "Ines")
pytestmark = pytest.mark.django_db


def say(session, count):
    append(session, *(user(f"{n}") for n in range(count)))


def another(agent):
    return Session.objects.create(workspace_id=agent.workspace_id, agent=agent)


def in_sight(*sessions):
    return [plans.messages_in_sight(one.pk) for one in sessions]


def test_it_holds_for_sessions_that_say_nothing_and_for_no_others(agent, session):
    own, held, elsewhere = another(agent), another(agent), another(agent)
    Session.objects.filter(pk=elsewhere.pk).update(workspace=Workspace.objects.create(slug="other"))
    policies.set_policy(own.pk, {"max_messages": 6, "auto_prune": True}, by=BY)
    policies.set_policy(held.pk, {"immutable": True, "hold_reason": "case 7"}, by=BY)
    for one in (session, own, held, elsewhere):
        say(one, 9)
    workspaces.set_policy(agent.workspace_id, {"max_messages": 4, "auto_prune": True}, by=BY)
    told = {due.session.pk: (due.what, due.messages) for due in sweeping.report()}
    assert told == {session.pk: ("prune", 5), own.pk: ("prune", 3), held.pk: ("held", 5)}
    assert sweeping.sweep() == 2 and in_sight(session, own, held, elsewhere) == [4, 6, 9, 9]
    assert [due.what for due in sweeping.report()] == ["held"] and sweeping.sweep() == 0
    policies.set_policy(held.pk, {"immutable": False}, by=BY, is_admin=True)
    assert sweeping.sweep() == 1 and in_sight(held) == [4]
    assert SessionRetention.objects.get(pk=held.pk).hold_reason == ""


def test_another_one_is_applied_to_what_was_looked_at_before(agent, session):
    say(session, 9)
    workspaces.set_policy(agent.workspace_id, {"max_messages": 20, "auto_prune": True}, by=BY)
    assert sweeping.sweep() == 0 and SessionRetention.objects.get(pk=session.pk).looked_seq == 9
    workspaces.set_policy(agent.workspace_id, {"max_messages": 7}, by=BY)
    workspaces.set_policy(agent.workspace_id, {"max_messages": 7}, by=BY)
    assert sweeping.sweep() == 1 and in_sight(session) == [7]
    nothing = {"max_messages": None, "auto_prune": None}
    assert workspaces.set_policy(agent.workspace_id, nothing, by=BY) == {}
    say(session, 9)
    assert sweeping.sweep() == 0 and in_sight(session) == [16]
    assert AuditEntry.objects.filter(action="workspace.retention_set").count() == 3
    with pytest.raises(strategies.BadStrategy):
        workspaces.set_policy(agent.workspace_id, {"prune_strategy": "forget"}, by=BY)


def test_a_session_that_takes_all_back_follows_the_workspace_again(agent, session):
    say(session, 9)
    workspaces.set_policy(agent.workspace_id, {"max_messages": 4, "auto_prune": True}, by=BY)
    policies.set_policy(session.pk, {"auto_prune": False}, by=BY)
    assert sweeping.sweep() == 0 and in_sight(session) == [9]
    policies.set_policy(session.pk, {"auto_prune": None}, by=BY)
    assert sweeping.sweep() == 1 and in_sight(session) == [4]


def test_days_of_a_workspace_count_for_a_deletion_and_a_hold_is_stronger(agent, session, monkeypatch):
    held = another(agent)
    policies.set_policy(held.pk, {"immutable": True}, by=BY)
    for one in (session, held):
        say(one, 3)
    workspaces.set_policy(agent.workspace_id, {"ttl_days": 2, "auto_prune": True}, by=BY)
    call_command("retention", "--delete", "--reason", "days over")
    assert Session.objects.filter(pk__in=[session.pk, held.pk]).count() == 2
    later = timezone.now() + timedelta(days=3)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert sweeping.sweep() == 1 and in_sight(session, held) == [0, 3]
    call_command("retention", "--delete", "--reason", "days over")
    assert list(Session.objects.filter(pk__in=[session.pk, held.pk])) == [held]
    assert Tombstone.objects.get().subject_id == session.pk


def test_what_a_person_shows_again_stays_in_sight(agent, session):
    workspaces.set_policy(agent.workspace_id, {"max_messages": 4, "auto_prune": True}, by=BY)
    say(session, 9)
    assert showing.show_again(session.pk, by=BY).messages == 0
    sweeping.sweep()
    shown = showing.show_again(session.pk, by=BY)
    assert (shown.messages, shown.events, in_sight(session)) == (5, 5, [9])
    assert AuditEntry.objects.get(action="session.shown_again").details["messages"] == 5
    marker = Pruning.objects.get()
    assert marker.shown_by == "Ines" and marker.shown_at
    say(session, 2)
    assert sweeping.sweep() == 1 and in_sight(session) == [9]
    policies.set_policy(session.pk, {"max_messages": 3, "auto_prune": True}, by=BY)
    assert sweeping.sweep() == 1 and in_sight(session) == [3]


def test_a_report_page_by_page_is_the_whole_report(agent, session):
    sessions = [session, *(another(agent) for _ in range(4))]
    for one in sessions[::2]:
        say(one, 9)
    workspaces.set_policy(agent.workspace_id, {"max_messages": 4}, by=BY)
    whole = [due.session.pk for due in sweeping.report(agent.workspace_id)]
    pages, after = [], None
    while True:
        due, after = sweeping.report_page(agent.workspace_id, after, 2)
        pages += [one.session.pk for one in due]
        if after is None:
            break
    assert pages == whole and len(whole) == 3 and {due.what for due in sweeping.report()} == {"expired"}
