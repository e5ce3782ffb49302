"""Triggers on pages: how a run went, and times as the clock of their zone shows them."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from django import template
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString

from sessions_app.models import Schedule, TriggerRun
from sessions_app.rendering import marks
from sessions_app.services.triggers import cron_times
from sessions_app.templatetags.desk import state

register = template.Library()


@register.simple_tag
def run_state(run: TriggerRun) -> SafeString:
    """The badge of a trigger run."""
    return state(marks.TRIGGER_RUNS[run.status])


@register.filter
def times_in_words(schedule: Schedule) -> str:
    """``At 09:00 on Monday through Friday``."""
    return cron_times.in_words(schedule.cron)


@register.filter
def next_local_time(schedule: Schedule) -> str:
    """The next time as the clock of its zone will show it; empty while it is paused."""
    return local_time(schedule.next_run_at.astimezone(ZoneInfo(schedule.timezone))) if schedule.next_run_at else ""


@register.filter
def local_time(at: datetime) -> str:
    """``Mon 23 Nov, 09:00 CET``: as the clock of its own zone shows it, where ``date`` would make it UTC."""
    day = date_format(at, "D j M" if at.year == timezone.now().year else "D j M Y", use_l10n=False)
    return f"{day}, {at:%H:%M} {at.tzname()}"


@register.filter
def is_past(at: datetime) -> bool:
    """Of a time that was to come: nothing is there to fire it."""
    return at < timezone.now()
