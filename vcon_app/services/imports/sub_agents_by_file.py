"""Sub-agents whose transcripts are files of their own, and the sessions that started them (``Spec.children``).

The files come in any order. So the title, the parent and the call of each child are computed anew from all that is
here whenever one file of a family comes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q

from sessions_app.models import Session, Turn
from sessions_app.services import notify
from sessions_app.services.log import search_index
from sessions_app.services.log.sanitise import storable, text
from vcon_app.models import Companion

from ..trust import coverage
from . import descent, senders
from .sub_agents_by_prompt import KEPT_PROMPT, Locker

Senders = Mapping[UUID, set[str]]
"""See ``senders.senders_of``."""
CALLS = f"""
SELECT c.session_id, c.call_id, coalesce(e.arguments->>'description', ''), coalesce(e.arguments->>'subagent_type', ''),
       left(e.arguments->>'prompt', {KEPT_PROMPT}), r.data->>'child_session'
FROM sessions_app_toolcall c
JOIN sessions_app_event e ON e.session_id = c.session_id AND e.seq = c.seq
LEFT JOIN sessions_app_event r ON r.session_id = c.session_id AND r.seq = c.result_seq
WHERE c.session_id = ANY(%s) AND (c.name = ANY(%s) OR c.call_id = ANY(%s)) AND c.call_id IS NOT NULL
ORDER BY c.started_at NULLS LAST, c.call_id
"""


@dataclass(frozen=True, slots=True)
class Facts:
    """What companions say of a child."""

    title: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def call_id(self) -> str:
        """Of the call that started the child; empty when they do not name it."""
        return self.metadata.get("tool_use_id") or ""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that started a sub-agent. ``child`` is the external id that its result names, if it does."""

    session_id: UUID
    call_id: str
    description: str
    agent_type: str
    prompt: str | None
    child: str | None


@dataclass(frozen=True, slots=True)
class Place:
    """What a child is to be told: whose it is, by which name, and what is known of it."""

    parent_id: UUID | None
    title: str
    metadata: dict[str, Any]


def roots_of(sessions: Iterable[str], workspace_id: UUID, format_name: str, agents: Collection[str]) -> list[str]:
    """The external ids of the roots of the families of these external ids, and of the agents of these names."""
    told = Session.objects.filter(workspace_id=workspace_id, source_format=format_name, metadata__agent_id__in=agents)
    found = told.values_list("external_id", flat=True) if agents else ()
    return sorted({external_id.partition("/")[0] for external_id in (*sessions, *found)})


def link_families(
    workspace_id: UUID, format_name: str, roots: Iterable[str], starters: Collection[str], lock: Locker
) -> None:
    """Give sub-agents their parents in these families. To be called by one at a time in a family."""
    mine = Session.objects.filter(workspace_id=workspace_id, source_format=format_name)
    places: dict[UUID, Place] = {}
    for root in roots:
        children = Q(external_id__startswith=f"{root}/")
        if not mine.filter(children).exists():
            continue
        family = mine.filter(Q(external_id=root) | children)
        members = list(family.defer("source_record").order_by("started_at", "external_id"))
        places |= _new_places(members, root, starters)
    for child in lock(places):
        if _apply(child, _without_circle(child, places[child.pk])):
            child.save(update_fields=["parent", "title", "title_is_prompt", "metadata", "updated_at"])
            search_index.index_title(child.pk)
            notify.session_changed(child.pk, child.last_seq)


def _without_circle(child: Session, place: Place) -> Place:
    """The place; under the parent that the child has where the new one stands below it."""
    if place.parent_id is None or place.parent_id == child.parent_id:
        return place
    closes_circle = descent.is_below(place.parent_id, child.pk)
    return replace(place, parent_id=child.parent_id) if closes_circle else place


def _new_places(family: list[Session], root: str, starters: Collection[str]) -> dict[UUID, Place]:
    """Session id of each child that is to change -> its place."""
    children = [session for session in family if session.external_id != root]
    if not children:
        return {}
    brought_by = senders.senders_of([session.pk for session in family])
    facts_by_child = _facts_by_child(children, root, brought_by)
    calls = _calls(family, starters, [facts.call_id for facts in facts_by_child.values()])
    call_by_child = _call_by_child(children, calls, facts_by_child, brought_by)
    tops = [session for session in family if session.external_id == root]
    places = {
        child.pk: _place(
            child, call_by_child.get(child.pk), facts_by_child[child.pk],
            next((top for top in tops if senders.may_stand_below(child, top.pk, brought_by)), None),
        )
        for child in children
    }  # fmt: skip
    return {child.pk: places[child.pk] for child in children if _apply(child, places[child.pk])}


