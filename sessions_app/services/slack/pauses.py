"""Posts to the escalation channels of a Slack workspace that is slow or away: few at a time, then one after each pause.

What people do in Slack (messages, clicks, commands) and the answers to turns are not held back: they are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from sessions_app.models import SlackInstallation, SlackNotice

from .jobs import CLAIM, LONGEST_WAIT, Away, unclaimed

AT_ONCE = 3
"""Posts to one Slack workspace at a time."""
BUSY = timedelta(seconds=5)
"""So long a post waits while there are those."""
FIRST_PAUSE, DOUBLINGS = 2.0, 8
"""Seconds without a post to a workspace that is away; they double, to ``LONGEST_WAIT``."""
WELL = {"away_since": None, "away_times": 0, "next_at": None}
"""Columns of an installation whose last call was answered."""


def is_held(notice: SlackNotice) -> bool:
    """Whether a post has to wait for its Slack workspace; it is put off then, without counting as a try."""
    job = SlackNotice.objects.filter(unclaimed(), pk=notice.pk)
    if not job.exists():
        return False
    later = _not_before(notice.installation_id)
    return bool(later and job.update(retry_at=later))


@contextmanager
def noted(installation: SlackInstallation) -> Iterator[None]:
    """Note whether Slack answers in this block; what it raises goes on."""
    try:
        yield
    except Away as away:
        _note_away(installation, away)
        raise
    SlackInstallation.objects.filter(~Q(next_at=None) | Q(away_times__gt=0), pk=installation.pk).update(**WELL)


def _not_before(installation_id: UUID) -> datetime | None:
    now = timezone.now()
    row = SlackInstallation.objects.filter(pk=installation_id)
    next_at = row.values_list("next_at", flat=True).first()
    if next_at and next_at > now:
        return next_at
    if next_at:
        return None if row.filter(next_at=next_at).update(next_at=now + CLAIM) else now + BUSY
    held = SlackNotice.objects.filter(installation=installation_id, held_until__gt=now)
    return now + BUSY if held.count() >= AT_ONCE else None


@transaction.atomic
def _note_away(installation: SlackInstallation, away: Away) -> None:
    row = SlackInstallation.objects.filter(pk=installation.pk)
    times, since = row.select_for_update().values_list("away_times", "away_since").get()
    pause = FIRST_PAUSE * 2 ** min(times, DOUBLINGS) if away.seconds is None else away.seconds
    now = timezone.now()
    later = now + timedelta(seconds=min(pause, LONGEST_WAIT))
    row.update(away_times=F("away_times") + 1, away_since=since or now, next_at=later)
