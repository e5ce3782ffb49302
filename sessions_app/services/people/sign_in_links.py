"""Sign-in links: each lets one person in once, for one purpose, into the workspace whose admin made it.

Who has a link in hands can be its person, so what is done by way of a link that an admin was shown says so: see
``PasswordOrigin``. A link of one workspace never opens another one: it is dead as soon as its person belongs elsewhere.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from sessions_app.models import Member, PasswordOrigin, SignInLink, Workspace

from .. import audit
from .password_checks import hashed

LIFETIME = timedelta(hours=24)
Purpose = SignInLink.Purpose


def sha256(secret: str) -> str:
    """What is stored of a link's secret, in hex: who reads a backup of the database cannot come in with it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def make(
    user: User, purpose: str = Purpose.OPERATOR, workspace: Workspace | None = None, made_by: str = "", *,
    emailed: bool = False,
) -> tuple[SignInLink, str]:  # fmt: skip
    """A new link and its path; the earlier ones of this person end."""
    end_links(user)
    token = secrets.token_urlsafe(32)
    link = SignInLink.objects.create(
        user=user, purpose=purpose, workspace=workspace, made_by=made_by, emailed=emailed, sha256=sha256(token),
        expires_at=timezone.now() + LIFETIME,
    )  # fmt: skip
    return link, f"/sign-in/{token}/"


def end_links(user: User) -> None:
    """End the links of a person that nobody has used. They stay as rows: a reset that was made is told."""
    now = timezone.now()
    SignInLink.objects.filter(user=user, used_at=None, expires_at__gt=now).update(expires_at=now)


def find(token: str) -> SignInLink | None:
    """The link, while it works."""
    found = SignInLink.objects.select_related("user", "workspace")
    link = found.filter(sha256=sha256(token), used_at=None, expires_at__gt=timezone.now()).first()
    return link if link and _opens_only_its_own(link) else None


@transaction.atomic
def use(token: str) -> SignInLink | None:
    """Use a link that signs in; None when it does not work. It works once even for two at once."""
    link = _use(token)
    if link is None:
        return None
    if link.purpose == Purpose.FIRST:
        note_origin(link.user, link.made_by, emailed=link.emailed)
    return link


def choose_password(token: str, password: str) -> SignInLink | None:
    """Use a link of a reset: its person has this password from now on, and every other sign-in of theirs ends.

    Raises ``Busy``; the link is not used then.
    """
    return _choose_password(token, hashed(password))


@transaction.atomic
def _choose_password(token: str, encoded: str) -> SignInLink | None:
    link = _use(token)
    if link is None or link.workspace is None:
        return None
    link.user.password = encoded
    link.user.save(update_fields=["password"])
    note_origin(link.user, link.made_by, emailed=link.emailed)
    member = Member.objects.select_related("user").get(workspace=link.workspace, user=link.user)
    audit.record(
        link.workspace.pk, audit.Actor("member", str(member.pk), str(member)), "member.password_reset",
        subject=("member", member.pk), link_made_by=link.made_by, emailed=link.emailed,
    )  # fmt: skip
    return link


def note_origin(user: User, made_by: str, *, emailed: bool) -> None:
    """Note by whose link a password came to be. A link that only its person got clears what was noted before."""
    if emailed or not made_by:
        PasswordOrigin.objects.filter(user=user).delete()
    else:
        PasswordOrigin.objects.update_or_create(user=user, defaults={"made_by": made_by, "at": timezone.now()})


@transaction.atomic
def untold_resets(user: User) -> list[SignInLink]:
    """Resets that admins made for a person who has not been told yet; from now on they have been."""
    untold = SignInLink.objects.filter(user=user, purpose=Purpose.RESET, told_at=None).order_by("created_at")
    found = list(untold.select_for_update())
    untold.update(told_at=timezone.now())
    return found


def _use(token: str) -> SignInLink | None:
    link = SignInLink.objects.filter(sha256=sha256(token)).first()
    if link is None:
        return None
    # The person is locked, and who joins another workspace locks them, too: a link is used before that, or not at all.
    get_user_model().objects.select_for_update().get(pk=link.user_id)
    found = find(token)
    if found is None or SignInLink.objects.filter(pk=found.pk, used_at=None).update(used_at=timezone.now()) != 1:
        return None
    return found


def _opens_only_its_own(link: SignInLink) -> bool:
    if link.purpose == Purpose.OPERATOR:
        return True
    if link.purpose == Purpose.FIRST and link.user.has_usable_password():
        return False
    belongs_to = set(Member.objects.filter(user=link.user_id).values_list("workspace_id", flat=True))
    return belongs_to == {link.workspace_id}
