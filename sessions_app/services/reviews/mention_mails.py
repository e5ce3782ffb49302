"""Mails to members who are named in comments, where they want them. A mail quotes neither comment nor session.

The mention is the job: ``mail_at`` says when its mail is tried next, and is moved ahead by the worker that claims it.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.urls import reverse
from django.utils import timezone

from sessions_app.models import Mention, NoticeChoice
from sessions_app.queries.reviews.comments import path_of
from sessions_app.rendering.text import first_line

from .. import task_queue
from ..fair_queue import Line
from ..people import mail, refused

WAITS = (30, 120, 600, 1_800, 3_600, 7_200)
"""Seconds after each failed try, as of other notices."""
CLAIM = timedelta(minutes=3)
SWEPT = 200
TASK = "sessions_app.tasks.send_mention"


def write(comment_id: UUID, workspace_id: UUID) -> None:
    """Have the members mailed who are named in a comment and want that. Inside the transaction that names them."""
    wanted = NoticeChoice.objects.filter(mentions=True, member__workspace_id=workspace_id).values("member")
    new = Mention.objects.filter(comment=comment_id, member__in=wanted, mail_at=None, mail_tries=0, read_at=None)
    ids = list(new.order_by("id").values_list("pk", flat=True))
    Mention.objects.filter(pk__in=ids).update(mail_at=timezone.now())
    for pk in ids:
        task_queue.enqueue(TASK, pk, Line(workspace_id))


def send(mention_id: UUID) -> None:
    """Mail about one mention; unless it was read, taken back, or another worker is at it."""
    mention = _claim(mention_id)
    if mention is None:
        return
    member, comment = mention.member, mention.comment
    if mention.read_at or comment.deleted_at or not member.user.is_active or not mail.reaches(member.user):
        _end(mention)
        return
    host = settings.DEFAULT_FROM_EMAIL.rpartition("@")[2]
    headers = {"Message-ID": f"<{mention.pk}@{host}>", "Auto-Submitted": "auto-generated"}
    try:
        mail.send(member.user, f"{first_line(comment.by, 60)} mentioned you in a comment", body_of(mention), headers)
    except refused.Refused:
        _put_off(mention)
    else:
        _end(mention)


def body_of(mention: Mention) -> str:
    """Who, where, and the link; never what was written."""
    comment = mention.comment
    return (
        f"{first_line(comment.by, 60)} mentioned you in a comment on a session in {comment.workspace}.\n\n"
        f"Sign in to read it: {_address(path_of(comment))}\n\n"
        f"You get this because you chose to be told by mail: {_address(reverse('notice-choice'))}\n"
    )


def sweep() -> int:
    """Enqueue mentions whose time has come and whose task was lost or failed; how many."""
    due = Mention.objects.filter(mail_at__lte=timezone.now()).order_by("mail_at")
    found = list(due.values_list("pk", "mail_at", "comment__workspace_id")[:SWEPT])
    lines = {pk: Line(workspace) for pk, _, workspace in found}
    return task_queue.requeue(TASK, {pk: at for pk, at, _ in found if at}, lines)


@transaction.atomic
def _claim(mention_id: UUID) -> Mention | None:
    now = timezone.now()
    mine = Mention.objects.filter(pk=mention_id, mail_at__lte=now)
    if not mine.update(mail_at=now + CLAIM, mail_tries=F("mail_tries") + 1):
        return None
    rows = Mention.objects.select_related("member__user", "comment__workspace", "comment__session")
    return rows.filter(pk=mention_id).first()


def _end(mention: Mention) -> None:
    Mention.objects.filter(pk=mention.pk).update(mail_at=None)


def _put_off(mention: Mention) -> None:
    if mention.mail_tries > len(WAITS):
        _end(mention)
        return
    later = timezone.now() + timedelta(seconds=WAITS[mention.mail_tries - 1])
    Mention.objects.filter(pk=mention.pk).update(mail_at=later)


def _address(path: str) -> str:
    """Below the public address; without one only the path is known here."""
    return f"{settings.PUBLIC_URL.rstrip('/')}{path}" if settings.PUBLIC_URL else f"{path} at your desk"
