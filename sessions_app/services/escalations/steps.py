"""Escalation steps: when an approval still waits after a time, more people are told.

The steps of its rules are frozen onto an approval as it is asked; each fires once, so long after the asking (a snooze
moves those that have not fired). What a step does is rows in one transaction: whoever is killed in the middle has told
nobody, and the step fires at the next look.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from sessions_app.models import (
    Approval,
    EscalationStep,
    Member,
    Notice,
    Role,
    SlackInstallation,
    SlackNotice,
)  # fmt: skip
from sessions_app.policy import terms
from sessions_app.queries import absences
from sessions_app.rendering.toolline import name_in_words

from .. import audit, notify
from ..approvals.record import lock_session_of
from ..log import events, links
from ..notices import choices
from ..turns.in_flight import status_event

AT_ONCE = 200
"""Steps of one look; what is more waits for the next."""
SLACK = "channel:slack"


def freeze(approval: Approval) -> None:
    """Write down the steps that the rules want, for an approval that was just saved and waits.

    One that is repeated is as many steps: a snooze moves each, and each is on the record.
    """
    stated = [(at, step["to"]) for step in approval.terms.get("escalation") or [] for at in terms.moments(step)]
    EscalationStep.objects.bulk_create(
        EscalationStep(
            approval=approval, position=position, targets=targets,
            due_at=approval.requested_at + timedelta(seconds=at),
        )
        for position, (at, targets) in enumerate(sorted(stated, key=lambda one: one[0]), start=1)
    )  # fmt: skip


def take_by_hand(approval: Approval, targets: list[str], *, by: audit.Actor, reason: str) -> EscalationStep:
    """Tell more people now, because somebody wants it. Inside a transaction that has locked the session."""
    last = EscalationStep.objects.filter(approval=approval).aggregate(last=Max("position"))["last"] or 0
    step = EscalationStep.objects.create(
        approval=approval, position=last + 1, targets=targets, due_at=timezone.now(), taken_by=by.name, reason=reason
    )
    _tell(step, by)
    return step


def fire_due() -> int:
    """Fire the steps that are due; how many. Two schedulers at once fire each step once."""
    now = timezone.now()
    due = EscalationStep.objects.filter(fired_at=None, due_at__lte=now)
    due.exclude(approval__status=Approval.Status.PENDING).delete()
    ids = due.order_by("due_at", "id").values_list("id", "approval_id")[:AT_ONCE]
    return sum(_fire(step_id, approval_id) for step_id, approval_id in list(ids))


@transaction.atomic
def _fire(step_id: UUID, approval_id: UUID) -> bool:
    lock_session_of(approval_id)
    step = EscalationStep.objects.select_for_update(of=("self",)).select_related("approval").filter(pk=step_id).first()
    if step is None or step.fired_at or step.due_at > timezone.now():
        return False
    if step.approval.status != Approval.Status.PENDING:
        return False
    _tell(step, audit.SYSTEM)
    return True


def _tell(step: EscalationStep, by: audit.Actor) -> None:
    members = absences.with_stand_ins(_members(step), step.approval.workspace_id)
    told = [str(member) for member in members]
    _write_notices(step, members)
    told += [f"Slack: {place}" for place in _write_to_slack(step)]
    step.fired_at, step.told = timezone.now(), told
    step.save(update_fields=["fired_at", "told"])
    _record(step, told, by)


def _members(step: EscalationStep) -> list[Member]:
    """Members whom the targets name; who has left is named no more."""
    here = Member.objects.filter(workspace_id=step.approval.workspace_id).select_related("user").order_by("id")
    return [member for member in here if any(_is_meant(member, target) for target in step.targets)]


def _is_meant(member: Member, target: str) -> bool:
    kind, _, name = target.partition(":")
    if kind == "role":
        return name in Role.values and Role(member.role).covers(Role(name))
    known = {str(member.pk), member.user.email.casefold(), member.user.get_username().casefold()} - {""}
    return kind == "member" and name.casefold() in known


def _write_notices(step: EscalationStep, members: Iterable[Member]) -> None:
    """A mail to each, and a push to each browser of theirs: an escalation is not only for who watches the page."""
    ids = [member.pk for member in members]
    rows = Member.objects.filter(pk__in=ids).select_related("notice_choice").prefetch_related("push_subscriptions")
    about: dict[str, Any] = {"approval": step.approval, "step": step.position, "next_try_at": timezone.now()}
    pushes = [
        notice
        for member in rows
        for notice in choices.push_notices(step.approval, member, choices.choice_of(member), step.position)
    ]
    mails = [Notice(member_id=id_, channel=Notice.Channel.MAIL, **about) for id_ in ids]
    Notice.objects.bulk_create([*mails, *pushes], ignore_conflicts=True)


def _write_to_slack(step: EscalationStep) -> list[str]:
    """Messages for the escalation channels, posted by the sweep of Slack; where they will stand."""
    if SLACK not in step.targets:
        return []
    connected = SlackInstallation.objects.filter(workspace_id=step.approval.workspace_id, revoked_at=None)
    places = list(connected.exclude(escalation_channel="").only("id", "team_name", "escalation_channel"))
    SlackNotice.objects.bulk_create(
        (
            SlackNotice(
                installation=place, approval=step.approval, channel=place.escalation_channel,
                subject=f"approval:{step.approval_id}:step:{step.position}",
            )
            for place in places
        ),
        ignore_conflicts=True,
    )  # fmt: skip
    return [str(place) for place in places]


def _record(step: EscalationStep, told: list[str], by: audit.Actor) -> None:
    approval = step.approval
    whom = ", ".join(told) or "nobody: whom the rule names is not there"
    minutes = round((timezone.now() - approval.requested_at).total_seconds() / 60)
    tool = name_in_words(approval.tool_name)
    said = f"{tool} waits for {minutes} min, so this was told to {whom}"
    by_hand: dict[str, Any] = {}
    if step.taken_by:
        said = f"{step.taken_by} told {whom} that {tool} waits: {step.reason}"
        by_hand = {"taken_by": step.taken_by, "reason": step.reason}
    event = status_event(
        "Countersign", "escalated", said, key=f"escalated:{step.pk}", approval=str(approval.pk), step=step.position,
        told=told, **by_hand,
    )  # fmt: skip
    events.append(approval.session_id, [event], origin=links.desk_for(by) if step.taken_by else links.DESK)
    audit.record(
        approval.workspace_id, by, "approval.escalated", subject=("approval", approval.pk),
        session=str(approval.session_id), step=step.position, targets=step.targets, told=told,
        **({"reason": step.reason} if step.taken_by else {}),
    )  # fmt: skip
    notify.approval_changed(approval.pk, approval.session_id, approval.workspace_id)