def _place(child: Session, call: Call | None, facts: Facts, top: Session | None) -> Place:
    """Of a session that was read from a signed file the parent alone: what it says of itself stays as it was signed."""
    parent_id = call.session_id if call else top.pk if top else None
    if coverage.was_signed(child.pk):
        return Place(parent_id, "", {})
    if call is None:
        return Place(parent_id, facts.title, facts.metadata)
    from_call = {"agent_type": call.agent_type, "description": call.description, "tool_use_id": call.call_id}
    metadata = {name: value for name, value in from_call.items() if value} | facts.metadata
    return Place(parent_id, facts.title or call.description, metadata)


def _facts_by_child(children: list[Session], root: str, brought_by: Senders) -> dict[UUID, Facts]:
    """Session id of each child -> what companions say that came from who brought it: what is said of the one beats what
    is said of many."""
    by_tail = defaultdict(list)
    for session in children:
        by_tail[session.external_id.rpartition("/")[2]].append(session)
    rows = Companion.objects.filter(
        workspace_id=children[0].workspace_id,
        source_format=children[0].source_format,
        tail__in=by_tail,
        parent__in=("", root),
    )
    found = {session.pk: Facts() for session in children}
    for row in sorted(rows, key=lambda row: (row.kind == "meta", row.parent)):
        for child in by_tail[row.tail]:
            if row.requester is None or row.requester in brought_by.get(child.pk, ()):
                before = found[child.pk]
                found[child.pk] = Facts(row.title or before.title, before.metadata | row.metadata)
    return found


def _calls(family: list[Session], starters: Collection[str], ids: list[str]) -> list[Call]:
    with connection.cursor() as cursor:
        cursor.execute(CALLS, [[session.pk for session in family], list(starters), [id_ for id_ in ids if id_]])
        return [Call(*row) for row in cursor.fetchall()]


def _call_by_child(
    children: list[Session], calls: list[Call], facts_by_child: dict[UUID, Facts], brought_by: Senders
) -> dict[UUID, Call]:
    """Session id of each child whose call is known -> that call.

    It is the call that a companion names, else the one whose result names the child, else the first whose prompt is
    the child's first prompt and that is no other child's.
    """

    def of(child: Session, among: list[Call]) -> Iterator[Call]:
        """Calls that may have started it."""
        others = (call for call in among if call.session_id != child.pk)
        return (call for call in others if senders.may_stand_below(child, call.session_id, brought_by))

    found: dict[UUID, Call] = {}
    for child in children:
        if call := _named_call(child, list(of(child, calls)), facts_by_child[child.pk].call_id):
            found[child.pk] = call
    # only when every name is known: a prompt may stand in several calls, and a named call is not free
    prompts = dict(Turn.objects.filter(session__in=children, index=1).values_list("session_id", "prompt"))
    named = set(found.values())
    free = [call for call in calls if call not in named and not call.child]
    for child in children:
        prompt = prompts.get(child.pk)
        if child.pk in found or not prompt:
            continue
        if call := next((call for call in of(child, free) if call.prompt == prompt), None):
            found[child.pk] = call
            free = [other for other in free if other != call]
    return found


def _named_call(child: Session, calls: list[Call], call_id: str) -> Call | None:
    by_companion = (call for call in calls if call_id and call.call_id == call_id)
    by_result = (call for call in calls if call.child == child.external_id)
    return next(by_companion, None) or next(by_result, None)


def _apply(child: Session, place: Place) -> bool:
    """Tell a child its place; whether that changed anything. It is not saved."""
    before = (child.parent_id, child.title, dict(child.metadata))
    child.parent_id = place.parent_id
    child.title = text(place.title) or child.title
    child.title_is_prompt &= not place.title
    child.metadata = storable({**child.metadata, **place.metadata})
    return (child.parent_id, child.title, child.metadata) != before
