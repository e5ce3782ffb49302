"""Pushes to the browsers of members who are named in comments. A push quotes neither comment nor session.

The mention is the job: ``push_to`` has the browsers that are still to be told, ``push_at`` when they are tried next.
"""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import Mention, NoticeChoice, PushSubscription
from sessions_app.queries.reviews.comments import path_of
from sessions_app.rendering.text import first_line

from .. import task_queue
from ..fair_queue import Line
from ..notices import push
from .mention_mails import CLAIM, SWEPT, WAITS

TASK = "sessions_app.tasks.push_mention"


def write(comment_id: UUID, workspace_id: UUID) -> None:
    """Have the browsers told of the members who are named in a comment, unless they chose otherwise. Inside the
    transaction that names them.
    """
    unwanted = NoticeChoice.objects.filter(push_mentions=False, member__workspace_id=workspace_id).values("member")
    new = Mention.objects.filter(comment=comment_id, push_at=None, push_tries=0, read_at=None)
    for mention in new.exclude(member__in=unwanted).order_by("id"):
        browsers = list(PushSubscription.objects.filter(member=mention.member_id).values_list("pk", flat=True))
        if browsers:
            Mention.objects.filter(pk=mention.pk).update(push_to=browsers, push_at=timezone.now())
            task_queue.enqueue(TASK, mention.pk, Line(workspace_id))


def send(mention_id: UUID) -> None:
    """Tell the browsers that are left; unless it was read, taken back, or another worker is at it."""
    mention = _claim(mention_id)
    if mention is None:
        return
    left: list[UUID] = []
    if not mention.read_at and not mention.comment.deleted_at and mention.member.user.is_active:
        browsers = PushSubscription.objects.filter(pk__in=mention.push_to, member=mention.member_id)
        left = [browser.pk for browser in browsers.order_by("made_at") if push.tell(browser, told_of(mention))]
    again = left and mention.push_tries <= len(WAITS)
    wait = timedelta(seconds=WAITS[mention.push_tries - 1]) if again else None
    Mention.objects.filter(pk=mention.pk).update(push_to=left, push_at=wait and timezone.now() + wait)


def told_of(mention: Mention) -> dict[str, str]:
    """Who, where, and the path; never what was written."""
    comment = mention.comment
    return {
        "tag": str(mention.pk), "title": f"{first_line(comment.by, 60)} mentioned you in a comment",
        "body": f"On a session in {first_line(comment.workspace.name, 60)}.", "url": path_of(comment),
    }  # fmt: skip


def sweep() -> int:
    """Enqueue mentions whose time has come and whose task was lost or failed; how many."""
    due = Mention.objects.filter(push_at__lte=timezone.now()).order_by("push_at")
    found = list(due.values_list("pk", "push_at", "comment__workspace_id")[:SWEPT])
    lines = {pk: Line(workspace) for pk, _, workspace in found}
    return task_queue.requeue(TASK, {pk: at for pk, at, _ in found if at}, lines)


@transaction.atomic
def _claim(mention_id: UUID) -> Mention | None:
    now = timezone.now()
    mine = Mention.objects.filter(pk=mention_id, push_at__lte=now)
    if not mine.update(push_at=now + CLAIM, push_tries=F("push_tries") + 1):
        return None
    rows = Mention.objects.select_related("member__user", "comment__workspace", "comment__session")
    return rows.filter(pk=mention_id).first()
