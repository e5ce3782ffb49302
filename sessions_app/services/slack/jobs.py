"""Jobs at Slack: claimed by one worker at a time, and tried again when Slack is away.

A job is a row of ``SlackEvent``, ``SlackReply`` or ``SlackNotice``. ``held_until`` is the claim: while it lies in the
future, no other worker takes the job.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from django.db import Error, transaction
from django.db.models import Q
from django.utils import timezone

from sessions_app.models.slack import SlackJob

log = logging.getLogger(__name__)
CLAIM = timedelta(seconds=40)
"""So long a worker has for the next call of its job, which takes 10 s at most; then it is taken for dead."""
MOST_TRIES = 20
"""With waits that grow to 5 minutes: somewhat more than an hour."""
LONGEST_WAIT = 300.0


class Away(Exception):
    """Slack could not be reached, or asks to come back in ``seconds``; None: it does not say when."""

    def __init__(self, why: str, seconds: float | None = None) -> None:
        super().__init__(why)
        self.seconds = seconds


class Refused(Exception):
    """Slack does not do it, and will not later; ``code`` is its word for why."""

    def __init__(self, method: str, code: str) -> None:
        super().__init__(f"Slack refuses {method}: {code}")
        self.code = code


class ClaimLost(Exception):
    """Another worker has claimed the job: this one took longer than ``CLAIM``."""


def unclaimed() -> Q:
    """Jobs that are to be done now and that no worker has claimed."""
    now = timezone.now()
    return Q(done_at=None) & (Q(held_until=None) | Q(held_until__lt=now)) & (Q(retry_at=None) | Q(retry_at__lt=now))


def claim(job: SlackJob) -> bool:
    """Claim a job, by compare-and-set. False when a worker has it, it is done, or it is not time yet."""
    until = timezone.now() + CLAIM
    claimed = type(job)._default_manager.filter(unclaimed(), pk=job.pk).update(held_until=until)
    job.held_until = until if claimed else None
    return bool(claimed)


def extend(job: SlackJob, **changes: Any) -> None:
    """Save what was done of it, and claim it for longer. Raises ``ClaimLost``."""
    until = timezone.now() + CLAIM
    mine = type(job)._default_manager.filter(pk=job.pk, held_until=job.held_until)
    if not mine.update(held_until=until, **changes):
        raise ClaimLost
    for name, value in changes.items():
        setattr(job, name, value)
    job.held_until = until


@contextmanager
def owned(job: SlackJob) -> Iterator[None]:
    """A transaction in which no other worker can claim the job. Raises ``ClaimLost`` if one has."""
    with transaction.atomic():
        extend(job)
        yield


def finish(job: SlackJob, **changes: Any) -> None:
    """Mark the job as done: no worker claims it again."""
    _release(job, done_at=timezone.now(), tries=0, **changes)


def put_off(job: SlackJob, away: Away) -> None:
    """Release the job until later; after ``MOST_TRIES`` give it up."""
    tries = job.tries + 1
    if tries >= MOST_TRIES and away.seconds is None:
        return _release(job, tries=tries, done_at=timezone.now(), error=str(away))
    seconds = min(2.0**tries if away.seconds is None else away.seconds, LONGEST_WAIT)
    _release(job, tries=tries, retry_at=timezone.now() + timedelta(seconds=seconds))


@contextmanager
def claimed(job: SlackJob) -> Iterator[bool]:
    """Claim a job for the length of a block; yields whether that succeeded.

    In the block ``Away`` and faults of ours put the job off, ``Refused`` gives it up.
    """
    if not claim(job):
        yield False
        return
    try:
        yield True
    except Away as away:
        put_off(job, away)
    except Refused as refused:
        finish(job, error=str(refused))
    except ClaimLost:
        job.held_until = None
    except Error:
        job.held_until = None  # the database is away, and the claim ends by itself
        raise
    except Exception as fault:  # what stands behind it in its thread must not wait for ever
        log.exception("Slack job %s failed", job.pk)
        put_off(job, Away(f"a fault of ours: {type(fault).__name__}; it is in the server's log"))
    finally:
        if job.held_until:
            _release(job)


def _release(job: SlackJob, **changes: Any) -> None:
    mine = type(job)._default_manager.filter(pk=job.pk, held_until=job.held_until)
    mine.update(held_until=None, **changes)
    job.held_until = None
