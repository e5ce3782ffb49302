"""API keys of a workspace: created, revoked, and found by the secret that a request brings."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from sessions_app.models import ApiKey, Role, Workspace

from . import audit


def _sha256(secret: str) -> str:
    # A plain SHA-256 is enough: the secret has 256 random bits, so there is nothing to guess, and each request pays it.
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def create_api_key(workspace: Workspace, name: str, role: Role, *, by: audit.Actor) -> tuple[ApiKey, str]:
    """A new key and its secret, which cannot be read again."""
    # The prefix stays readable in the list, so that a key in somebody's script can be told from the others.
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
    # At most one UPDATE a minute and key: an agent may send many requests a second.
    if key and (key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1)):
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key
