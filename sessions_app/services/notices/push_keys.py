"""The key that pushes are signed with (VAPID): one for the installation, made when it is first needed.

It is in the database, encrypted under ``SECRET_KEY``, and no file as the key that exports are signed with: browsers are
bound to it when they subscribe, so each host has to sign with the same one.
"""

from __future__ import annotations

from django.conf import settings
from django.db import transaction

from sessions_app.encryption import Unreadable
from sessions_app.models import PushKey, PushSubscription

from ..upkeep import installation
from . import push_encryption


@transaction.atomic
def current() -> PushKey:
    """The installation's key; a new one where there is none, or where it was encrypted under a ``SECRET_KEY`` that the
    operator replaced. Browsers of the one before are forgotten: nothing that another key signs would reach them.

    Raises ``Unreadable`` on a host whose ``SECRET_KEY`` is not the installation's.
    """
    try:
        found = PushKey.objects.first()
    except Unreadable:
        if installation.has_another_secret_key():
            raise
        PushKey.objects.all().delete()
        found = None
    if found:
        return found
    private, public = push_encryption.new_key()
    made, is_new = PushKey.objects.get_or_create(pk=1, defaults={"private": private, "public": public})
    if is_new:
        PushSubscription.objects.exclude(public_key=made.public).delete()
    return made


def contact() -> str:
    """Address by which push services reach the operator (RFC 8292, section 2.1): the desk's, else that of its mails."""
    if settings.PUBLIC_URL and settings.PUBLIC_URL.startswith("https://"):
        return str(settings.PUBLIC_URL).rstrip("/")
    return f"mailto:{settings.DEFAULT_FROM_EMAIL}"
