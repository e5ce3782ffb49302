"""Comments on sessions, with replies and mentions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Comment, Member, Mention, Role, Session

from .. import audit, notify
from ..log.sanitise import text
from ..sessions import lock
from . import mention_mails, mention_pushes
from .problems import NotAllowed, Refused, require

MOST_TEXT = 20_000
MOST = 2_000
"""Comments of one session."""
MEMBERS = 1_000
"""Members of a workspace whose names are looked for in a text."""


@dataclass(frozen=True, slots=True)
class Range:
    """The events that a comment is about, by their numbers; None: the whole session."""

    first: int | None = None
    last: int | None = None


@transaction.atomic
def add(
    session_id: UUID, member: Member, words: str, about: Range = Range(), parent: Comment | None = None, *,
    by: audit.Actor,
) -> Comment:  # fmt: skip
    """A comment, or a reply to one, which is about what its comment is. Raises ``Refused`` and ``NotAllowed``."""
    require(member, Role.REVIEWER)
    session = lock(session_id)
    words = _checked(words)
    if parent:
        if parent.session_id != session.pk:
            raise Refused("parent", "that comment is on another session")
        parent, about = parent.parent or parent, Range(parent.first_seq, parent.last_seq)
    else:
        about = _range(session, about)
    if Comment.objects.filter(session=session).count() >= MOST:
        raise Refused("text", f"is one too many: the session has {MOST:,} already")
    made = Comment.objects.create(
        workspace_id=session.workspace_id, session=session, first_seq=about.first, last_seq=about.last, parent=parent,
        user_id=member.user_id, by=text(str(member)), text=words,
    )  # fmt: skip
    _mention(made, member)
    _record("comment.added", made, by)
    return made


@transaction.atomic
def edit(comment: Comment, member: Member, words: str, *, by: audit.Actor) -> None:
    """Another text of one's own comment. Raises ``Refused`` and ``NotAllowed``."""
    own = _own(comment, member)
    if own.deleted_at:
        raise Refused("text", "was deleted meanwhile")
    own.text, own.edited_at = _checked(words), timezone.now()
    own.save(update_fields=["text", "edited_at"])
    _mention(own, member)
    _record("comment.edited", own, by)


@transaction.atomic
def delete(comment: Comment, member: Member, *, by: audit.Actor) -> None:
    """Take one's own comment back, or as an admin anybody's: its text goes, its place stays. A second time changes
    nothing. Raises ``NotAllowed``.
    """
    own = _own(comment, member, admins_too=True)
    if own.deleted_at:
        return
    own.text, own.deleted_at = "", timezone.now()
    own.save(update_fields=["text", "deleted_at"])
    Mention.objects.filter(comment=own).delete()
    _record("comment.deleted", own, by)


@transaction.atomic
def resolve(comment: Comment, member: Member, *, resolved: bool, by: audit.Actor) -> None:
    """Close what a comment is about, or open it again; of a reply it is its comment's. Twice changes nothing."""
    require(member, Role.REVIEWER)
    top = comment.parent or comment
    state = {"resolved_at": timezone.now() if resolved else None, "resolved_by": text(by.name) if resolved else ""}
    if Comment.objects.filter(pk=top.pk, resolved_at__isnull=resolved).update(**state):
        _record("comment.resolved" if resolved else "comment.reopened", top, by)


def read_mentions(member: Member, session: Session) -> None:
    """The member has seen where they are named in comments of a session."""
    Mention.objects.filter(member=member, comment__session=session, read_at=None).update(read_at=timezone.now())


def _own(comment: Comment, member: Member, *, admins_too: bool = False) -> Comment:
    found = Comment.objects.select_for_update().get(pk=comment.pk)
    is_admin = admins_too and Role(member.role).covers(Role.ADMIN)
    if found.user_id != member.user_id and not is_admin:
        raise NotAllowed("this comment is somebody else's; only they change it")
    return found


def _checked(words: str) -> str:
    words = text(words).strip()
    if not words:
        raise Refused("text", "is empty; say something")
    if len(words) > MOST_TEXT:
        raise Refused("text", f"has {len(words):,} characters; use at most {MOST_TEXT:,}")
    return words


def _range(session: Session, about: Range) -> Range:
    if about.first is None and about.last is None:
        return about
    first = about.last if about.first is None else about.first
    last = first if about.last is None else about.last
    if first is None or last is None or not 1 <= first <= last <= session.last_seq:
        raise Refused("first_seq", f"{first} to {last} are no events of this session; it has 1 to {session.last_seq}")
    return Range(first, last)


def _mention(comment: Comment, author: Member) -> None:
    """Tell the members who are named and were not told of this comment before."""
    here = Member.objects.filter(workspace_id=comment.workspace_id, numbers_only=False).exclude(pk=author.pk)
    here = here.select_related("user")
    named = mentioned(comment.text, here.order_by("created_at")[:MEMBERS]) if "@" in comment.text else []
    Mention.objects.bulk_create((Mention(comment=comment, member=one) for one in named), ignore_conflicts=True)
    if named:
        mention_mails.write(comment.pk, comment.workspace_id)
        mention_pushes.write(comment.pk, comment.workspace_id)


def mentioned(words: str, members: Iterable[Member]) -> list[Member]:
    """Members who are named as ``@name`` in a text: by user name, e-mail, or whole name. The longest name counts.

    A name that two members have names neither.
    """
    names: dict[str, Member | None] = {}
    for member in members:
        for name in set(_names(member)):
            names[name] = None if name in names else member
    if not names:
        return []
    longest_first = sorted(names, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w@.])@({'|'.join(map(re.escape, longest_first))})(?![\w@])", re.IGNORECASE)
    found = {names[hit.group(1).lower()] for hit in pattern.finditer(words)}
    return [member for member in found if member]


def _names(member: Member) -> Iterator[str]:
    user = member.user
    for name in (user.get_username(), user.email, user.get_full_name(), user.first_name):
        if name := name.strip().lower():
            yield name
            if "@" in name:
                yield name.partition("@")[0]


def _record(action: str, comment: Comment, by: audit.Actor) -> None:
    """Without its text, which may quote the session: nothing is ever deleted from the audit log. Who has the session
    open is told that there is something new.
    """
    notify.reviews_changed([comment.session_id])
    audit.record(
        comment.workspace_id, by, action, subject=("session", comment.session_id), comment=str(comment.pk),
        first_seq=comment.first_seq, last_seq=comment.last_seq, reply=comment.parent_id is not None,
    )  # fmt: skip
