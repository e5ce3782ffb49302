"""Secrets of a workspace: put in, replaced and thrown away by name; read by nobody but the request that needs one."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from sessions_app.models import Secret, Workspace

from . import audit
from .log.sanitise import text

MAX_VALUE = 10_000
PROVIDER_KEY = "ANTHROPIC_API_KEY"
"""The name of a workspace's own key of the Anthropic API. It wins over the one of the environment."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Refused(ValueError):
    """A name, an origin or a value that cannot be kept, or a secret that may not be used so."""


def origin_of(url: str) -> str:
    """``scheme://host[:port]`` of a URL, as it is compared. Raises ``Refused``."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as fault:
        raise Refused(f"{url!r:.200} is no URL: {fault}") from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise Refused(f"{url!r:.200} is no origin; use https://HOST or http://HOST:PORT")
    usual = {"https": 443, "http": 80}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port and port != usual else "")


@transaction.atomic
def store_secret(
    workspace_id: UUID, name: str, value: str, origin: str, *, by: audit.Actor, replace: bool = True
) -> Secret:  # fmt: skip
    """Store a secret, in place of one of the same name unless ``replace`` is False. Raises ``Refused``."""
    if not _NAME.fullmatch(name):
        raise Refused(f"{name!r:.120} is no name for a secret; use up to 100 letters, digits, dots, dashes and _")
    if not value or len(value) > MAX_VALUE or not value.isascii() or not value.isprintable():
        raise Refused(f"a secret is one line of 1 to {MAX_VALUE:,} printable ASCII characters, as a header may hold")
    fields = {"value": value, "origin": origin_of(origin), "changed_by": text(by.name)}
    if name == PROVIDER_KEY and fields["origin"] != provider_origin():
        raise Refused(f"{PROVIDER_KEY} is the key of the Anthropic API: it is sent to {provider_origin()} alone")
    if not replace and Secret.objects.filter(workspace_id=workspace_id, name=name).exists():
        raise Refused(f'there is a secret "{name}" already; replace it where it is listed')
    unread = Secret.objects.defer("value")  # it may have been encrypted under a SECRET_KEY that is gone
    secret, made = unread.update_or_create(workspace_id=workspace_id, name=name, defaults=fields)
    audit.record(
        workspace_id, by, "secret.kept" if made else "secret.replaced", subject=("secret", secret.id),
        name=name, origin=secret.origin,
    )  # fmt: skip
    return secret


@transaction.atomic
def forget(workspace_id: UUID, name: str, *, by: audit.Actor) -> bool:
    """Delete a secret. False when there is none of this name."""
    secret = Secret.objects.filter(workspace_id=workspace_id, name=name).only("id").first()
    if secret is None:
        return False
    audit.record(workspace_id, by, "secret.forgotten", subject=("secret", secret.id), name=name)
    secret.delete()
    return True


def value_for(workspace_id: UUID, name: str, url: str) -> str:
    """The value, for a request to this URL. Raises ``Refused``, and ``secrets.Unreadable`` after a lost key."""
    secret = Secret.objects.filter(workspace_id=workspace_id, name=name).first()
    if secret is None:
        raise Refused(f'there is no secret "{name}" in this workspace; an admin can add one under Settings, Secrets')
    if secret.origin != origin_of(url):
        raise Refused(f'the secret "{name}" is for {secret.origin} and is not sent to {origin_of(url)}')
    return secret.value


# --- the key of the Anthropic API -------------------------------------------------------------------------------


def provider_origin() -> str:
    """Where requests to the Anthropic API go, and so the only place that its key is sent to."""
    return origin_of(settings.ANTHROPIC_BASE_URL or "https://api.anthropic.com")


def provider_key(workspace_id: UUID) -> str | None:
    """The workspace's own key; without one that of the environment, or None. Raises like ``value_for``.

    An own key that cannot be used is never replaced by the other: that is somebody else's money.
    """
    if Secret.objects.filter(workspace_id=workspace_id, name=PROVIDER_KEY).exists():
        return value_for(workspace_id, PROVIDER_KEY, provider_origin())
    return settings.ANTHROPIC_API_KEY


def workspaces_with_provider_key() -> QuerySet[Workspace]:
    """Ids of the workspaces with an Anthropic API key of their own."""
    if settings.ANTHROPIC_API_KEY:
        return Workspace.objects.all()
    return Workspace.objects.filter(secrets__name=PROVIDER_KEY)
