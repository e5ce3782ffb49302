"""A session and the sub-agents that it started, whose transcripts are files of their own and come in any order.

What a child is called, and which call of which session started it, is computed from all that is here each time one of
a family comes: so it does not hang on the order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q

from sessions_app.models import Session, Turn
from sessions_app.services import notify
from sessions_app.services.log.sanitise import storable, text
from vcon_app import registry
from vcon_app.models import Companion

from . import sub_agents_by_prompt

LOCK = "SELECT pg_advisory_xact_lock(hashtext('families'), hashtext(%s))"
PROMPT = 2_000
"""Characters of a prompt by which a child is known: as many as a turn keeps of it."""

CALLS = f"""
SELECT c.session_id, c.call_id, coalesce(e.arguments->>'description', ''), coalesce(e.arguments->>'subagent_type', ''),
       left(e.arguments->>'prompt', {PROMPT}), r.data->>'child_session'
FROM sessions_app_toolcall c
JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
LEFT JOIN sessions_app_event r ON r.session_id = c.session_id AND r.seq = c.result_seq
WHERE c.session_id = ANY(%s) AND (c.name = ANY(%s) OR c.call_id = ANY(%s)) AND c.call_id IS NOT NULL
ORDER BY c.started_at NULLS LAST, c.call_id
"""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that started a sub-agent. ``child`` is the external id that its result names, if it does."""

    session_id: UUID
    call_id: str
    description: str
    agent_type: str
    prompt: str | None
    child: str | None


def settle(workspace_id: UUID, format_name: str, sessions: Iterable[Session], kept: Iterable[Companion]) -> None:
    """Bring the families of these sessions, and of those that companions tell of, up to date. In a transaction."""
    spec = registry.get(format_name).SPEC
    by, starters = spec.children, spec.starts_sessions
    if not by:
        return
    with connection.cursor() as cursor:
        cursor.execute(LOCK, [str(workspace_id)])  # two of a family at once would not see each other
    if by != "beside":
        sub_agents_by_prompt.settle(workspace_id, format_name, by, starters, sessions)
        return
    mine = Session.objects.filter(workspace_id=workspace_id, source_format=format_name)
    roots = {session.external_id.partition("/")[0] for session in sessions}
    if agents := [companion.tail.partition("-")[2] for companion in kept]:
        found = mine.filter(metadata__agent_id__in=agents).values_list("external_id", flat=True)
        roots |= {external_id.partition("/")[0] for external_id in found}
    for root in sorted(roots):
        family = mine.filter(Q(external_id=root) | Q(external_id__startswith=f"{root}/"))
        _settle(list(family.defer("source_record").order_by("started_at", "external_id")), root, starters)


def _settle(family: list[Session], root: str, starters: Collection[str]) -> None:
    children = [session for session in family if session.external_id != root]
    if not children:
        return
    told = _told(children[0], root, children)
    calls = _calls(family, starters, [facts.get("tool_use_id", "") for _, facts in told.values()])
    top = next((session for session in family if session.external_id == root), None)
    for child, call in _matched(children, calls, told):
        title, facts = told[child.external_id]
        if call:
            title = title or call.description
            said = {"agent_type": call.agent_type, "description": call.description, "tool_use_id": call.call_id}
            facts = {name: value for name, value in said.items() if value} | facts
        _write(child, call.session_id if call else top.pk if top else None, title, facts)


def _told(child: Session, root: str, children: list[Session]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Title and facts of each child from its companions: what is said of the one beats what is said of many."""
    tails = defaultdict(list)
    for session in children:
        tails[session.external_id.rpartition("/")[2]].append(session.external_id)
    rows = Companion.objects.filter(
        workspace_id=child.workspace_id, source_format=child.source_format, tail__in=tails, parent__in=("", root)
    )
    told: dict[str, tuple[str, dict[str, Any]]] = {session.external_id: ("", {}) for session in children}
    for row in sorted(rows, key=lambda row: (row.kind == "meta", row.parent)):
        for external_id in tails[row.tail]:
            title, facts = told[external_id]
            told[external_id] = row.title or title, facts | row.metadata
    return told


def _calls(family: list[Session], starters: Collection[str], ids: list[str]) -> list[Call]:
    with connection.cursor() as cursor:
        cursor.execute(CALLS, [[session.pk for session in family], list(starters), [id_ for id_ in ids if id_]])
        return [Call(*row) for row in cursor.fetchall()]


def _matched(
    children: list[Session], calls: list[Call], told: dict[str, tuple[str, dict[str, Any]]]
) -> list[tuple[Session, Call | None]]:
    """Each child with its call: the one that a companion names, else whose result names the child, else the first
    whose prompt is what the child was told first and that is no other child's.
    """
    prompts = dict(Turn.objects.filter(session__in=children, index=1).values_list("session_id", "prompt"))
    found: dict[UUID, Call] = {}
    for child in children:
        id_ = told[child.external_id][1].get("tool_use_id")
        ours = [call for call in calls if call.session_id != child.pk]
        call = next((call for call in ours if id_ and call.call_id == id_), None)
        call = call or next((call for call in ours if call.child == child.external_id), None)
        if call:
            found[child.pk] = call
    taken = set(found.values())
    for child in children:
        if child.pk not in found and (prompt := prompts.get(child.pk)):
            same = (c for c in calls if c.prompt == prompt and c not in taken and not c.child)
            if call := next((c for c in same if c.session_id != child.pk), None):
                found[child.pk] = call
                taken.add(call)
    return [(child, found.get(child.pk)) for child in children]


def _write(child: Session, parent_id: UUID | None, title: str, facts: dict[str, Any]) -> None:
    before = (child.parent_id, child.title, dict(child.metadata))
    child.parent_id = parent_id
    child.title = text(title) or child.title
    child.title_is_prompt &= not title
    child.metadata = storable({**child.metadata, **facts})
    if (child.parent_id, child.title, child.metadata) != before:
        child.save(update_fields=["parent", "title", "title_is_prompt", "metadata", "updated_at"])
        notify.session_changed(child.pk, child.last_seq)
