"""Goes on with errands at Slack that a lost message, a crash or Slack itself left undone."""

from __future__ import annotations

import logging
from datetime import timedelta

from django.utils import timezone

from sessions_app.models import SlackEvent

from . import api, escalation, messages, replies

log = logging.getLogger(__name__)
KEPT = timedelta(days=30)
"""So long a message of Slack's is known again. What it said is in its session or its trigger run."""


def sweep() -> int:
    """Do what is to be done and nobody does; how many errands that were."""
    SlackEvent.objects.filter(done_at__lt=timezone.now() - KEPT).delete()
    unread = SlackEvent.objects.filter(api.free()).order_by("id").values_list("id", flat=True)[:100]
    errands = [
        *((messages.read, id_) for id_ in unread),
        *((replies.finish_left, id_) for id_ in replies.left()),
        *((escalation.tell_of_approval, id_) for id_ in escalation.not_asked()),
        *((escalation.tell, id_) for id_ in escalation.left()),
    ]
    for do, id_ in errands:
        try:
            do(id_)
        except Exception:  # one errand's fault must not keep the others from being done
            log.exception("%s of Slack errand %s failed", do.__name__, id_)
    return len(errands)
