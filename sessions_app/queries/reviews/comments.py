"""Comments of a session as threads, and where a member is named."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.db.models import QuerySet
from django.urls import reverse

from sessions_app.models import Comment, Member, Mention, Session

MOST = 500
"""Comments of a session that a page shows."""


@dataclass(slots=True)
class Thread:
    """A comment with its replies, in the order in which they were made."""

    comment: Comment
    replies: list[Comment] = field(default_factory=list)


def threads_of(session: Session) -> list[Thread]:
    """Threads of a session: open ones first, each kind in the order of the events that they are about."""
    rows = list(Comment.objects.filter(session=session).order_by("id")[:MOST])
    threads = {row.pk: Thread(row) for row in rows if row.parent_id is None}
    for row in rows:
        if row.parent_id in threads:
            threads[row.parent_id].replies.append(row)
    shown = [one for one in threads.values() if not one.comment.deleted_at or one.replies]
    return sorted(shown, key=lambda one: (one.comment.resolved_at is not None, one.comment.first_seq or 0))


def path_of(comment: Comment) -> str:
    """Path of the page on which a comment stands, which marks it, without a script as well."""
    session = comment.session
    return f"{reverse('session-detail', args=[session.agent_id, session.pk])}?comment={comment.pk}#comment-{comment.pk}"


def mentions_of(member: Member) -> QuerySet[Mention]:
    """Where a member is named and has not looked yet, the newest first."""
    found = Mention.objects.filter(member=member, read_at=None)
    return found.select_related("comment__session__agent").order_by("-id")
