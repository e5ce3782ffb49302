"""Members of a workspace, how they come in, and their passwords."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from sessions_app.compiled import Compiled
from sessions_app.models import Invitation, Member, Role, SignInLink, Workspace

from .. import actors, audit
from ..policies import grants
from ..workspaces import default_workspace
from . import invitations, mail, sign_in_links
from .password_checks import canonical_name, hashed
from .refused import Refused


@dataclass(frozen=True, slots=True)
class MadeLink:
    """A link that was made: ``path`` to be shown to the admin, or the address that it was sent to."""

    path: str
    sent_to: str = ""


Absolute = Callable[[str], str]
"""Makes a path the address that people open."""


def _as_path(path: str) -> str:
    return path


class HasAccount(Refused):
    """The person has an account, so they are invited (``invitations``); ``user`` is the account."""

    def __init__(self, user: User) -> None:
        super().__init__(f"{user.get_username()} has an account here already and has to be invited")
        self.user = user


def add_member(
    workspace: Workspace, email: str, name: str, role: Role, *, by: audit.Actor, absolute: Absolute = _as_path,
    numbers_only: bool = False,
) -> tuple[Member, MadeLink]:  # fmt: skip
    """A member with a new account, and the link by which they sign in first. Raises ``Refused``, ``HasAccount``.

    Of somebody who has an account nothing is changed: whoever made it may be another workspace's admin and not the
    person, so this workspace opens only to their own yes.
    """
    email = canonical_name(email)
    with transaction.atomic():
        user, new = get_user_model().objects.get_or_create(
            username=email, defaults={"email": email, "first_name": name}
        )
        if not new:
            user = get_user_model().objects.select_for_update().get(pk=user.pk)
        if before := Member.objects.filter(workspace=workspace, user=user).first():
            raise Refused(f"{email} is a member of this workspace already, as {before.role}")
        if user.has_usable_password() and not new or Member.objects.filter(user=user).exists():
            raise HasAccount(user)
        # Until the sign-in link is used and a password chosen, there is nothing to guess.
        user.set_unusable_password()
        user.save(update_fields=["password"])
        member = Member.objects.create(workspace=workspace, user=user, role=role, numbers_only=numbers_only)
        audit.record(
            workspace.id, by, "member.added", subject=("member", member.id), email=email, role=role,
            numbers_only=numbers_only,
        )  # fmt: skip
        link, path = _make_link(member, by)
    return member, _hand_over(member, link, path, absolute)


def make_sign_in_link(member: Member, *, by: audit.Actor, absolute: Absolute = _as_path) -> MadeLink:
    """Another link for a member: the first sign-in, or to choose another password. Raises ``Refused``.

    It goes to their address where e-mail can be sent; else the admin is shown it, and what is done by way of it says
    so. The password until now works until the link is used.
    """
    with transaction.atomic():
        get_user_model().objects.select_for_update().get(pk=member.user_id)
        if Member.objects.filter(user=member.user_id).exclude(pk=member.pk).exists():
            raise Refused(
                f"{member} belongs to another workspace too, so a link from here would open that one as well; whoever "
                "runs this installation can make one: script/manage member link E-MAIL"
            )
        link, path = _make_link(member, by)
        audit.record(
            member.workspace_id, by, "member.link_made", subject=("member", member.id), name=str(member),
            purpose=link.purpose, emailed=link.emailed,
        )  # fmt: skip
    return _hand_over(member, link, path, absolute)


def _make_link(member: Member, by: audit.Actor) -> tuple[SignInLink, str]:
    purposes = SignInLink.Purpose
    purpose = purposes.RESET if member.user.has_usable_password() else purposes.FIRST
    own = actors.user_id_of(by) == member.user_id
    return sign_in_links.make(
        member.user, purpose, member.workspace, "" if own else by.name, emailed=mail.reaches(member.user)
    )


def _hand_over(member: Member, link: SignInLink, path: str, absolute: Absolute) -> MadeLink:
    if not link.emailed:
        return MadeLink(path)
    what = "choose another password" if link.purpose == SignInLink.Purpose.RESET else "sign in for the first time"
    try:
        mail.send(
            member.user,
            f"Countersign: {what}",
            f"{link.made_by or 'You'} made this link for you to {what} in {member.workspace}:\n\n{absolute(path)}\n\n"
            "It works once, within 24 hours. If you did not expect it, do not open it, and tell an admin.\n",
        )
    except Refused:
        sign_in_links.end_links(member.user)  # the admin may not see it, and nobody else has it
        raise
    return MadeLink("", sent_to=member.user.email)


def invite(
    workspace: Workspace, user: User, role: Role, *, by: audit.Actor, absolute: Absolute = _as_path,
    numbers_only: bool = False,
) -> tuple[Invitation, MadeLink]:  # fmt: skip
    """Invite somebody who has an account, by e-mail where it can be sent. Raises ``Refused``."""
    emailed = mail.reaches(user)
    invitation, path = invitations.invite(workspace, user, role, by=by, emailed=emailed, numbers_only=numbers_only)
    if not emailed:
        return invitation, MadeLink(path)
    try:
        mail.send(
            user,
            f"Countersign: {by.name} invites you to {workspace}",
            f"{by.name} invites you to the workspace {workspace}, as {role}. To accept or to decline, sign in and open"
            f"\n\n{absolute(path)}\n\nwithin a week.\n",
        )
    except Refused:
        invitations.withdraw(invitation, by=by)
        raise
    return invitation, MadeLink("", sent_to=user.email)


def set_password(user: User, name: str, email: str, password: str, *, by_operators_link: bool = False) -> None:
    """Set the name, e-mail and password of a user; they sign in with the e-mail. Raises ``Refused`` and ``Busy``.

    Whoever came by an admin's link may be the admin, so what is known of the password's origin stays; an operator's
    link ends it.
    """
    _set_password(user, name, canonical_name(email), hashed(password), by_operators_link)


@transaction.atomic
def _set_password(user: User, name: str, email: str, encoded: str, by_operators_link: bool) -> None:
    if get_user_model().objects.filter(username=email).exclude(pk=user.pk).exists():
        raise Refused(f"{email} belongs to another account; use another e-mail")
    user.username = user.email = email
    user.first_name, user.last_name = name, ""
    user.password = encoded
    user.save()
    if by_operators_link:
        sign_in_links.note_origin(user, "", emailed=False)


@transaction.atomic
def change_role(member: Member, role: Role, *, by: audit.Actor, numbers_only: bool = False) -> None:
    """Change the role of a member; ``numbers_only``: a viewer who sees no contents. Raises ``Refused`` when the
    workspace would be left without an admin.
    """
    if member.role == Role.ADMIN and role != Role.ADMIN:
        _keep_an_admin(member)
    member.role, member.numbers_only = role, numbers_only
    member.save(update_fields=["role", "numbers_only"])
    if not role.covers(Role.REVIEWER):
        grants.end_of_member(member, by=by)
    audit.record(
        member.workspace_id, by, "member.role_changed", subject=("member", member.id), role=role,
        numbers_only=numbers_only,
    )  # fmt: skip


@transaction.atomic
def remove_member(member: Member, *, by: audit.Actor) -> None:
    """Remove a member. Raises ``Refused`` when the workspace would be left without an admin."""
    if member.role == Role.ADMIN:
        _keep_an_admin(member)
    audit.record(member.workspace_id, by, "member.removed", subject=("member", member.id), name=str(member))
    sign_in_links.end_links(member.user)
    grants.end_of_member(member, by=by)
    member.delete()


def _keep_an_admin(member: Member) -> None:
    # Locked: else two admins who remove each other at once would both find another one left.
    admins = Member.objects.select_for_update().filter(workspace=member.workspace_id, role=Role.ADMIN)
    if not any(other.pk != member.pk for other in admins):
        raise Refused(f"{member} is the only admin of this workspace; make another member admin first")


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
    return operators_link(member.user)


def operators_link(user: User) -> str:
    """Path of a link made by whoever runs the installation. It opens every workspace of its person, and a password
    chosen by way of it is theirs alone.
    """
    return sign_in_links.make(user)[1]


def membership(user: User, workspace_id: UUID | None = None) -> Member | None:
    """The person's membership in the given workspace, or in their first one."""
    member = _CHOSEN.first(user.pk, workspace_id) if workspace_id else _FIRST.first(user.pk)
    if member is not None:
        member.user = user
    return member


def _memberships(user_id: int) -> QuerySet[Member]:
    return Member.objects.select_related("workspace").filter(user=user_id).order_by("created_at")


_FIRST = Compiled[Member](lambda user_id: _memberships(user_id)[:1])
_CHOSEN = Compiled[Member](lambda user_id, workspace_id: _memberships(user_id).filter(workspace_id=workspace_id)[:1])


def choose_lens(member: Member, lens: str) -> None:
    """How sessions open for a member from now on, where an address says nothing else."""
    Member.objects.filter(pk=member.pk).update(lens=lens)
