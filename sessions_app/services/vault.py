"""Secrets of a workspace: put in, replaced and thrown away by name; read by nobody but the request that needs one."""

from __future__ import annotations

import re
from urllib.parse import urlsplit
from uuid import UUID

from django.db import transaction

from sessions_app.models import Secret

from . import audit

MAX_VALUE = 10_000
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
def keep(workspace_id: UUID, name: str, value: str, origin: str, *, by: audit.Actor) -> Secret:
    """Keep a secret, in place of one of the same name. Raises ``Refused``."""
    if not _NAME.fullmatch(name):
        raise Refused(f"{name!r:.120} is no name for a secret; use up to 100 letters, digits, dots, dashes and _")
    if not value or len(value) > MAX_VALUE or not value.isascii() or not value.isprintable():
        raise Refused(f"a secret is one line of 1 to {MAX_VALUE:,} printable ASCII characters, as a header may hold")
    fields = {"value": value, "origin": origin_of(origin), "changed_by": by.name}
    secret, made = Secret.objects.update_or_create(workspace_id=workspace_id, name=name, defaults=fields)
    audit.record(
        workspace_id, by, "secret.kept" if made else "secret.replaced", subject=("secret", secret.id),
        name=name, origin=secret.origin,
    )  # fmt: skip
    return secret


@transaction.atomic
def forget(workspace_id: UUID, name: str, *, by: audit.Actor) -> bool:
    """Throw a secret away. False when there is none of this name."""
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
        raise Refused(f'there is no secret "{name}" in this workspace; an admin can keep one with `manage.py secret`')
    if secret.origin != origin_of(url):
        raise Refused(f'the secret "{name}" is for {secret.origin} and is not sent to {origin_of(url)}')
    return secret.value
