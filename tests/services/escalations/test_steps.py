"""Escalation steps: frozen when it was asked, fired once each, to whoever stands in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from sessions_app.models import (
    Absence,
    Approval,
    AuditEntry,
    EscalationStep,
    Member,
    Notice,
    NoticeChoice,
    PushSubscription,
    Role,
    SlackInstallation,
    SlackNotice,
)  # fmt: skip
from sessions_app.queries import absences
from sessions_app.services import audit, workspaces
from sessions_app.services.approvals import endings
from sessions_app.services.escalations import steps
from sessions_app.services.people import members
from sessions_app.services.policies import versions

from ..approvals.test_decisions import ask, decide
from ..build import at_once, log

pytestmark = pytest.mark.django_db
HOUR = 3600


def rule(workspace_id, *stated) -> None:
    rules = [{"name": "Money", "match": {}, "effect": "ask", "ask": {"escalation": list(stated)}}]
    versions.publish(versions.save_draft(workspace_id, rules, by=audit.COMMAND), by=audit.COMMAND)


def step(after, *to):
    return {"after": after, "to": list(to)}


def person(workspace, name, role=Role.REVIEWER) -> Member:
    return members.add_member(workspace, f"{name}@example.org".lower(), name, role, by=audit.COMMAND)[0]


def later(approval, seconds) -> None:
    """As if the approval had been asked so much earlier."""
    earlier = timedelta(seconds=seconds)
    for one in EscalationStep.objects.filter(approval=approval):
        EscalationStep.objects.filter(pk=one.pk).update(due_at=one.due_at - earlier)


def mails() -> set[tuple[str, int]]:
    found = Notice.objects.filter(channel="mail").select_related("member__user")
    return {(str(notice.member), notice.step) for notice in found}


def test_steps_are_frozen_when_it_is_asked_and_fire_once_each(session, workspace):
    ada, rosa = person(workspace, "Ada", Role.ADMIN), person(workspace, "Rosa")
    rule(workspace.pk, step(2 * HOUR, "role:admin"), step(HOUR, f"member:{rosa.pk}"))
    approval = ask(session)
    rule(workspace.pk)  # other rules from now on do not touch what was asked
    found = list(EscalationStep.objects.order_by("position"))
    assert [one.due_at - approval.requested_at for one in found] == [timedelta(hours=1), timedelta(hours=2)]
    assert steps.fire_due() == 0
    later(approval, HOUR)
    assert (steps.fire_due(), steps.fire_due()) == (1, 0)
    assert mails() == {("Rosa", 1)}
    later(approval, HOUR)
    assert steps.fire_due() == 1
    assert mails() == {("Rosa", 1), ("Ada", 2)}
    assert [one.told for one in EscalationStep.objects.order_by("position")] == [["Rosa"], ["Ada"]]
    assert Approval.objects.get().status == "pending"  # after the last step it keeps waiting
    assert [event.data["told"] for event in log(session) if event.kind == "status"] == [["Rosa"], ["Ada"]]
    assert AuditEntry.objects.filter(action="approval.escalated").count() == 2
    assert str(ada.pk) != str(rosa.pk)


def test_after_the_last_step_it_is_denied_when_it_expires(session, workspace):
    rule(workspace.pk, step(HOUR, "role:admin"))
    approval = ask(session, expires_in=2 * HOUR)
    later(approval, HOUR)
    steps.fire_due()
    Approval.objects.update(expires_at=timezone.now())
    endings.expire_due()
    approval.refresh_from_db()
    assert approval.status == "expired"


def test_what_was_decided_is_told_to_nobody_more(session, workspace):
    person(workspace, "Ada", Role.ADMIN)
    rule(workspace.pk, step(HOUR, "role:admin"))
    approval = ask(session)
    later(approval, HOUR)
    decide(approval)
    assert steps.fire_due() == 0
    assert not Notice.objects.exists() and not EscalationStep.objects.exists()


def test_an_admin_is_whatever_a_reviewer_is_and_a_viewer_is_not(session, workspace):
    for name, role in (("Ada", Role.ADMIN), ("Rosa", Role.REVIEWER), ("Vito", Role.VIEWER)):
        person(workspace, name, role)
    rule(workspace.pk, step(1, "role:reviewer"))
    later(ask(session), 1)
    steps.fire_due()
    assert mails() == {("Ada", 1), ("Rosa", 1)}


def test_members_are_named_by_address_and_only_those_of_the_workspace(session, workspace):
    person(workspace, "Rosa")
    charlie = person(workspaces.create_workspace("elsewhere"), "Charlie", Role.ADMIN)
    rule(workspace.pk, step(1, "member:Rosa@Example.org", f"member:{charlie.pk}"))
    later(ask(session), 1)
    steps.fire_due()
    assert mails() == {("Rosa", 1)}


def test_whoever_stands_in_is_told_as_well_also_in_turn(session, workspace):
    """Absences count when the step fires, not when it was asked."""
    ada, rosa, kim = person(workspace, "Ada", Role.ADMIN), person(workspace, "Rosa"), person(workspace, "Kim")
    rule(workspace.pk, step(1, "role:admin"))
    approval = ask(session)
    now, day = timezone.now(), timedelta(days=1)
    for member, stand_in in ((ada, rosa), (rosa, kim), (kim, ada)):
        Absence.objects.create(
            workspace=workspace, member=member, stand_in=stand_in, begins_at=now - day, ends_at=now + day
        )
    later(approval, 1)
    steps.fire_due()
    assert mails() == {("Ada", 1), ("Rosa", 1), ("Kim", 1)}


def test_an_absence_that_is_over_or_has_not_begun_is_none(workspace):
    ada, rosa = person(workspace, "Ada", Role.ADMIN), person(workspace, "Rosa")
    now, day = timezone.now(), timedelta(days=1)
    for begins_at, ends_at in ((now - 2 * day, now - day), (now + day, now + 2 * day)):
        Absence.objects.create(workspace=workspace, member=ada, stand_in=rosa, begins_at=begins_at, ends_at=ends_at)
    assert absences.with_stand_ins([ada], workspace.pk) == [ada]


def test_a_push_goes_to_who_takes_them(session, workspace):
    ada, rosa = person(workspace, "Ada", Role.ADMIN), person(workspace, "Rosa", Role.ADMIN)
    for member in (ada, rosa):
        PushSubscription.objects.create(member=member, endpoint=f"https://push.example/{member}", p256dh="k", auth="a")
    NoticeChoice.objects.create(member=rosa, push=False)
    rule(workspace.pk, step(1, "role:admin"))
    later(ask(session), 1)
    steps.fire_due()
    assert set(Notice.objects.filter(channel="push").values_list("member", flat=True)) == {ada.pk}


def test_a_channel_in_slack_gets_one_more_message(session, workspace):
    SlackInstallation.objects.create(
        workspace=workspace, team_id="T1", team_name="Shop", bot_token="xoxb-1", escalation_channel="C1"
    )
    rule(workspace.pk, step(1, "channel:slack"))
    approval = ask(session)
    later(approval, 1)
    steps.fire_due()
    notice = SlackNotice.objects.get()
    assert (notice.approval, notice.subject, notice.channel) == (approval, f"approval:{approval.pk}:step:1", "C1")


def test_a_step_that_reaches_nobody_says_so(session, workspace):
    rule(workspace.pk, step(1, "member:gone@example.org"))
    later(ask(session), 1)
    assert steps.fire_due() == 1
    assert log(session)[-1].text.endswith("told to nobody: whom the rule names is not there")


@pytest.mark.django_db(transaction=True)
def test_who_is_killed_in_the_middle_has_told_nobody_and_it_fires_at_the_next_look(session, workspace, monkeypatch):
    person(workspace, "Ada", Role.ADMIN)
    rule(workspace.pk, step(1, "role:admin"))
    later(ask(session), 1)
    with monkeypatch.context() as killed:
        killed.setattr(steps, "_record", lambda step, told, by: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            steps.fire_due()
    assert not Notice.objects.exists()
    assert steps.fire_due() == 1
    assert mails() == {("Ada", 1)}


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_at_once_fire_each_step_once(session, workspace):
    person(workspace, "Ada", Role.ADMIN)
    rule(workspace.pk, step(1, "role:admin"))
    for _ in range(5):
        later(ask(session), 1)
    results = at_once(steps.fire_due, steps.fire_due, steps.fire_due)
    assert sum(results) == 5
    assert Notice.objects.count() == 5
    assert AuditEntry.objects.filter(action="approval.escalated").count() == 5
