"""Members of a workspace, their passwords, and the one-time sign-in links by which they come in first."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Member, Role, SignInLink, Workspace

from . import audit
from .workspaces import default_workspace

LINK_LIFETIME = timedelta(hours=24)


class Refused(ValueError):
    """A change to the members or to a password cannot be made; the message says why and what to do."""


def _sha256(secret: str) -> str:
    # Only this is stored, so who reads a backup of the database cannot sign in with it.
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def add_member(workspace: Workspace, email: str, name: str, role: Role, *, by: audit.Actor) -> tuple[Member, str]:
    """A member and the one-time path by which they sign in first. Raises ``Refused``.

    The path is empty for somebody who has an account already: a link would let the admin of one workspace into
    another one under that name.
    """
    email = email.strip().lower()
    user, new = get_user_model().objects.get_or_create(username=email, defaults={"email": email, "first_name": name})
    if new:
        # Until the sign-in link is used and a password chosen, there is nothing to guess.
        user.set_unusable_password()
        user.save(update_fields=["password"])
    member, created = Member.objects.get_or_create(workspace=workspace, user=user, defaults={"role": role})
    if not created:
        raise Refused(f"{email} is a member of this workspace already, as {member.role}")
    audit.record(workspace.id, by, "member.added", subject=("member", member.id), email=email, role=role)
    return member, sign_in_path(user) if new else ""


@transaction.atomic
def new_sign_in_path(member: Member, *, by: audit.Actor) -> str:
    """Another one-time path for a member who lost theirs; the earlier ones stop working. Raises ``Refused``."""
    if Member.objects.filter(user=member.user_id).exclude(pk=member.pk).exists():
        raise Refused(f"{member} belongs to another workspace too, so a link from here would open that one as well")
    SignInLink.objects.filter(user=member.user_id, used_at=None).delete()
    audit.record(member.workspace_id, by, "member.link_made", subject=("member", member.id), name=str(member))
    return sign_in_path(member.user)


@transaction.atomic
def set_password(user: User, name: str, email: str, password: str) -> None:
    """Set the name, e-mail and password of a user; they sign in with the e-mail. Raises ``Refused``."""
    email = email.strip().lower()
    if get_user_model().objects.filter(username=email).exclude(pk=user.pk).exists():
        raise Refused(f"{email} belongs to another account; use another e-mail")
    user.username = user.email = email
    user.first_name, user.last_name = name, ""
    user.set_password(password)
    user.save()


@transaction.atomic
def change_role(member: Member, role: Role, *, by: audit.Actor) -> None:
    """Change the role of a member. Raises ``Refused`` when the workspace would be left without an admin."""
    if member.role == Role.ADMIN and role != Role.ADMIN:
        _keep_an_admin(member)
    member.role = role
    member.save(update_fields=["role"])
    audit.record(member.workspace_id, by, "member.role_changed", subject=("member", member.id), role=role)


@transaction.atomic
def remove_member(member: Member, *, by: audit.Actor) -> None:
    """Remove a member. Raises ``Refused`` when the workspace would be left without an admin."""
    if member.role == Role.ADMIN:
        _keep_an_admin(member)
    audit.record(member.workspace_id, by, "member.removed", subject=("member", member.id), name=str(member))
    member.delete()


def _keep_an_admin(member: Member) -> None:
    # Locked: else two admins who remove each other at once would both find another one left.
    admins = Member.objects.select_for_update().filter(workspace=member.workspace_id, role=Role.ADMIN)
    if not any(other.pk != member.pk for other in admins):
        raise Refused(f"{member} is the only admin of this workspace; make another member admin first")


def sign_in_path(user: User) -> str:
    """A path that signs this person in once, within a day."""
    token = secrets.token_urlsafe(32)
    SignInLink.objects.create(user=user, sha256=_sha256(token), expires_at=timezone.now() + LINK_LIFETIME)
    return f"/sign-in/{token}/"


def use_sign_in_link(token: str) -> User | None:
    """The person a link signs in, if it is unused and in time; a link works once even for two at once."""
    now = timezone.now()
    links = SignInLink.objects.filter(sha256=_sha256(token), used_at=None, expires_at__gt=now)
    # UPDATE ... WHERE used_at IS NULL decides: of two requests at once one gets a row, the other none.
    if links.update(used_at=now) != 1:
        return None
    return SignInLink.objects.select_related("user").get(sha256=_sha256(token)).user


@transaction.atomic
def one_time_link_for_first_admin() -> str:
    """A sign-in path for the first admin, who is made (without a password) when there is none yet."""
    workspace = default_workspace()
    member = Member.objects.filter(workspace=workspace, role=Role.ADMIN).order_by("created_at").first()
    if member is None:
        user = get_user_model().objects.create_user(username="admin", first_name="Admin")
        user.set_unusable_password()
        user.save()
        member = Member.objects.create(workspace=workspace, user=user, role=Role.ADMIN)
        audit.record(workspace.id, audit.SYSTEM, "member.added", subject=("member", member.id), role=Role.ADMIN)
    SignInLink.objects.filter(user=member.user, used_at=None).delete()
    return sign_in_path(member.user)


def membership(user: User, workspace_id: UUID | None = None) -> Member | None:
    """The person's membership in the given workspace, or in their first one."""
    members = Member.objects.select_related("workspace", "user").filter(user=user).order_by("created_at")
    return members.filter(workspace_id=workspace_id).first() if workspace_id else members.first()
