"""Callers that may still read: API keys that work, members who belong to their workspace."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Q
from django.utils import timezone

from sessions_app.models import ApiKey, Member

KINDS = ("api_key", "member")


def gone(callers: Collection[str]) -> set[str]:
    """Those of ``api_key:ID`` and ``member:ID`` that were let in and would not be again: two queries for any number."""
    ids = {kind: [caller.partition(":")[2] for caller in callers if caller.startswith(f"{kind}:")] for kind in KINDS}
    unexpired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
    keys = ApiKey.objects.filter(unexpired, pk__in=ids["api_key"], revoked_at=None).values_list("pk", flat=True)
    members = Member.objects.filter(pk__in=ids["member"], user__is_active=True).values_list("pk", flat=True)
    return set(callers) - {f"api_key:{pk}" for pk in keys} - {f"member:{pk}" for pk in members}
