"""Sweep of jobs at Slack that a lost message, a crash or Slack itself left undone."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from sessions_app.models import SlackEvent
from sessions_app.services.slack import jobs

from . import escalation, messages, replies

log = logging.getLogger(__name__)
KEPT = timedelta(days=30)
"""So long a message of Slack's is known again. What it said is in its session or its trigger run."""


def sweep() -> int:
    """Run the jobs that no worker has claimed; how many."""
    SlackEvent.objects.filter(done_at__lt=timezone.now() - KEPT).delete()
    unread = SlackEvent.objects.filter(jobs.unclaimed()).order_by("id").values_list("id", flat=True)[:100]
    left = [
        *((messages.read, id_) for id_ in unread),
        *((replies.finish, id_) for id_ in replies.unfinished()),
        *((escalation.tell_of_approval, id_) for id_ in escalation.not_posted()),
        *((escalation.post_or_update, id_) for id_ in escalation.unfinished()),
    ]
    for do, id_ in left:
        try:
            do(id_)
        except Exception:  # one job's fault must not keep the others from being done
            log.exception("%s of Slack job %s failed", do.__name__, id_)
    return len(left)
