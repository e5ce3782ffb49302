"""Schedules: made and changed by people, fired by a sweep that two may do at once and that may die at any moment.

The run of a fire is written in the transaction that moves ``next_run_at`` on, while the row is locked: what was
not committed did not happen and is due still, what was committed is not due any more.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, takewhile
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.utils import timezone as clock

from sessions_app.models import Agent, Schedule, Session, TriggerRun
from sessions_app.models.triggers import WhenAsking
from sessions_app.services import audit
from sessions_app.services.log.sanitise import text
from sessions_app.services.turns import messages

from . import Refused, cron_times, trigger_runs

MOST_MISSED = 100
"""Times that are made up for; those before them are told and left out."""
LATE = timedelta(minutes=5)
"""A time that nothing fired for so long was missed."""
COUNTED = 11_000
"""Missed times that are counted one by one: more than a week has minutes."""
CHANGEABLE = ("agent", "name", "cron", "timezone", "input_text", "missed", "overlap", "when_asking", "enabled")
Missed, Overlap = Schedule.Missed, Schedule.Overlap


@transaction.atomic
def create(agent: Agent, *, by: audit.Actor, **fields: Any) -> Schedule:
    """A schedule. ``fields``: name, cron, timezone, input_text, missed, overlap, when_asking, enabled.

    Raises ``Refused``.
    """
    schedule = Schedule(workspace_id=agent.workspace_id, agent=agent)
    _check_and_save(schedule, fields)
    audit.record(
        schedule.workspace_id, by, "schedule.created", subject=("schedule", schedule.pk), **_audited(schedule)
    )  # fmt: skip
    return schedule


@transaction.atomic
def change(schedule: Schedule, changes: dict[str, Any], *, by: audit.Actor) -> Schedule:
    """Apply changes; the next time is computed from now, so what passed while it was paused stays undone.

    Raises like ``create``, and ``Schedule.DoesNotExist``.
    """
    schedule = Schedule.objects.select_for_update().get(pk=schedule.pk)
    before = _audited(schedule)
    _check_and_save(schedule, changes)
    after = {name: value for name, value in _audited(schedule).items() if value != before[name]}
    if after:
        was = {name: before[name] for name in after}
        audit.record(
            schedule.workspace_id, by, "schedule.changed", subject=("schedule", schedule.pk), before=was, after=after
        )
    return schedule


@transaction.atomic
def delete(schedule: Schedule, *, by: audit.Actor) -> None:
    """Delete a schedule; its runs stay, with its name. A second time changes nothing."""
    if Schedule.objects.filter(pk=schedule.pk).delete()[0]:
        audit.record(
            schedule.workspace_id, by, "schedule.deleted", subject=("schedule", schedule.pk), **_audited(schedule)
        )  # fmt: skip


@transaction.atomic
def run_now(schedule: Schedule, *, by: audit.Actor) -> TriggerRun:
    """Fire a schedule now, also while it is paused or its last session runs."""
    audit.record(schedule.workspace_id, by, "schedule.run_now", subject=("schedule", schedule.pk), name=schedule.name)
    return _fire(schedule, f"{schedule.pk}#{uuid4()}", cause=f"run now by {by.name}")


def _audited(schedule: Schedule) -> dict[str, Any]:
    return {name: getattr(schedule, name) for name in CHANGEABLE if name != "agent"} | {"agent": schedule.agent.name}


def _check_and_save(schedule: Schedule, fields: dict[str, Any]) -> None:
    """Check and save. The next time moves only when something changed that it depends on."""
    was = (schedule.cron, schedule.timezone, schedule.enabled)
    for name, value in fields.items():
        setattr(schedule, name, text(value) if isinstance(value, str) else value)
    schedule.name = schedule.name.strip()
    _check(schedule)
    schedule.cron, schedule.timezone = cron_times.checked(schedule.cron, schedule.timezone)
    if schedule._state.adding or was != (schedule.cron, schedule.timezone, schedule.enabled):
        schedule.next_run_at = _next(schedule, clock.now()) if schedule.enabled else None
    try:
        with transaction.atomic():
            schedule.save()
    except IntegrityError:
        raise Refused("name", f'there is a schedule "{schedule.name}" in this workspace already') from None


def _check(schedule: Schedule) -> None:
    if not schedule.name or len(schedule.name) > 100:
        raise Refused("name", f"use 1 to 100 characters, not {len(schedule.name)}")
    if not schedule.input_text.strip():
        raise Refused("input_text", "say what the agent is to do: this is the first message of each session")
    if len(schedule.input_text) > messages.MAX_MESSAGE:
        raise Refused(
            "input_text", f"has {len(schedule.input_text):,} characters; use at most {messages.MAX_MESSAGE:,}"
        )
    for field, choices in (("missed", Missed), ("overlap", Overlap), ("when_asking", WhenAsking)):
        if getattr(schedule, field) not in choices.values:
            raise Refused(field, f'"{getattr(schedule, field)}" is none of {", ".join(choices.values)}')
    if len(schedule.cron) > 200:
        raise Refused("cron", f"has {len(schedule.cron)} characters; use at most 200")


# --- the sweep --------------------------------------------------------------------------------------------------


def fire_due(now: datetime | None = None) -> int:
    """Fire everything that is due, one transaction each, until nothing is; how many schedules moved on.

    Rows that another sweep holds are left to it.
    """
    now = now or clock.now()
    _rearm(now)
    moved = 0
    while _fire_one_due(now):
        moved += 1
    return moved


def _rearm(now: datetime) -> None:
    """After a clock that was ahead was put right: rows written "tomorrow" wait for their next time from now on.

    What had fired ahead of its time has its run, so it does not fire again.
    """
    for schedule in Schedule.objects.filter(enabled=True, updated_at__gt=now + timedelta(minutes=1)):
        try:
            following = _next(schedule, now)
        except cron_times.Invalid:
            following = now  # what fires it pauses it, and says why
        Schedule.objects.filter(pk=schedule.pk, updated_at=schedule.updated_at).update(
            next_run_at=following, updated_at=now
        )


@transaction.atomic
def _fire_one_due(now: datetime) -> bool:
    """Fire the schedule that has been due longest and move it on. False when none is due that nobody holds."""
    due = Schedule.objects.select_for_update(skip_locked=True, of=("self",)).select_related("agent")
    schedule = due.filter(enabled=True, next_run_at__lte=now).order_by("next_run_at").first()
    if schedule is None or schedule.next_run_at is None:
        return False
    try:
        plan = _plan(schedule, schedule.next_run_at, now)
    except cron_times.Invalid as invalid:  # a zone that the newer database of zones does not have
        trigger_runs.record_without_session(
            schedule, f"{schedule.pk}@{now.isoformat()}", now, TriggerRun.Status.FAILED, f"paused: {invalid}"
        )
        Schedule.objects.filter(pk=schedule.pk).update(enabled=False, next_run_at=None, updated_at=now)
        return True
    if plan.left_out:
        _record_missed(schedule, plan)
    if plan.at:
        _fire(schedule, _key(schedule, plan.at), due_at=plan.at, skip_reason=_still_runs(schedule))
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=plan.following, updated_at=now)
    return True


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to fire now (None: nothing), how many times are left out, the first and last of those, and what is next."""

    at: datetime | None
    left_out: int
    first: datetime
    last: datetime | None
    following: datetime | None


