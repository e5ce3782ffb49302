"""A workspace deletes sessions that it has kept for its days, and nothing before the day after that was said."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from sessions_app.models import AuditEntry, Event, Session, Tombstone, Workspace
from sessions_app.queries.retention.over import page
from sessions_app.services import audit
from sessions_app.services.approvals import requests
from sessions_app.services.retention import keeping, policies
from tests.services.build import append, user
from vcon_app.services.erasure import over
from vcon_app.tasks import delete_what_is_over

BY = audit.Actor("member", "m-1", "Ines")
pytestmark = pytest.mark.django_db


@pytest.fixture
def later(monkeypatch):
    """Lets days pass."""
    began = timezone.now()

    def pass_days(days):
        monkeypatch.setattr(timezone, "now", lambda: began + timedelta(days=days))

    return pass_days


def said(agent, workspace=None):
    session = Session.objects.create(workspace_id=workspace or agent.workspace_id, agent=agent)
    append(session, user("Hello"))
    return session


def left():
    return set(Session.objects.values_list("pk", flat=True))


def test_sessions_go_when_their_days_are_over_with_a_tombstone(agent, later):
    old = said(agent)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(20)
    young = said(agent)
    assert delete_what_is_over() == 0
    later(31)
    assert delete_what_is_over() == 1 and left() == {young.pk}
    stone = Tombstone.objects.get()
    assert (stone.subject_id, stone.by_kind) == (old.pk, "system")
    assert stone.reason == "kept for 30 days, as the workspace says"
    assert not Event.objects.filter(session_id=old.pk).exists()
    assert AuditEntry.objects.filter(action="session.erased", subject_id=str(old.pk)).exists()


def test_days_count_from_the_last_event(agent, later):
    session = said(agent)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(29)
    append(session, user("Still here"))
    later(58)
    assert delete_what_is_over() == 0
    later(60)
    assert delete_what_is_over() == 1


def test_nothing_goes_for_a_day_after_fewer_days_were_said(agent, later):
    said(agent)
    later(100)
    keeping.set_days(agent.workspace_id, 90, by=BY)
    assert delete_what_is_over() == 0
    assert [one.what for one in page(agent.workspace_id, 90, None, 10)[0]] == ["goes"]
    keeping.set_days(agent.workspace_id, None, by=BY)
    later(102)
    assert delete_what_is_over() == 0, "it was taken back"
    keeping.set_days(agent.workspace_id, 101, by=BY)
    later(103.5)
    keeping.set_days(agent.workspace_id, 102, by=BY)
    assert delete_what_is_over() == 1, "more days than before begin no day anew"
    told = AuditEntry.objects.filter(action="workspace.keep_days_set").order_by("seq")
    assert [(one.details["before"], one.details["after"]) for one in told] == [
        (None, 90), (90, None), (None, 101), (101, 102),
    ]  # fmt: skip


def test_a_hold_a_question_and_an_agent_at_work_keep_a_session(agent, later):
    held, asked, busy, free = (said(agent) for _ in range(4))
    policies.set_policy(held.pk, {"immutable": True}, by=BY)
    question = requests.request(asked, requests.Question("refund", {"amount": 5}), by=BY)
    Session.objects.filter(pk=busy.pk).update(status=Session.Status.RUNNING)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(40)
    found, _ = page(agent.workspace_id, 30, None, 10)
    assert {one.session.pk: one.what for one in found} == {
        held.pk: "held", asked.pk: "waits", busy.pk: "waits", free.pk: "goes",
    }  # fmt: skip
    assert delete_what_is_over() == 1 and left() == {held.pk, asked.pk, busy.pk}
    assert question.status == "pending"
    policies.set_policy(held.pk, {"immutable": False}, by=BY, is_admin=True)
    assert delete_what_is_over() == 1 and held.pk not in left()


def test_a_session_that_says_more_days_of_its_own_is_kept_for_those(agent, later):
    longer, shorter = said(agent), said(agent)
    policies.set_policy(longer.pk, {"ttl_days": 365}, by=BY)
    policies.set_policy(shorter.pk, {"ttl_days": 5}, by=BY)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(31)
    assert delete_what_is_over() == 1 and left() == {longer.pk}
    later(366)
    assert delete_what_is_over() == 1


def test_other_workspaces_keep_theirs(agent, later):
    other = Workspace.objects.create(slug="other")
    elsewhere, here = said(agent, other.pk), said(agent)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(400)
    assert delete_what_is_over() == 1 and left() == {elsewhere.pk} and here.pk not in left()


def test_a_session_that_somebody_goes_on_with_meanwhile_stays(agent, later, monkeypatch):
    session = said(agent)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(31)
    in_order = over.months.in_order

    def and_somebody_writes(sessions):
        for one in in_order(sessions):
            append(session, user("Wait"))
            yield one

    monkeypatch.setattr(over.months, "in_order", and_somebody_writes)
    assert delete_what_is_over() == 0 and left() == {session.pk}


def test_a_page_goes_on_behind_its_last_session(agent, later):
    sessions = [said(agent) for _ in range(5)]
    later(40)
    first, last = page(agent.workspace_id, 30, None, 3)
    rest, end = page(agent.workspace_id, 30, last, 3)
    assert [one.session.pk for one in [*first, *rest]] == [one.pk for one in sessions] and end is None


def test_the_dry_run_says_how_many_go(agent, later, capsys):
    said(agent)
    keeping.set_days(agent.workspace_id, 30, by=BY)
    later(31)
    call_command("retention", dry_run=True)
    assert "1 sessions of default are over after 30 days" in capsys.readouterr().out
    assert Session.objects.count() == 1
