"""Workspaces, members, API keys and sign-in links. Secrets are random, shown once and kept as SHA-256."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import ApiKey, Member, Role, SignInLink, Workspace

from . import audit

LINK_LIFETIME = timedelta(hours=24)
DEFAULT = "default"


class Refused(ValueError):
    """What was asked cannot be done; the message says why and what to do."""


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def default_workspace() -> Workspace:
    """The workspace that is there from the start."""
    return Workspace.objects.get_or_create(slug=DEFAULT, defaults={"name": "Default"})[0]


@transaction.atomic
def create_workspace(slug: str, name: str = "", *, by: audit.Actor = audit.COMMAND) -> Workspace:
    """Another workspace; existing admins of the default one become its admins. Raises ``Refused``."""
    if Workspace.objects.filter(slug=slug).exists():
        raise Refused(f'there is a workspace "{slug}" already; choose another slug')
    workspace = Workspace.objects.create(slug=slug, name=name or slug)
    for member in Member.objects.filter(workspace__slug=DEFAULT, role=Role.ADMIN):
        Member.objects.create(workspace=workspace, user_id=member.user_id, role=Role.ADMIN)
    audit.record(workspace.id, by, "workspace.created", subject=("workspace", workspace.id), slug=slug)
    return workspace


@transaction.atomic
def create_api_key(workspace: Workspace, name: str, role: Role, *, by: audit.Actor) -> tuple[ApiKey, str]:
    """A new key and its secret, which cannot be read again."""
    secret = f"cs_{secrets.token_urlsafe(32)}"
    key = ApiKey.objects.create(workspace=workspace, name=name, role=role, prefix=secret[:10], sha256=_sha256(secret))
    audit.record(workspace.id, by, "api_key.created", subject=("api_key", key.id), name=name, role=role)
    return key, secret


@transaction.atomic
def revoke_api_key(key: ApiKey, *, by: audit.Actor) -> None:
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(key.workspace_id, by, "api_key.revoked", subject=("api_key", key.id), name=key.name)


def find_api_key(secret: str) -> ApiKey | None:
    """The live key with this secret; its ``last_used_at`` is kept to the minute."""
    key = ApiKey.objects.select_related("workspace").filter(sha256=_sha256(secret), revoked_at=None).first()
    now = timezone.now()
    if key and (key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1)):
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key


@transaction.atomic
def add_member(workspace: Workspace, email: str, name: str, role: Role, *, by: audit.Actor) -> tuple[Member, str]:
    """A member and the one-time path by which they sign in first. Raises ``Refused``.

    The path is empty for somebody who has an account already: a link would let the admin of one workspace into
    another one under that name.
    """
    email = email.strip().lower()
    user, new = get_user_model().objects.get_or_create(username=email, defaults={"email": email, "first_name": name})
    if new:
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
    """What a person chooses for themselves; the e-mail becomes the name they sign in with. Raises ``Refused``."""
    email = email.strip().lower()
    if get_user_model().objects.filter(username=email).exclude(pk=user.pk).exists():
        raise Refused(f"{email} belongs to another account; use another e-mail")
    user.username = user.email = email
    user.first_name, user.last_name = name, ""
    user.set_password(password)
    user.save()


@transaction.atomic
def rename_workspace(workspace: Workspace, name: str, *, by: audit.Actor) -> None:
    before, workspace.name = workspace.name, name
    workspace.save(update_fields=["name"])
    audit.record(workspace.id, by, "workspace.renamed", subject=("workspace", workspace.id), before=before, after=name)


@transaction.atomic
def change_role(member: Member, role: Role, *, by: audit.Actor) -> None:
    """Raises ``Refused`` when the workspace would be left without an admin."""
    if member.role == Role.ADMIN and role != Role.ADMIN:
        _keep_an_admin(member)
    member.role = role
    member.save(update_fields=["role"])
    audit.record(member.workspace_id, by, "member.role_changed", subject=("member", member.id), role=role)


@transaction.atomic
def remove_member(member: Member, *, by: audit.Actor) -> None:
    """Raises ``Refused`` when the workspace would be left without an admin."""
    if member.role == Role.ADMIN:
        _keep_an_admin(member)
    audit.record(member.workspace_id, by, "member.removed", subject=("member", member.id), name=str(member))
    member.delete()


def _keep_an_admin(member: Member) -> None:
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
