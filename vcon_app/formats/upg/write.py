"""A session as a product graph in canonical form: agent definition, session, skills, decisions and evidence."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

from ...drafts import EventDraft, Events, Json, Losses, SessionDraft
from ..common.times import parse, rfc3339
from ..common.values import dict_of, list_of, text_of
from ..html.totals import Tally, count
from . import canon
from .read import NATIVE, phase_of
from .rules import LIFECYCLES, PROPERTIES

TOOL = "countersign"
"""Our name in ``provenance`` and before the colon of properties that the catalog does not have (U8)."""
SPACE = UUID("6d8c1b1e-7c3a-5f0e-9a53-0f4f0f6c7b11")
"""Ids of nodes that have none yet are UUID v5 in this space, so that the same session gives the same graph."""
STATUS = {"active": "active", "completed": "completed", "crashed": "errored", "timed_out": "timed_out"}
"""``session_status`` of a lifecycle phase (U2): a crashed session errored."""
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
TITLE = 200


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of one ``.upg`` file, the same for the same session and options (U7).

    ``options``: ``created_at`` (aware; it stands outside of the seal), ``product_version``, ``origin`` (URL of the
    desk), and ``costs`` of the turns as the desk priced them. ``events`` is walked twice; what is held of it are
    the decisions and the evidence.
    """
    record = dict_of(session.record.get(NATIVE))
    total, turns = count(events, options.get("costs"))
    made = _Graph(session, record)
    for event in events:
        _add(made, event, losses)
    made.describe(total, len(turns) - 1, options)
    _tell_losses(session, record, losses)
    body = canon.canonical(made.product, made.nodes, made.edges)
    extra = {name: value for name, value in sorted(dict_of(record.get("extra")).items()) if name not in body}
    document = {"$upg": _header(body, record, options), **body, **extra}
    yield canon.dump(document, 2).encode("utf-8", "replace") + b"\n"


def _header(body: dict[str, Any], record: dict[str, Any], options: dict[str, Any]) -> dict[str, Json]:
    held, product = dict_of(record.get("header")), body["product"]
    summary = text_of(held.get("summary")) or text_of(product.get("description")).partition("\n")[0]
    version, made_at = text_of(options.get("product_version")), options["created_at"]
    named = {name: product[name] for name in ("id", "title", "stage") if name in product}
    return {
        "format_version": canon.FORMAT_VERSION,
        "spec_version": canon.SPEC_VERSION,
        **{name: held[name] for name in ("kind", "member_kind") if name in held},
        "product": named,
        **({"summary": summary} if summary else {}),
        "counts": {"nodes": len(body["nodes"]), "edges": len(body["edges"])},
        "provenance": {
            "tool": TOOL,
            **({"tool_version": version} if version else {}),
            "exported_at": rfc3339(made_at),
        },
        "integrity": {"algorithm": canon.ALGORITHM, "body": canon.sealed(body)},
    }


class _Graph:
    """The nodes and edges of the file: those that came with the session, and what the log adds."""

    def __init__(self, session: SessionDraft, record: dict[str, Any]) -> None:
        self.session, self.record = session, record
        self.nodes: list[Any] = [*list_of(record.get("nodes")), *list_of(record.get("rest"))]
        self.edges: list[Any] = [*list_of(record.get("edges")), *list_of(record.get("rest_edges"))]
        self.product = dict_of(record.get("product")) or {"id": TOOL, "title": "Agent sessions"}
        self.id = text_of(record.get("node")) or session.external_id or self.name("agent_session", "")
        self.known = {text_of(node.get("id")) for node in self.nodes if isinstance(node, dict)}
        self.added = 0
        """Events that did not come from the file."""

    def name(self, kind: str, what: str) -> str:
        """The id of a new node."""
        return _name(f"{kind}\n{self.session.external_id}\n{what}")

    def add(self, kind: str, what: str, title: str, **fields: Json) -> str:
        """A node, unless it is there; its id."""
        id = self.name(kind, what)
        if id not in self.known:
            self.known.add(id)
            self.nodes.append({"id": id, "type": kind, "title": _title(title, kind), **fields})
        return id

    def join(self, kind: str, source: str, target: str) -> None:
        self.edges.append(
            {"id": self.name(kind, f"{source}\n{target}"), "source": source, "target": target, "type": kind}
        )

    def describe(self, total: Tally, turns: int, options: dict[str, Any]) -> None:
        """The session's own node, its definition and its skills, from what the whole log came to."""
        raw = next((n for n in self.nodes if isinstance(n, dict) and n.get("id") == self.id), None)
        if raw is None and self.record:
            return  # a graph without a run stays one
        if raw is None:
            raw = {"id": self.id, "type": "agent_session", "title": ""}
            self.nodes.append(raw)
            self._define()
        node = _updated(raw, self.session) | _linked(raw, self.session, options)
        if self.added or not self.record:
            node["properties"] = dict_of(node.get("properties")) | _numbers(total, turns, node)
        self.nodes = [node if other is raw else other for other in self.nodes]
        titles = {text_of(other.get("title")) for other in self.nodes if dict_of(other).get("type") == "agent_skill"}
        for tool, uses in total.tools.items():
            if tool not in titles:
                properties: dict[str, Json] = {"skill_trigger": "tool", "invocation_count": uses}
                skill = self.add("agent_skill", tool, tool, status="active", properties=properties)
                self.join("agent_session_invoked_agent_skill", self.id, skill)

    def _define(self) -> None:
        if self.session.agent_name:
            id = _name(f"agent_definition\n{self.session.agent_name}")
            self.known.add(id)
            title = _title(self.session.agent_name, "agent_definition")
            self.nodes.append({"id": id, "type": "agent_definition", "title": title, "status": "active"})
            self.join("agent_definition_runs_agent_session", id, self.id)


