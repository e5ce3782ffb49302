"""Invitations: somebody who has an account becomes a member only by their own yes.

The yes takes two things: the account, and the link that this workspace made. Neither alone is enough. The account may
be in the hands of another workspace's admin who made it and never was its person; the link passes through ours.
"""

from __future__ import annotations

import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Invitation, Member, PasswordOrigin, Role, Workspace

from .. import audit
from . import sign_in_links
from .password_checks import hashed
from .refused import Refused

LIFETIME = timedelta(days=7)
Answer = Invitation.Answer


@transaction.atomic
def invite(
    workspace: Workspace, user: User, role: Role, *, by: audit.Actor, emailed: bool = False, numbers_only: bool = False
) -> tuple[Invitation, str]:
    """An invitation and the path of its page; an earlier one to the same person ends. Raises ``Refused``."""
    if Member.objects.filter(workspace=workspace, user=user).exists():
        raise Refused(f"{user.get_username()} is a member of this workspace already")
    waiting = Invitation.objects.filter(workspace=workspace, user=user, answer=Answer.WAITS)
    waiting.update(answer=Answer.WITHDRAWN, answered_at=timezone.now())
    token = secrets.token_urlsafe(32)
    invitation = Invitation.objects.create(
        workspace=workspace, user=user, role=role, sha256=sign_in_links.sha256(token), invited_by=by.name,
        emailed=emailed, numbers_only=numbers_only, expires_at=timezone.now() + LIFETIME,
    )  # fmt: skip
    email = user.get_username()
    audit.record(
        workspace.id, by, "member.invited", subject=("invitation", invitation.pk), email=email, role=role,
        numbers_only=numbers_only,
    )  # fmt: skip
    return invitation, f"/invitations/{token}/"


def find(token: str) -> Invitation | None:
    """The invitation, while it waits."""
    found = Invitation.objects.select_related("workspace", "user").filter(sha256=sign_in_links.sha256(token))
    return found.filter(answer=Answer.WAITS, expires_at__gt=timezone.now()).first()


def needs_password(user: User) -> bool:
    """Whether a new password has to be chosen with the yes: somebody else may know the one until now."""
    return not user.has_usable_password() or PasswordOrigin.objects.filter(user=user).exists()


def accept(token: str, user: User, password: str = "") -> Member:
    """The yes. Every link to the account that was made before ends. Raises ``Refused`` and ``Busy``.

    A new password ends every other sign-in of the account: the caller keeps the present one.
    """
    return _accept(token, user, hashed(password) if password else "")


@transaction.atomic
def _accept(token: str, user: User, encoded: str) -> Member:
    locked = get_user_model().objects.select_for_update().get(pk=user.pk)
    invitation = _waiting_for(token, locked)
    if needs_password(locked):
        if not encoded:
            raise Refused("choose a new password: the one until now was chosen by way of a link that others had")
        user.password = encoded
        user.save(update_fields=["password"])
        sign_in_links.note_origin(user, invitation.invited_by, emailed=invitation.emailed)
    sign_in_links.end_links(user)
    may = {"role": invitation.role, "numbers_only": invitation.numbers_only}
    member, created = Member.objects.get_or_create(workspace=invitation.workspace, user=user, defaults=may)
    if not created:
        raise Refused(f"you are a member of {invitation.workspace} already")
    _answered(invitation, Answer.ACCEPTED)
    audit.record(
        invitation.workspace_id, audit.Actor("member", str(member.pk), str(member)), "member.added",
        subject=("member", member.pk), email=user.get_username(), role=invitation.role,
        numbers_only=invitation.numbers_only, invited_by=invitation.invited_by,
    )  # fmt: skip
    return member


@transaction.atomic
def decline(token: str, user: User) -> Invitation:
    """The no. Raises ``Refused``."""
    invitation = _waiting_for(token, user)
    _answered(invitation, Answer.DECLINED)
    audit.record(
        invitation.workspace_id, audit.Actor("invited", "", user.get_username()), "member.declined",
        subject=("invitation", invitation.pk), role=invitation.role,
    )  # fmt: skip
    return invitation


@transaction.atomic
def withdraw(invitation: Invitation, *, by: audit.Actor) -> None:
    """Take an invitation back; one that was answered stays as it is."""
    waiting = Invitation.objects.filter(pk=invitation.pk, answer=Answer.WAITS)
    if waiting.update(answer=Answer.WITHDRAWN, answered_at=timezone.now()):
        subject = ("invitation", invitation.pk)
        audit.record(invitation.workspace_id, by, "member.invitation_withdrawn", subject=subject, name=str(invitation))


def _waiting_for(token: str, user: User) -> Invitation:
    invitation = find(token)
    if invitation is None:
        raise Refused("this invitation does not wait any more; ask for another one")
    if invitation.user_id != user.pk:
        raise Refused(f"this invitation is for {invitation.user.get_username()}; sign in as them")
    return invitation


def _answered(invitation: Invitation, answer: str) -> None:
    waiting = Invitation.objects.filter(pk=invitation.pk, answer=Answer.WAITS)
    if waiting.update(answer=answer, answered_at=timezone.now()) != 1:
        raise Refused("this invitation was answered meanwhile")
