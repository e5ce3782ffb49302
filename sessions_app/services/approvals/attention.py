"""What people look at before they decide: time on a card, and secrets that they had shown."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from sessions_app.models import Approval, CardView, Member

from .. import audit

MOST_AT_ONCE = 60.0
"""Seconds that a browser may report at once."""


@transaction.atomic
def note_view(approval: Approval, member: Member, seconds: float) -> None:
    """Add time with the card in front, as the browser tells it: never more than has passed since it told last."""
    now = timezone.now()
    seen, is_new = CardView.objects.select_for_update().get_or_create(
        approval=approval, member=member, defaults={"first_at": now, "last_at": now}
    )
    passed = MOST_AT_ONCE if is_new else (now - seen.last_at) / timedelta(seconds=1) + 1
    more = max(0.0, min(seconds, MOST_AT_ONCE, passed))
    CardView.objects.filter(pk=seen.pk).update(last_at=now, seconds=F("seconds") + more)


@transaction.atomic
def show_secrets(approval: Approval, member: Member, *, by: audit.Actor) -> None:
    """Write down that somebody had the secrets of a call shown, before they are."""
    now = timezone.now()
    CardView.objects.update_or_create(
        approval=approval, member=member, defaults={"secrets_shown_at": now},
        create_defaults={"first_at": now, "last_at": now, "secrets_shown_at": now},
    )  # fmt: skip
    audit.record(
        approval.workspace_id, by, "approval.secrets_shown", subject=("approval", approval.pk),
        session=str(approval.session_id), tool=approval.tool_name,
    )  # fmt: skip
