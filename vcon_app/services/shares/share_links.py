"""How share links end and open: the switch of the workspace, withdrawal, acceptance of what was found, and the door."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import BinaryIO

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import Workspace
from sessions_app.services import audit
from vcon_app.models import ShareLink, Sharing
from vcon_app.queries import share_links as queries

from ..documents import storage

TOLD_EVERY = timedelta(minutes=10)
"""Openings are counted one by one; the audit log is told of the first, and then of their number at most so often:
whoever has a link could fill it otherwise."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A link that opens nothing any more. ``at``: when it ended; None where it was not ended by itself, but the
    workspace has links off, or whoever made it may not share any more."""

    has_expired: bool
    at: datetime | None


class NotHeld(Exception):
    """There is nothing to accept; the message says why."""


def sha256(secret: str) -> str:
    """What is stored of a link's secret, in hex."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


@transaction.atomic
def switch(workspace: Workspace, on: bool, *, by: audit.Actor) -> None:
    """Turn links of a workspace on or off; off ends all that there are, for good."""
    row, _ = Sharing.objects.select_for_update().get_or_create(workspace=workspace)
    if row.is_on == on:
        return
    row.is_on, row.changed_by = on, by.name
    row.save()
    action = "workspace.sharing_on" if on else "workspace.sharing_off"
    audit.record(workspace.pk, by, action, subject=("workspace", workspace.pk))
    if not on:
        for link in queries.in_force(workspace.pk).select_for_update().order_by("pk"):
            _end(link, by)


@transaction.atomic
def withdraw(link: ShareLink, *, by: audit.Actor) -> None:
    """End a link at once, for good; a second time changes nothing."""
    found = ShareLink.objects.select_for_update().get(pk=link.pk)
    if found.withdrawn_at is None:
        _end(found, by)


def _end(link: ShareLink, by: audit.Actor) -> None:
    link.withdrawn_at, link.withdrawn_by = timezone.now(), by.name
    link.save(update_fields=["withdrawn_at", "withdrawn_by"])
    audit.record(
        link.workspace_id, by, "session.share_withdrawn", subject=("session", link.session_id),
        share_link=str(link.pk), opened=link.opened,
    )  # fmt: skip
    if link.export_id:
        # Robust: what stays of it is served to nobody, and goes with the files of the day.
        transaction.on_commit(partial(storage.of_exports().remove, str(link.export_id)), robust=True)


@transaction.atomic
def accept(link: ShareLink, *, by: audit.Actor) -> None:
    """Let a held link open although words that were left out still stand on its page. Raises ``NotHeld``."""
    found = ShareLink.objects.select_for_update(of=["self"]).select_related("export").get(pk=link.pk)
    state = queries.state_of(found)
    if state != "held":
        raise NotHeld(f"this link is {state}: there is nothing to accept")
    found.accepted_by = by.name or by.kind
    found.save(update_fields=["accepted_by"])
    audit.record(
        found.workspace_id, by, "session.share_accepted", subject=("session", found.session_id),
        share_link=str(found.pk), still_there=found.leak_count, unchecked=found.unchecked,
    )  # fmt: skip


def open_page(secret: str) -> tuple[BinaryIO, int] | None:
    """The file that a secret opens, and its size; None for every other secret, whatever is wrong with it.

    The opening is counted. Raises ``storage.Unavailable``.
    """
    link = ShareLink.objects.select_related("export").filter(sha256=sha256(secret)).first()
    if link is None or link.export is None or queries.state_of(link) != queries.OPEN:
        return None
    try:
        file = storage.of_exports().open(str(link.export_id))
    except storage.Missing:
        return None
    _count(link)
    return file, link.export.size or 0


def ended(secret: str) -> Ended | None:
    """How the link of a secret ended; None for a secret of none, and for a link that has not ended.

    It tells nobody anything who did not have the link: a secret has 256 random bits.
    """
    link = ShareLink.objects.select_related("export").filter(sha256=sha256(secret)).first()
    state = queries.state_of(link) if link else ""
    if link is None or state not in ("withdrawn", "expired", "off", "orphaned"):
        return None
    return Ended(state == "expired", link.expires_at if state == "expired" else link.withdrawn_at)


@transaction.atomic
def _count(link: ShareLink) -> None:
    now = timezone.now()
    row = ShareLink.objects.filter(pk=link.pk)
    row.update(opened=F("opened") + 1, last_opened_at=now)
    if _is_due(link, now) and row.filter(told_at=link.told_at).update(told_at=now):
        who = audit.Actor("share_link", str(link.pk), "somebody with a share link")
        opened = row.values_list("opened", flat=True).get()
        audit.record(
            link.workspace_id, who, "session.share_opened", subject=("session", link.session_id),
            share_link=str(link.pk), opened=opened,
        )  # fmt: skip


def _is_due(link: ShareLink, now: datetime) -> bool:
    return link.told_at is None or now - link.told_at >= TOLD_EVERY
