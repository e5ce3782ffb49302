"""Audit page: who did what in the workspace, for its admins."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from sessions_app.queries import audit as queries
from sessions_app.queries import chains, checkpoints
from sessions_app.services import audit

from . import access
from .pages import page_or_fragment

ROWS = 100
BROKEN = 20
"""Broken rows that a check shows: one is enough to distrust the rest."""


@require_safe
@access.admin
def index(request: access.DeskRequest) -> HttpResponse:
    """``?before=`` pages, ``?subject=`` narrows to one thing, ``?check=1`` walks the chains of the workspace."""
    workspace_id = request.member.workspace_id
    before = request.GET.get("before", "")
    subject = request.GET.get("subject", "").replace("\0", "")
    number = int(before) if before.isdecimal() and len(before) < 18 else None
    entries = queries.entries(workspace_id, limit=ROWS + 1, before=number, subject=subject)
    context = {
        "entries": entries[:ROWS],
        "more": len(entries) > ROWS,
        "subject": subject,
        "checkpoint": checkpoints.latest(),
    }
    if "check" in request.GET:
        context |= {"checked": True, "broken": list(islice(_broken(workspace_id), BROKEN))}
    return page_or_fragment(request, "audit/index.html", "audit/_rows.html", context)


def _broken(workspace_id: UUID) -> Iterator[str]:
    """What is not as it was written: the audit log, money, decisions, and heads that a checkpoint knew."""
    for seq, reason in audit.broken_rows(workspace_id):
        yield f"entry {seq}: {reason}"
    for broken in chain(chains.broken_ledger(workspace_id), chains.broken_decisions(workspace_id)):
        yield f"{broken.what}: {broken.reason}"
    for kind in checkpoints.ROWS:
        yield from map(str, checkpoints.gone_heads(kind, workspace_id))
