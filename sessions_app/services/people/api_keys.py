"""API keys of a workspace: created, revoked, and found by the secret that a request brings."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from sessions_app.models import Agent, ApiKey, Role, Workspace
from sessions_app.prepared import Statement, fetch

from .. import actors, audit

MOST_DAYS = 3650
"""Of a key that expires: ten years. One that should work longer is made without an expiry."""


def _sha256(secret: str) -> str:
    # A plain SHA-256 is enough: the secret has 256 random bits, so there is nothing to guess, and each request pays it.
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def create_api_key(
    workspace: Workspace,
    name: str,
    role: Role,
    *,
    by: audit.Actor,
    agent: Agent | None = None,
    expires_in: timedelta | None = None,
) -> tuple[ApiKey, str]:
    """A new key and its secret, which cannot be read again.

    With an ``agent`` it sees the sessions and approvals of that one alone. Without ``expires_in`` it works until it
    is revoked.
    """
    # The prefix stays readable in the list, so that a key in somebody's script can be told from the others.
    secret = f"cs_{secrets.token_urlsafe(32)}"
    key = ApiKey.objects.create(
        workspace=workspace,
        name=name,
        role=role,
        agent=agent,
        made_by_id=actors.user_id_of(by),
        expires_at=timezone.now() + expires_in if expires_in else None,
        prefix=secret[:10],
        sha256=_sha256(secret),
    )
    limits = {
        "agent": agent.name if agent else None,
        "expires_at": key.expires_at.isoformat() if key.expires_at else None,
    }
    audit.record(workspace.id, by, "api_key.created", subject=("api_key", key.id), name=name, role=role, **limits)
    return key, secret


@transaction.atomic
def revoke_api_key(key: ApiKey, *, by: audit.Actor) -> None:
    if ApiKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        audit.record(key.workspace_id, by, "api_key.revoked", subject=("api_key", key.id), name=key.name)


FIELDS = tuple(field.attname for field in ApiKey._meta.concrete_fields)
OF_WORKSPACE = tuple(field.attname for field in Workspace._meta.concrete_fields)
# Each request of a program begins with it: by Django's query it took 1.7 ms of CPU, most of it in writing the SQL.
FIND = Statement(f"""
SELECT {", ".join(f"k.{name}" for name in FIELDS)}, {", ".join(f"w.{name}" for name in OF_WORKSPACE)}
FROM sessions_app_apikey k JOIN sessions_app_workspace w ON w.id = k.workspace_id
WHERE k.sha256 = %s AND k.revoked_at IS NULL
""")


def _key_of(sha256: str) -> ApiKey | None:
    """The live key, with its workspace. Its agent, which few keys have, is another query."""
    for row in fetch(FIND, [sha256]):
        key = ApiKey.from_db(connection.alias, FIELDS, row[: len(FIELDS)])
        key.workspace = _workspace_of(row[len(FIELDS) :])
        return key
    return None


def _workspace_of(row: Sequence[Any]) -> Workspace:
    """From a row that no query of Django's read: JSON comes as text."""
    at = OF_WORKSPACE.index("retention")
    return Workspace.from_db(connection.alias, OF_WORKSPACE, [*row[:at], json.loads(row[at]), *row[at + 1 :]])


class Expired(Exception):
    """The key's time is over; the message says since when."""


def find_api_key(secret: str) -> ApiKey | None:
    """The live key with this secret; its ``last_used_at`` is kept to the minute. Raises ``Expired``."""
    key, now = _key_of(_sha256(secret)), timezone.now()
    if key and key.expires_at and key.expires_at <= now:
        raise Expired(f"this API key expired on {key.expires_at:%Y-%m-%d at %H:%M} UTC; ask an admin for another")
    # At most one UPDATE a minute and key: an agent may send many requests a second.
    if key and (key.last_used_at is None or now - key.last_used_at > timedelta(minutes=1)):
        ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    return key
