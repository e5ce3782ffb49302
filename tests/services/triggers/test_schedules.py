"""When schedules fire: on time, once, and what becomes of times that were missed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from sessions_app import tasks
from sessions_app.models import AuditEntry, Schedule, Session, TriggerRun
from sessions_app.services import agents
from sessions_app.services.triggers import cron_times, schedules, trigger_runs

from .conftest import INES, TEXT, at

DUE = "2026-03-02T08:00Z"


def runs() -> list[tuple[str, str]]:
    """When each run was due, and its status; the oldest first."""
    return [(f"{run.due_at:%m-%dT%H:%M}", run.status) for run in TriggerRun.objects.order_by("due_at", "id")]


def next_of(schedule: Schedule) -> str:
    schedule.refresh_from_db()
    return f"{schedule.next_run_at:%Y-%m-%dT%H:%MZ}"


def test_a_new_schedule_knows_its_next_time(make_schedule):
    made = make_schedule(cron="  0   9 * * * ")
    assert made.cron == "0 9 * * *"
    assert made.next_run_at == next(cron_times.times("0 9 * * *", "Europe/Berlin", made.created_at))
    assert make_schedule(name="Paused", enabled=False).next_run_at is None


def test_due_schedule_fires_and_gets_its_next_time(make_schedule):
    schedule = make_schedule(DUE)
    assert schedules.fire_due(at("2026-03-02T07:59:59Z")) == 0
    assert schedules.fire_due(at("2026-03-02T08:00:04Z")) == 1
    assert schedules.fire_due(at("2026-03-02T08:00:09Z")) == 0
    assert runs() == [("03-02T08:00", "started")]
    assert next_of(schedule) == "2026-03-03T08:00Z"
    assert TriggerRun.objects.get().session.title == "Morning report"


@pytest.mark.parametrize(("due", "fired", "following"), [
    ("2026-03-28T08:00Z", ["03-28T08:00", "03-29T07:00", "03-30T07:00"], "2026-03-31T07:00Z"),
    ("2026-10-24T07:00Z", ["10-24T07:00", "10-25T08:00", "10-26T08:00"], "2026-10-27T08:00Z"),
])  # fmt: skip
def test_nine_in_the_morning_stays_nine_when_the_clock_changes(make_schedule, due, fired, following):
    schedule = make_schedule(due)
    for _ in fired:
        schedule.refresh_from_db()
        schedules.fire_due(schedule.next_run_at + timedelta(seconds=3))
    assert runs() == [(time, "started") for time in fired]
    assert next_of(schedule) == following


def test_more_than_fifty_in_a_minute_all_fire(make_schedule):
    for number in range(60):
        make_schedule(DUE, name=f"Report {number}")
    assert schedules.fire_due(at("2026-03-02T08:00:01Z")) == 60
    assert Session.objects.count() == 60


# --- times that passed while nothing ran ------------------------------------------------------------------------

LATER = at("2026-03-05T12:00Z")
"""Three days and four hours after it was due."""


@pytest.mark.parametrize(("missed", "expected"), [
    ("skip", [("03-05T08:00", "skipped")]),
    ("once", [("03-04T08:00", "skipped"), ("03-05T08:00", "started")]),
    ("all", [(f"03-0{day}T08:00", "started") for day in (2, 3, 4, 5)]),
])  # fmt: skip
def test_missed_times_follow_the_misfire_policy(make_schedule, missed, expected):
    schedule = make_schedule(DUE, missed=missed)
    schedules.fire_due(LATER)
    assert runs() == expected
    assert next_of(schedule) == "2026-03-06T08:00Z"


def test_skipped_fires_are_recorded_with_count_and_time(make_schedule):
    make_schedule(DUE, missed="once")
    schedules.fire_due(LATER)
    told = TriggerRun.objects.get(status="skipped").error
    assert told.startswith("3 times passed while nothing ran here, 2026-03-02 08:00 to 2026-03-04 08:00 UTC; ")


def test_a_time_that_is_hardly_late_is_not_missed(make_schedule):
    make_schedule(DUE, missed="skip")
    schedules.fire_due(at("2026-03-02T08:04Z"))
    assert runs() == [("03-02T08:00", "started")]


def test_at_most_the_last_hundred_missed_fires_are_made_up(make_schedule):
    schedule = make_schedule(DUE, cron="* * * * *", missed="all")
    assert schedules.fire_due(at("2026-03-02T11:00Z")) == 100
    assert Session.objects.count() == 100
    told = TriggerRun.objects.get(status="skipped")
    assert told.error.startswith("81 times passed while nothing ran here, 2026-03-02 08:00 to 2026-03-02 09:20 UTC")
    assert TriggerRun.objects.filter(status="started").order_by("due_at").first().due_at == at("2026-03-02T09:21Z")
    assert next_of(schedule) == "2026-03-02T11:01Z"


def test_a_year_of_minutes_does_not_keep_the_sweep(make_schedule):
    schedule = make_schedule("2025-03-02T08:00Z", cron="* * * * *")
    started = timezone.now()
    assert schedules.fire_due(at("2026-03-02T08:00:05Z")) == 1
    assert timezone.now() - started < timedelta(seconds=10)
    assert TriggerRun.objects.get(status="started").due_at == at("2026-03-02T08:00Z")
    assert "or more times passed" in TriggerRun.objects.get(status="skipped").error
    assert next_of(schedule) == "2026-03-02T08:01Z"


def test_a_clock_that_was_ahead_and_is_put_right_loses_nothing_and_doubles_nothing(make_schedule):
    schedule = make_schedule(DUE)
    schedules.fire_due(at("2026-03-04T08:00:05Z"))  # two days ahead
    assert next_of(schedule) == "2026-03-05T08:00Z"
    schedules.fire_due(at("2026-03-02T08:00:05Z"))
    assert next_of(schedule) == "2026-03-03T08:00Z"
    schedules.fire_due(at("2026-03-03T08:00:05Z"))
    schedules.fire_due(at("2026-03-04T08:00:05Z"))  # had fired when the clock was ahead
    schedules.fire_due(at("2026-03-05T08:00:05Z"))
    started = [due for due, status in runs() if status == "started"]
    assert started == ["03-03T08:00", "03-04T08:00", "03-05T08:00"]


# --- overlap, pause, by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("overlap", "second"), [("allow", "started"), ("skip", "skipped")])
def test_overlap_policy_decides_while_the_last_session_runs(make_schedule, overlap, second):
    schedule = make_schedule(DUE, overlap=overlap)
    schedules.fire_due(at("2026-03-02T08:00:05Z"))
    schedules.fire_due(at("2026-03-03T08:00:05Z"))
    Session.objects.update(status="idle")
    schedules.fire_due(at("2026-03-04T08:00:05Z"))
    assert [status for _, status in runs()] == ["started", second, "started"]
    if second == "skipped":
        assert schedule.runs.get(status="skipped").error == "the session of the last fire still runs"


def test_fires_missed_during_a_pause_are_not_made_up(make_schedule):
    schedule = make_schedule(DUE, missed="all")
    paused = schedules.change(schedule, {"enabled": False}, by=INES)
    assert paused.next_run_at is None
    assert schedules.fire_due(LATER) == 0
    resumed = schedules.change(paused, {"enabled": True}, by=INES)
    assert resumed.next_run_at > timezone.now()
    assert not TriggerRun.objects.exists()


def test_a_change_of_the_message_leaves_the_next_time_alone(make_schedule):
    schedule = make_schedule(DUE)
    changed = schedules.change(schedule, {"input_text": "Something else", "cron": schedule.cron}, by=INES)
    assert changed.next_run_at == at(DUE)
    assert schedules.change(schedule, {"cron": "5 9 * * *"}, by=INES).next_run_at > timezone.now()


def test_running_a_schedule_now_starts_another_session_each_time(make_schedule):
    schedule = make_schedule(DUE, enabled=False, overlap="skip")
    first, second = schedules.run_now(schedule, by=INES), schedules.run_now(schedule, by=INES)
    assert (first.cause, first.due_at, first.status, second.status) == ("run now by Ines", None, "started", "started")
    assert first.session != second.session
    assert next_of(make_schedule(DUE, name="Other")) == "2026-03-02T08:00Z"


def test_deleting_a_schedule_keeps_its_runs(make_schedule):
    schedule = make_schedule(DUE)
    schedules.fire_due(at("2026-03-02T08:00:05Z"))
    schedules.delete(schedule, by=INES)
    run = TriggerRun.objects.get()
    assert (run.schedule, run.name, run.session is None) == (None, "Morning report", False)


def test_changes_of_schedules_are_audited(make_schedule):
    schedule = make_schedule()
    schedules.change(schedule, {"cron": "0 8 * * *"}, by=INES)
    schedules.run_now(schedule, by=INES)
    schedules.delete(schedule, by=INES)
    actions = AuditEntry.objects.filter(subject_kind="schedule").order_by("seq").values_list("action", "actor_name")
    assert list(actions) == [(f"schedule.{what}", "Ines") for what in ("created", "changed", "run_now", "deleted")]
    assert AuditEntry.objects.get(action="schedule.changed").details["after"] == {"cron": "0 8 * * *"}


@pytest.mark.parametrize(("fields", "field", "words"), [
    ({"name": " "}, "name", "1 to 100 characters"),
    ({"name": "Morning report"}, "name", "there is a schedule"),
    ({"input_text": " \n"}, "input_text", "say what the agent is to do"),
    ({"input_text": "x" * 1_000_001}, "input_text", "use at most 1,000,000"),
    ({"missed": "maybe"}, "missed", "is none of skip, once, all"),
    ({"cron": "0 9 * *"}, "cron", "has 4 fields"),
    ({"timezone": "Nowhere"}, "timezone", "is no time zone"),
])  # fmt: skip
def test_invalid_schedule_is_refused_with_the_field(make_schedule, fields, field, words):
    make_schedule()
    with pytest.raises(schedules.Refused, match=words) as raised:
        make_schedule(**{"name": "Another"} | fields)
    assert raised.value.field == field
    assert Schedule.objects.count() == 1


# --- bad days ---------------------------------------------------------------------------------------------------


def test_schedule_that_fails_to_fire_does_not_stop_the_others(make_schedule, workspace):
    bad, good = make_schedule(DUE, name="Bad"), make_schedule("2026-03-02T08:00Z", name="Good", cron="0 10 * * *")
    gone = agents.create(workspace.id, "Gone", by=INES, status="archived")
    Schedule.objects.filter(pk=bad.pk).update(agent=gone)
    assert schedules.fire_due(at("2026-03-02T08:00:05Z")) == 2
    assert (bad.runs.get().status, good.runs.get().status) == ("failed", "started")
    assert next_of(bad) == "2026-03-03T08:00Z"


def test_a_zone_that_is_gone_pauses_its_schedule_and_says_why(make_schedule):
    bad, good = make_schedule(DUE, name="Bad"), make_schedule(DUE, name="Good")
    Schedule.objects.filter(pk=bad.pk).update(timezone="Mars/Olympus", next_run_at=at("2026-03-02T07:00Z"))
    assert schedules.fire_due(at("2026-03-02T08:00:05Z")) == 2
    bad.refresh_from_db()
    assert (bad.enabled, bad.next_run_at, good.runs.get().status) == (False, None, "started")
    assert bad.runs.get().error.startswith('paused: "Mars/Olympus" is no time zone')


def test_a_zone_that_is_gone_when_a_clock_was_put_right_does_not_stop_the_others(make_schedule):
    ahead, good = make_schedule(DUE, name="Ahead"), make_schedule(DUE, name="Good")
    tomorrow = at("2026-03-03T08:00Z")
    Schedule.objects.filter(pk=ahead.pk).update(timezone="Mars/Olympus", next_run_at=tomorrow, updated_at=tomorrow)
    schedules.fire_due(at("2026-03-02T08:00:05Z"))
    ahead.refresh_from_db()
    assert (ahead.enabled, ahead.runs.get().status, good.runs.get().status) == (False, "failed", "started")


def test_a_crash_between_claim_and_fire_loses_nothing(make_schedule, monkeypatch):
    """The process dies after it took the schedule: nothing was committed, so it fires later, once."""
    schedule = make_schedule(DUE)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(trigger_runs.messages, "submit", killed)
        schedules.fire_due(at("2026-03-02T08:00:05Z"))
    assert (runs(), Session.objects.count(), next_of(schedule)) == ([], 0, DUE)
    schedules.fire_due(at("2026-03-02T08:00:20Z"))
    assert runs() == [("03-02T08:00", "started")]
    assert TriggerRun.objects.get().input_text == TEXT


def test_the_scheduler_itself_fires_what_is_due_every_second(make_schedule):
    """Sent to a worker, it would stand behind whatever else waits there."""
    schedule = make_schedule()
    Schedule.objects.filter(pk=schedule.pk).update(next_run_at=timezone.now() - timedelta(seconds=1))
    assert tasks.fire_schedules() == 1
    assert settings.LOOKS[tasks.fire_schedules.name] == 1