def _name(words: str) -> str:
    return str(uuid5(SPACE, words.encode("utf-8", "replace").decode()))


def _title(text: str, otherwise: str) -> str:
    """Never blank: the reference refuses that."""
    return " ".join(text.split())[:TITLE] or otherwise


def _updated(raw: dict[str, Any], session: SessionDraft) -> dict[str, Any]:
    """The session's node with what is told of it now; what still says the same stays as it stood there."""
    node, told = dict(raw), dict(dict_of(raw.get("properties")))
    if session.title != text_of(raw.get("title")).strip() or not session.title:
        node["title"] = _title(session.title or session.external_id, "agent_session")
    if list(session.tags) != list_of(raw.get("tags")):
        node["tags"] = list(session.tags)
    if session.phase and session.phase != phase_of(raw):
        node["status"], told["session_status"] = session.phase, STATUS[session.phase]
    if session.summary != text_of(told.get("output_summary")):
        told["output_summary"] = session.summary
    for name, at in (("session_start", session.started_at), ("session_end", session.ended_at)):
        if at is not None and at != parse(told.get(name))[0]:
            told[name] = rfc3339(at)
    if told or "properties" in raw:
        node["properties"] = told
    return node


def _linked(raw: dict[str, Any], session: SessionDraft, options: dict[str, Any]) -> dict[str, Json]:
    """The way back to our page, unless the node names another tool's."""
    origin = text_of(options.get("origin"))
    if "external_tool" in raw or not origin:
        return {}
    return {"external_tool": TOOL, "external_ref": origin, "external_id": session.external_id}


def _numbers(total: Tally, turns: int, node: dict[str, Any]) -> dict[str, Json]:
    """What the log came to; what it does not say is left out, never 0."""
    stated = dict_of(node.get("properties"))
    numbers: dict[str, Json] = {
        "turns": turns or stated.get("turns", 0),
        "error_count": max(total.errors, stated.get("error_count", 0) if _is_number(stated.get("error_count")) else 0),
        "tokens_used": total.total_tokens,
        "cost": _amount(total.cost),
        f"{TOOL}:cost_currency": "USD" if total.cost is not None else None,
        f"{TOOL}:cost_is_partial": True if total.uncosted and total.cost is not None else None,
        f"{TOOL}:models": list(total.models) or None,
        **{f"{TOOL}:{name}": getattr(total, name) for name in COUNTS},
    }
    return {name: value for name, value in numbers.items() if value is not None}


def _is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _amount(cost: Decimal | None) -> float | int | None:
    return None if cost is None else int(cost) if cost == cost.to_integral_value() else float(cost)


def _add(made: _Graph, event: EventDraft, losses: Losses) -> None:
    """A decision or evidence of the log; everything else is a transcript, which a graph has no place for."""
    known = text_of(dict_of(event.data.get(NATIVE)).get("id"))
    if known and known in made.known:
        return
    made.added += 1
    decision, evidence = event.data.get("decision"), event.data.get("evidence")
    if event.kind == "note" and isinstance(decision, dict):
        _add_node(made, event, "decision", decision, losses)
    elif event.kind == "artifact" and isinstance(evidence, dict):
        _add_node(made, event, "evidence", {"summary": event.text, **evidence}, losses)
    else:
        losses.lose(f"events of kind {event.kind}", "a product graph tells that there was a run, not its transcript")


def _add_node(made: _Graph, event: EventDraft, kind: str, told: dict[str, Json], losses: Losses) -> None:
    title = text_of(told.get("title")) or text_of(event.data.get("name")) or event.text.strip().partition("\n")[0]
    fields: dict[str, Json] = {"properties": _properties(kind, told, event.at)}
    if LIFECYCLES[kind]:
        status = told.get("status")
        fields["status"] = status if status in LIFECYCLES[kind] else LIFECYCLES[kind][0]
    if event.at:
        fields["created_at"] = rfc3339(event.at)
    id = made.add(kind, event.key, title, **fields)
    made.join("agent_session_creates_decision" if kind == "decision" else "node_informs_node", made.id, id)


def _properties(kind: str, told: dict[str, Json], at: datetime | None) -> dict[str, Json]:
    """Those of the catalog under its names when they fit, the others under ours."""
    made: dict[str, Json] = {"date" if kind == "decision" else "observed_at": rfc3339(at)} if at else {}
    for name, value in told.items():
        if name in ("title", "status") or value in canon.EMPTY:
            continue
        expected = PROPERTIES[kind].get(name)
        fits = value in expected if isinstance(expected, tuple) else expected and isinstance(value, expected)
        made[name if fits else name if ":" in name else f"{TOOL}:{name}"] = value
    return made


def _tell_losses(session: SessionDraft, record: dict[str, Any], losses: Losses) -> None:
    if session.metadata and not record:
        losses.lose(
            "facts about the session beyond its node", "a product graph has no place for it", len(session.metadata)
        )
    if left_out := record.get("left_out"):
        losses.lose("nodes and edges that belong to no session", "they are in the original file only", left_out)
    for name in sorted(session.record.keys() - {NATIVE}):
        losses.lose(f"what {name} keeps beside its events", "a product graph has no place for it")
