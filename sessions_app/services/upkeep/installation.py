"""What a host has to have in common with the others: ``SECRET_KEY`` here, the storage in ``vcon_app``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Model

from sessions_app import encryption
from sessions_app.models import Installation, OutgoingWebhook, Secret, SlackInstallation, WebhookEndpoint

from .. import audit
from ..workspaces import default_workspace

ENCRYPTED: tuple[tuple[type[Model], str], ...] = (
    (Secret, "value"),
    (SlackInstallation, "bot_token"),
    (SlackInstallation, "signing_secret"),
    (WebhookEndpoint, "secret"),
    (OutgoingWebhook, "secret"),
)
MOST = 100
"""Stored secrets that are tried of each kind."""
ANOTHER_KEY = (
    "SECRET_KEY is not the one of this installation, so nobody stays signed in and stored secrets cannot be read"
)


def row() -> Installation:
    """The installation's one row, made when there is none."""
    return Installation.objects.get_or_create(pk=1)[0]


@contextmanager
def locked() -> Iterator[None]:
    """A transaction in which nobody else marks the installation."""
    row()
    with transaction.atomic():
        Installation.objects.select_for_update().get(pk=1)
        yield


def is_marked() -> bool:
    """Whether a host has marked its key and its storage as the installation's."""
    found = Installation.objects.filter(pk=1).first()
    return bool(found and found.secret_key_mark and found.storage_mark)


def secret_key_fault() -> str | None:
    """Whether this host has another ``SECRET_KEY`` than the installation, or one that stored secrets are not of."""
    if has_another_secret_key():
        return ANOTHER_KEY
    readable, unreadable = _stored_secrets()
    if unreadable and not readable:
        return ANOTHER_KEY
    if unreadable:
        return f"{unreadable} of {readable + unreadable} stored secrets were encrypted under another SECRET_KEY"
    return None


def has_another_secret_key() -> bool:
    """Whether this host has another ``SECRET_KEY`` than the installation."""
    found = Installation.objects.filter(pk=1).first()
    return bool(found and found.secret_key_mark and found.secret_key_mark != encryption.mark())


def keep_secret_key_mark() -> None:
    """Make the key of this host the installation's."""
    Installation.objects.filter(pk=row().pk).update(secret_key_mark=encryption.mark())


@transaction.atomic
def record_accepted(changed: list[str]) -> None:
    """Record that a key or a storage was made the installation's by hand."""
    audit.record(default_workspace().id, audit.COMMAND, "installation.accepted", changed=changed)


def _stored_secrets() -> tuple[int, int]:
    """How many stored secrets this key decrypts, and how many not. As text: the fields would raise at the first."""
    readable = unreadable = 0
    for model, name in ENCRYPTED:
        table, column = map(connection.ops.quote_name, (model._meta.db_table, name))
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT {column} FROM {table} WHERE {column} <> '' LIMIT %s", [MOST])
            for (token,) in cursor.fetchall():
                if encryption.is_readable(token):
                    readable += 1
                else:
                    unreadable += 1
    return readable, unreadable
