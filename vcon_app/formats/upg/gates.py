"""Approvals in a graph: the question is a ``review_gate``, each answer an ``approval_record`` behind it.

The catalog (core 0.41.0) joins the two; no typed edge joins a gate with a session, so the wildcard
``node_constrains_node`` leads from the gate to the session that had to wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ...drafts import EventDraft, Json, ToolDraft
from ..common.documents import fingerprint
from ..common.jsonio import dumps
from ..common.times import parse, rfc3339
from ..common.values import dict_of, text_of
from . import canon
from .graph import Graph, Node

CONSTRAINS, ANSWERED = "node_constrains_node", "review_gate_approved_via_approval_record"
TOOL = "countersign"
"""Our name before the colon of properties that the catalog does not have (U8)."""
RULES = ("policy", "auto", "guardian")
"""Who decides without a person, as readers name them in ``data.by``."""
STATUS = {
    "approved": "approved", "approved_edited": "approved", "auto_allowed": "approved", "answered": "approved",
    "denied": "rejected", "auto_denied": "rejected", "expired": "rejected",
}  # fmt: skip
"""Phase of the gate after an answer; nothing else is one, the gate stays pending."""


class Gate(NamedTuple):
    """A gate and the answers behind it."""

    node: Node
    records: list[Node]


def gates_of(session: Node, graph: Graph) -> list[Gate]:
    """The gates that constrained a session, and those that inform it or that it informs."""
    near = [
        *graph.ends(CONSTRAINS, target=session.id),
        *graph.ends("node_informs_node", source=session.id),
        *graph.ends("node_informs_node", target=session.id),
    ]
    found = {node.id: node for node in near if node.type == "review_gate"}
    return [Gate(node, graph.ends(ANSWERED, source=node.id)) for node in found.values()]


def events_of(gate: Gate) -> Iterator[EventDraft]:
    """One event for each answer; for a gate without any, what its status says."""
    for record in gate.records:
        approved = record.properties.get("approved")
        decision = text_of(record.properties.get(f"{TOOL}:decision"))
        yield _event(gate.node, record, decision or {True: "approved", False: "denied"}.get(approved, "unknown"))
    if not gate.records:
        words = {"approved": "approved", "rejected": "denied", "pending": "pending"}
        yield _event(gate.node, gate.node, words.get(text_of(gate.node.raw.get("status")), "unknown"))


def _event(gate: Node, record: Node, decision: str) -> EventDraft:
    own = {**gate.properties, **record.properties}
    by = text_of(own.get(f"{TOOL}:by")) or ("auto" if own.get("gate_type") == "automated_check" else "")
    comment, at = text_of(own.get("comment")), own.get("approved_at") or record.raw.get("created_at")
    data: dict[str, Json] = {"decision": decision, **({"by": by} if by else {})}
    return EventDraft(
        "approval",
        f"{record.id}:{fingerprint(dumps([comment, canon.ordered(data), at]))}",
        at=parse(at)[0],
        actor_kind="unknown" if decision in ("pending", "unknown") else "system" if by in RULES else "person",
        actor_name="" if by in RULES else by,
        text=comment,
        tool=ToolDraft(text_of(own.get(f"{TOOL}:call_id")) or gate.id, gate.title or None),
        data={**data, "upg": {"id": record.id}},
        pointer=record.pointer,
    )


def gate_of(event: EventDraft) -> tuple[str, str, dict[str, Any]]:
    """What names the gate of an approval, its title and its members; the same for a question and its answers."""
    tool = event.tool
    call = tool.call_id if tool else None
    properties = {"gate_type": "automated_check" if event.data.get("by") in RULES else "human_review"}
    properties |= {f"{TOOL}:call_id": call} if call else {}
    title = (tool.name if tool else None) or "Approval"
    return call or event.parent or event.key, title, {"status": status_of(event), "properties": properties}


def status_of(event: EventDraft) -> str:
    return STATUS.get(_word(event), "pending")


def record_of(event: EventDraft) -> dict[str, Any] | None:
    """The members of the answer in an approval event; ``None`` for a question, and for one that nobody answered."""
    if status_of(event) == "pending":
        return None
    decided = dict_of(event.data.get("decision"))
    by = text_of(decided.get("by")) or text_of(event.data.get("by")) or event.actor_name
    properties = {
        "approved": status_of(event) == "approved",
        "comment": text_of(decided.get("reason")) or event.text,
        "approved_at": rfc3339(event.at) if event.at else "",
        f"{TOOL}:decision": _word(event),
        f"{TOOL}:by": by,
    }
    return {"properties": {name: value for name, value in properties.items() if value != ""}}


def _word(event: EventDraft) -> str:
    return text_of(event.data.get("decision")) or text_of(event.data.get("status"))
