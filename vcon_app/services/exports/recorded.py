"""What the desk recorded of sessions beside their logs, for formats that have a place for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sessions_app.models import Event, GraphNode, Session
from sessions_app.queries.graph import runs
from vcon_app.drafts import ActorKind, EventDraft, Json

KEY = "countersign:"
"""Begins the keys of these events: no event of a log has such a one."""
ACTORS = {"member": "person"}


def recorded_of(sessions: Sequence[Session]) -> dict[UUID, list[EventDraft]]:
    """Decisions and evidence recorded here, by session: as the events by which a file would tell them."""
    ids = [session.pk for session in sessions]
    found: dict[UUID, list[EventDraft]] = defaultdict(list)
    told = _keys_of_told(ids)
    for node in GraphNode.objects.filter(session__in=ids, seq=None).order_by("session", "id"):
        found[node.session_id].append(_event(node, told))
    return found


def traced_of(sessions: Sequence[Session]) -> dict[UUID, dict[str, Json]]:
    """What allowed each session: the version of its definition, and of the rules that its calls were judged by."""
    policies = runs.policies_of([session.pk for session in sessions])
    return {session.pk: _traced(session, policies.get(session.pk, [])) for session in sessions}


def mark_of(session: Session) -> list[str]:
    """What differs once more was recorded: an exported file is another then."""
    rows = GraphNode.objects.filter(session=session, seq=None).order_by("id").values_list("id", "status")
    return [f"{id_}:{status}" for id_, status in rows]


def _traced(session: Session, policies: list[int]) -> dict[str, Json]:
    return {"agent_version": session.agent_version, **({"policy_versions": list(policies)} if policies else {})}


def _keys_of_told(ids: Sequence[UUID]) -> dict[UUID, str]:
    """Keys of the events that tell decisions, by node: evidence that was recorded here may be about one."""
    about = GraphNode.objects.filter(session__in=ids, seq=None, about__seq__isnull=False)
    pairs = set(about.values_list("about_id", "session_id", "about__seq"))
    if not pairs:
        return {}
    rows = Event.objects.filter(session__in={one[1] for one in pairs}, seq__in={one[2] for one in pairs})
    keys: dict[tuple[UUID, int | None], str] = {
        (session, seq): key for session, seq, key in rows.values_list("session_id", "seq", "client_key")
    }
    return {node: keys[session, seq] for node, session, seq in pairs}


def _event(node: GraphNode, told: dict[UUID, str]) -> EventDraft:
    said: dict[str, Any] = {"title": node.title, **node.told, "recorded_by": node.by}
    if node.first_seq is not None:
        said["events"] = [node.first_seq, node.last_seq]
    is_decision = node.kind == GraphNode.Kind.DECISION
    if is_decision:
        said["status"] = node.status
    about = (told.get(node.about_id) or f"{KEY}{node.about_id}") if node.about_id else None
    return EventDraft(
        "note" if is_decision else "artifact", f"{KEY}{node.pk}", at=node.made_at, parent=about,
        actor_kind=cast(ActorKind, ACTORS.get(node.by_kind, "system")), actor_name=node.by,
        data={node.kind: said},
    )  # fmt: skip
