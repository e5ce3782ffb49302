"""A share link is made: its secret, and its page, which is an export that is kept for as long as the link works.

The page is written once, when the link is made, and read from its file ever after: a reader costs the desk a file, not
50,000 rows, and what happens in the session later cannot come into it.
"""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta
from typing import cast

from django.db import transaction
from django.utils import timezone

from sessions_app.models import Session
from sessions_app.services import audit
from vcon_app.models import Export, Redaction, ShareLink
from vcon_app.queries import share_links as queries

from ..redaction.redaction_rules import Rule, checked_rules
from ..shares import shared_page
from ..shares.share_links import sha256
from . import export_jobs, redactions

SHORTEST_HOURS, LONGEST_HOURS = 1, 30 * 24


class CannotShare(ValueError):
    """This cannot be shared; the message says why and what to do. ``parameter`` is what is wrong, if one thing is."""

    def __init__(self, message: str, parameter: str = "") -> None:
        super().__init__(message)
        self.parameter = parameter


def make(
    session: Session, *, hours: int, by: audit.Actor, redaction: Redaction | None = None,
    rules: list[Rule] | None = None, without_cost: bool = False, handing_on_confirmed: bool = False,
) -> tuple[ShareLink, str]:  # fmt: skip
    """A new link to a session as it is now, and its secret, which nobody can be told again.

    Of a session that grew since ``redaction`` was made, what came later is not shown: nobody has looked at it. Raises
    ``CannotShare``, ``BadRule``.

    ``without_cost``: neither money nor tokens are on the page.
    """
    if not queries.is_on(session.workspace_id):
        raise CannotShare("share links are off in this workspace; an admin turns them on in Settings")
    if not SHORTEST_HOURS <= hours <= LONGEST_HOURS:
        raise CannotShare(f"a link works for {SHORTEST_HOURS} to {LONGEST_HOURS} hours, not {hours}", "hours")
    if session.last_seq == 0:
        raise CannotShare("this session has no events yet: there is nothing to show")
    kind, chosen = _what_is_left_out(session, redaction, rules or [])
    now = timezone.now()
    as_of, last_seq = _reach_of(redaction) if redaction else (now, session.last_seq)
    secret = secrets.token_urlsafe(32)
    with transaction.atomic():
        link = ShareLink.objects.create(
            workspace_id=session.workspace_id, session=session, sha256=sha256(secret), last_seq=last_seq, as_of=as_of,
            redaction=kind, rules=chosen, without_cost=without_cost, expires_at=now + timedelta(hours=hours),
            actor_kind=by.kind, actor_id=by.id, actor_name=by.name,
        )  # fmt: skip
        shared_page.record_making(link, by, confirmed=handing_on_confirmed)
        export_jobs.start_export(session, shared_page.FORMAT, by=by, share_link=str(link.pk))
    return ShareLink.objects.select_related("export").get(pk=link.pk), secret


def _what_is_left_out(session: Session, redaction: Redaction | None, rules: list[Rule]) -> tuple[str, list[Rule]]:
    """What kind of redaction it is, of one that was made here the kinds of parts; and its rules."""
    if redaction is None:
        return ", ".join(rule["what"] for rule in rules), checked_rules(session, rules)
    if rules:
        raise CannotShare("give a redaction or what is to be left out, not both", "redaction")
    state = redactions.state_of(redaction)
    if state != "ready":
        raise CannotShare(f"this redaction is {state}; one that is ready can be shared", "redaction")
    return redaction.type, redaction.rules


def _reach_of(redaction: Redaction) -> tuple[datetime, int]:
    """When a redaction was made, and the last event that it is about."""
    export = cast(Export, redaction.export)
    return export.created_at, export.identity["last_seq"]