def _plan(schedule: Schedule, due: datetime, now: datetime) -> _Plan:
    passed, kept = _passed(schedule, due, now)
    following = _next(schedule, now)
    fired = kept[-MOST_MISSED:]
    if schedule.missed == Missed.ALL:
        following = fired[1] if len(fired) > 1 else following
    elif schedule.missed == Missed.ONCE or kept[-1] >= now - LATE:
        fired = kept[-1:]
    else:
        fired = []
    before = [at for at in kept if not fired or at < fired[0]]
    at, last = fired[0] if fired else None, before[-1] if before else None
    return _Plan(at, passed - len(fired), due, last, following)


def _passed(schedule: Schedule, due: datetime, now: datetime) -> tuple[int, list[datetime]]:
    """How many times have come, and the last hundred and one. Beyond ``COUNTED`` those of the last week are added."""
    kept = deque([due], maxlen=MOST_MISSED + 1)
    count = 1
    for start in (due, now - timedelta(days=7)):
        came = takewhile(lambda at: at <= now, cron_times.times(schedule.cron, schedule.timezone, max(start, kept[-1])))
        for at in islice(came, COUNTED):
            kept.append(at)
            count += 1
        if count <= COUNTED:
            break
    return count, list(kept)


def _record_missed(schedule: Schedule, plan: _Plan) -> None:
    number = f"{plan.left_out:,}{' or more' if plan.left_out > COUNTED else ''}"
    times = "1 time" if plan.left_out == 1 else f"{number} times"
    why = {
        Missed.SKIP: "those that are missed are skipped",
        Missed.ONCE: "of those that are missed one is made up for",
        Missed.ALL: f"of those that are missed the last {MOST_MISSED} are made up for",
    }[Missed(schedule.missed)]
    until = "" if plan.left_out == 1 else f" to {plan.last:%Y-%m-%d %H:%M}"
    passed = f"{times} passed while nothing ran here, {plan.first:%Y-%m-%d %H:%M}{until} UTC; {why}"
    trigger_runs.record_without_session(
        schedule, f"{_key(schedule, plan.first)}+missed", plan.last or plan.first, TriggerRun.Status.SKIPPED, passed
    )


def _fire(schedule: Schedule, fire_key: str, **more: Any) -> TriggerRun:
    fire = trigger_runs.Fire(
        TriggerRun.Kind.SCHEDULE,
        fire_key,
        schedule.name,
        schedule.input_text,
        schedule=schedule,
        when_asking=schedule.when_asking,
        **more,
    )
    return trigger_runs.fire(schedule.agent, fire)


def _still_runs(schedule: Schedule) -> str:
    """Reason why this fire is skipped; empty when it is not."""
    if schedule.overlap == Overlap.ALLOW:
        return ""
    last = schedule.runs.filter(session__isnull=False).select_related("session").order_by("-id").first()
    runs = last is not None and last.session is not None and last.session.status == Session.Status.RUNNING
    return "the session of the last fire still runs" if runs else ""


def _key(schedule: Schedule, at: datetime) -> str:
    return f"{schedule.pk}@{at:%Y-%m-%dT%H:%MZ}"


def _next(schedule: Schedule, after: datetime) -> datetime | None:
    return next(cron_times.times(schedule.cron, schedule.timezone, after), None)
