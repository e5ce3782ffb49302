"""What happened to an approval or by a stop, as rows for workers: in the transaction in which it happened, and quick.

A workspace with no outgoing webhook costs one query, and one more per question and per answer where nobody wants mail
or pushes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from uuid import UUID, uuid5

from django.utils import timezone

from sessions_app.models import Approval, OutgoingMessage, OutgoingWebhook, Stop, Vote

from .. import task_queue
from ..fair_queue import Line
from . import choices, payloads

EVENTS = (
    "approval.requested", "approval.voted", "approval.decided", "approval.expired", "approval.cancelled",
    "approval.delivered", "approval.executed", "stop.made", "stop.lifted",
)  # fmt: skip
TEST = "webhook.test"
"""Of the message by which an admin tries an address."""
ENDINGS = {Approval.Status.EXPIRED: "approval.expired", Approval.Status.CANCELLED: "approval.cancelled"}


def of_approval(approval: Approval, *events: str) -> None:
    """Something happened to an approval: each one of ``EVENTS``. Inside the transaction that changed it.

    Of a planted call no program is told: it might be the one that makes what is approved.
    """
    if approval.planted:
        return
    at = timezone.now()
    # A decision that was taken back can be followed by another: one message for each version.
    subject = uuid5(approval.pk, f"{approval.version} {approval.execution}")
    webhooks = _active(approval.workspace_id)
    for event in events:
        _write(webhooks, event, subject, at, partial(payloads.of_approval, event, at, approval), approval)


def requested(approval: Approval) -> None:
    """A person is asked."""
    choices.write_notices(approval)
    of_approval(approval, "approval.requested")


def ended(approval: Approval) -> None:
    """It waits no more."""
    choices.write_ending(approval)
    of_approval(approval, _ending(approval))


def settled(approval: Approval, *, told: bool) -> None:
    """It never waited, so that nobody was asked; ``told``: who asked has the answer."""
    of_approval(approval, _ending(approval), *(["approval.delivered"] if told else []))


def _ending(approval: Approval) -> str:
    return ENDINGS.get(Approval.Status(approval.status), "approval.decided")


def voted(approval: Approval, vote: Vote) -> None:
    """Somebody voted, and more votes are needed."""
    if approval.planted:
        return
    event, at = "approval.voted", vote.at
    write_body = partial(payloads.of_approval, event, at, approval)
    _write(_active(approval.workspace_id), event, vote.pk, at, write_body, approval)


def of_stop(stop: Stop, event: str) -> None:
    """A stop was made, or is over. Inside a transaction."""
    at = timezone.now()
    _write(_active(stop.workspace_id), event, stop.pk, at, partial(payloads.of_stop, event, at, stop))


def _active(workspace_id: UUID) -> list[OutgoingWebhook]:
    return list(
        OutgoingWebhook.objects.filter(workspace_id=workspace_id, active=True).only("id", "events", "workspace")
    )


def _write(
    webhooks: list[OutgoingWebhook], event: str, subject: UUID, at: datetime, write_body: Callable[[], str],
    approval: Approval | None = None,
) -> None:  # fmt: skip
    told = [webhook for webhook in webhooks if not webhook.events or event in webhook.events]
    if not told:
        return
    body = write_body()
    rows = [
        OutgoingMessage(
            webhook=webhook, event=event, subject_id=subject, approval=approval, body=body, next_try_at=at
        )
        for webhook in told
    ]  # fmt: skip
    OutgoingMessage.objects.bulk_create(rows, ignore_conflicts=True)
    for row in rows:
        task_queue.enqueue(task_queue.POST_MESSAGE, row.pk, Line(row.webhook.workspace_id))
