"""Audit page: who did what in the workspace, for its admins."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from itertools import chain, islice
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse, QueryDict
from django.utils.dateparse import parse_date
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from sessions_app.models import Agent, AuditEntry, Member, Session
from sessions_app.queries import audit as queries
from sessions_app.queries import chains, checkpoints
from sessions_app.services import audit

from . import access
from .pages import page_or_fragment
from .tables import no_place

ROWS = 100
BROKEN = 20
"""Broken rows that a check shows: one is enough to distrust the rest."""


AREAS = (
    "absence", "agent", "api_key", "approval", "budget", "comment", "export", "grant", "import", "invitation", "member",
    "oversight", "policy", "review_queue", "rubric", "schedule", "secret", "session", "stop", "verdict", "wallet",
    "webhook", "workspace",
)  # fmt: skip
"""What actions begin with, offered by the filter; others can be typed."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
SHORT = 20


@dataclass(frozen=True, slots=True)
class Detail:
    """One fact of an entry: what it is called, what is shown, all of it, and the thing that it names."""

    name: str
    said: str
    whole: str = ""
    thing: Session | Agent | Member | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """An entry as it is read: with the thing that it is about, where that is still there, and its details in words."""

    entry: AuditEntry
    about: Session | Agent | Member | None
    details: list[Detail]


@require_safe
@access.admin
def index(request: access.DeskRequest) -> HttpResponse:
    """``?before=`` pages; subject, who, action, from and to narrow; ``?check=1`` walks the chains of the workspace."""
    workspace_id = request.member.workspace_id
    before = request.GET.get("before", "")
    asked, problems = _asked(request.GET)
    number = int(before) if before.isascii() and before.isdecimal() and len(before) < 18 else None
    if before and not number:
        raise no_place()
    entries = queries.entries(workspace_id, limit=ROWS + 1, before=number, asked=asked)
    named = queries.named(workspace_id, entries[:ROWS])
    words = {"who": asked.who, "action": asked.action, "from": asked.since or "", "to": asked.until or ""}
    context = {
        "lines": [Line(entry, named.get(entry.subject_id), list(_details(entry, named))) for entry in entries[:ROWS]],
        "more": len(entries) > ROWS,
        "subject": asked.subject,
        "asked": words,
        "is_narrowed": any(words.values()),
        "kept": urlencode({name: one for name, one in ({"subject": asked.subject} | words).items() if one}),
        "problems": problems,
        "areas": AREAS,
        "checkpoint": checkpoints.latest(),
    }
    if "check" in request.GET:
        context |= {"checked": True, "broken": list(islice(_broken(workspace_id), BROKEN))}
    return page_or_fragment(request, "audit/index.html", "audit/_rows.html", context)


def _asked(given: QueryDict) -> tuple[queries.Asked, list[str]]:
    """What the address asks for, and what of it cannot be understood."""
    subject, who, action = (given.get(name, "").replace("\0", "").strip() for name in ("subject", "who", "action"))
    problems: list[str] = []

    def day(name: str) -> date | None:
        try:
            found = parse_date(value := given.get(name, "").strip())
        except ValueError:
            found = None
        if value and not found:
            problems.append(gettext('"%(value)s" is no day; write it as 2026-01-31') % {"value": value[:40]})
        return found if found and found.year < 9999 else None

    return queries.Asked(subject, who, action, day("from"), day("to")), problems


def _details(entry: AuditEntry, named: Mapping[str, Session | Agent | Member]) -> Iterator[Detail]:
    """The details that say something; digests and ids are cut, whole in the title."""
    for name, value in entry.details.items():
        label = name.replace("_", " ")
        if value in (None, "", [], {}):
            continue
        if isinstance(value, bool):
            yield Detail(label, gettext("yes") if value else gettext("no"))
        elif isinstance(value, str) and (thing := named.get(value)):
            yield Detail(label, "", value, thing)
        elif isinstance(value, str) and (_DIGEST.fullmatch(value) or _is_id(value)):
            yield Detail(label, f"{value[:SHORT]}…", value)
        else:
            yield Detail(label, _words(value))


def _words(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else str(value)


def _is_id(value: str) -> bool:
    try:
        UUID(value)
    except ValueError:
        return False
    return len(value) == 36


def _broken(workspace_id: UUID) -> Iterator[str]:
    """What is not as it was written: the audit log, money, decisions, and heads that a checkpoint knew."""
    for seq, reason in audit.broken_rows(workspace_id):
        yield gettext("entry %(seq)s: %(reason)s") % {"seq": seq, "reason": reason}
    for broken in chain(chains.broken_ledger(workspace_id), chains.broken_decisions(workspace_id)):
        yield f"{broken.what}: {broken.reason}"
    for kind in checkpoints.ROWS:
        yield from map(str, checkpoints.gone_heads(kind, workspace_id))
