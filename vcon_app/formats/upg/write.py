"""A session as a product graph in canonical form: agent definition, session, skills, decisions and evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID, uuid5

from sessions_app.phrases import gettext as _

from ...drafts import EventDraft, Events, Json, Losses, Option, SessionDraft
from ..common import origins
from ..common.times import parse, rfc3339
from ..common.values import dict_of, list_of, text_of
from ..html.totals import Total, count
from . import canon, gates
from .gates import TOOL
from .read import NATIVE, phase_of
from .rules import LIFECYCLES, PROPERTIES
from .sound import FOUND, sound_graph

OPTIONS = (
    Option(
        "target_version", _("Version of the catalog"), ((canon.SPEC_VERSION,) * 2, ("0.11.0", _("before 0.12"))),
        _("Before 0.12 the tools of a session were a list of names; since then each is a node of its own."),
    ),
    Option(
        "children", _("With its sub-agents"),
        detail=_("Sessions that it started, and theirs, as nodes of the graph."),
    ),
)  # fmt: skip
TOOLS_ARE_SKILLS = (0, 12)
INVOKED = "agent_session_invoked_agent_skill"
PRODUCT = {"id": TOOL, "title": "Agent sessions"}
SPACE = UUID("6d8c1b1e-7c3a-5f0e-9a53-0f4f0f6c7b11")
"""Ids of nodes that have none yet are UUID v5 in this space, so that the same session gives the same graph."""
STATUS = {"active": "active", "completed": "completed", "crashed": "errored", "timed_out": "timed_out",
          "cancelled": "completed"}  # fmt: skip
"""``session_status`` of a lifecycle phase (U2): a crashed session errored."""
LIFECYCLE = {"cancelled": "completed"}
"""UPG has four phases: a run that somebody cancelled is over, and no more is said of it."""
COUNTS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
TITLE = 200


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of one ``.upg`` file, the same for the same session and options (U7).

    ``options``: ``created_at`` (aware; it stands outside of the seal), ``product_version``, ``session_url`` (our
    page) or ``origin`` (URL of the desk), ``archived``, ``recorded`` (further events: what the desk recorded of the
    session beside its log), ``traced`` (what allowed it, as properties of our own), ``target_version`` (of the
    catalog: below 0.12 tools are a list, U14), and ``costs`` of the turns as the desk priced them. ``events`` is
    walked twice; what is held of it are the decisions, the evidence and the approvals. With ``children`` there are
    ``family``: those sessions, as ``write_many`` takes them. With ``tally`` (totals, and how many turns) nothing is
    counted, and ``events`` is walked once.
    """
    yield from write_many([(session, events, {}), *options.get("family", ())], losses, options=options)


def write_many(
    sessions: Iterable[tuple[SessionDraft, Events, dict[str, Any]]], losses: Losses, *, options: dict[str, Any]
) -> Iterator[bytes]:
    """One file of several sessions (U6), each with options of its own beside those of all. Same agent, one definition.

    ``parent`` among the own options is the external id of the session that started it: what it found went there.
    A session whose node another one has taken already is left out, and told.
    """
    made = SessionGraph(old=_version(options) < TOOLS_ARE_SKILLS)
    for session, events, own in sessions:
        made.add_session(session, events, losses, {**options, **own})
    made.add_cross_edges(losses)
    nodes, edges, found = sound_graph(made.nodes, made.edges, losses)
    body = canon.canonical(made.product or PRODUCT, nodes, edges)
    if found:
        made.extra = {**made.extra, FOUND: found}
    extra = {name: value for name, value in sorted(made.extra.items()) if name not in body}
    counts = {"nodes": len(body["nodes"]), "edges": len(body["edges"])}
    header = header_of(body["product"], counts, canon.sealed(body), made.header, options)
    document = {"$upg": header, **body, **extra}
    yield canon.dump(document, 2).encode("utf-8", "replace") + b"\n"


def _version(options: dict[str, Any]) -> tuple[int, ...]:
    """Raises ``ValueError`` for a target that is no version."""
    return tuple(int(part) for part in str(options.get("target_version") or canon.SPEC_VERSION).split("."))


def header_of(
    product: dict[str, Any], counts: dict[str, Json], seal: str, header: dict[str, Any], options: dict[str, Any]
) -> dict[str, Json]:
    """``$upg`` of a file; ``header`` is what a file that the sessions were read from said there."""
    summary = text_of(header.get("summary")) or text_of(product.get("description")).partition("\n")[0]
    version, made_at = text_of(options.get("product_version")), options["created_at"]
    named = {name: product[name] for name in ("id", "title", "stage") if name in product}
    return {
        "format_version": canon.FORMAT_VERSION,
        "spec_version": str(options.get("target_version") or canon.SPEC_VERSION),
        **{name: header[name] for name in ("kind", "member_kind") if name in header},
        "product": named,
        **({"summary": summary} if summary else {}),
        "counts": counts,
        "provenance": {
            "tool": TOOL,
            **({"tool_version": version} if version else {}),
            "exported_at": rfc3339(made_at),
        },
        "integrity": {"algorithm": canon.ALGORITHM, "body": seal},
    }


class SessionGraph:
    """The nodes and edges of the file: those that came with the sessions, and what their logs add."""

    def __init__(self, *, old: bool) -> None:
        self.old = old
        """The file is for a catalog without edges to tools."""
        self.nodes: list[Any] = []
        self.edges: list[Any] = []
        self.product: dict[str, Any] = {}
        self.header: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.known: set[str] = set()
        """Ids of nodes."""
        self.joined: set[str] = set()
        """Ids of edges."""
        self.others: list[Any] = []
        """Edges to what only another session of the same file had."""
        self.made: dict[str, dict[str, Any]] = {}
        """Nodes that did not come from a file, by id."""
        self.sessions: dict[str, str] = {}
        """External id of a session -> id of its node."""

    def add_session(
        self, session: SessionDraft, events: Iterable[EventDraft], losses: Losses, options: dict[str, Any]
    ) -> None:
        """One session with all that hangs on it."""
        record = dict_of(session.record.get(NATIVE))
        own = _Own(self, session, record)
        if own.id in self.known:
            losses.lose("a session", "another one of the same id is in the file")
            return
        self.product = self.product or dict_of(record.get("product"))
        self.header, self.extra = (
            self.header or dict_of(record.get("header")),
            self.extra or dict_of(record.get("extra")),
        )
        for name in ("nodes", "rest"):
            self.nodes += _new_to_session(list_of(record.get(name)), self.known)
        for name in ("edges", "rest_edges"):
            self.edges += _new_to_session(list_of(record.get(name)), self.joined)
        self.others += list_of(record.get("cross"))
        total, turns = options["tally"] if "tally" in options else _counted(events, options)
        for event in chain(events, options.get("recorded", ())):
            _add(own, event, losses)
        own.describe(total, turns, options)
        self.sessions[session.external_id] = own.id
        if parent := self.sessions.get(text_of(options.get("parent"))):
            own.join("node_informs_node", own.id, parent)
        _report_losses(session, record, losses)

    def add_cross_edges(self, losses: Losses) -> None:
        """Edges between sessions, when both their ends are here."""
        for edge in _new_to_session(self.others, self.joined):
            if {text_of(edge.get("source")), text_of(edge.get("target"))} <= self.known:
                self.edges.append(edge)
            else:
                losses.lose("edges to another session of the same graph", "that one is not in this file")


def _counted(events: Iterable[EventDraft], options: dict[str, Any]) -> tuple[Total, int]:
    total, turns = count(events, options.get("costs"))
    return total, len(turns) - 1


def _new_to_session(items: list[Any], known: set[str]) -> list[Any]:
    """Those that no other session brought; ids that a file has twice stay as they are in it."""
    fresh = [item for item in items if text_of(dict_of(item).get("id")) not in known]
    known |= {id for item in fresh if (id := text_of(dict_of(item).get("id")))}
    return fresh


class _Own:
    """Nodes and edges that one session adds to the graph."""

    def __init__(self, graph: SessionGraph, session: SessionDraft, record: dict[str, Any]) -> None:
        self.graph, self.session, self.record = graph, session, record
        self.id = text_of(record.get("node")) or session.external_id or self.name("agent_session", "")
        self.added = 0
        """Events that did not come from the file."""
        self.nodes_by_key: dict[str, str] = {}
        """Key of an event that tells a decision or evidence -> id of its node."""

    def name(self, kind: str, what: str) -> str:
        """The id of a new node."""
        return _name(f"{kind}\n{self.session.external_id}\n{what}")

    def add(self, kind: str, what: str, title: str, **fields: Json) -> str:
        """A node, unless it is there; its id."""
        return self.put_node(self.name(kind, what), kind, title, **fields)

    def put_node(self, id: str, kind: str, title: str, **fields: Json) -> str:
        if id not in self.graph.known:
            self.graph.known.add(id)
            node = self.graph.made[id] = {"id": id, "type": kind, "title": _title(title, kind), **fields}
            self.graph.nodes.append(node)
        return id

    def join(self, kind: str, source: str, target: str) -> None:
        id = self.name(kind, f"{source}\n{target}")
        if id not in self.graph.joined:
            self.graph.joined.add(id)
            self.graph.edges.append({"id": id, "source": source, "target": target, "type": kind})

    def describe(self, total: Total, turns: int, options: dict[str, Any]) -> None:
        """The session's own node, its definition and its tools, from what the whole log came to."""
        raw = next((n for n in self.graph.nodes if isinstance(n, dict) and n.get("id") == self.id), None)
        if raw is None and self.record:
            return  # a graph without a run stays one
        if raw is None:
            raw = {"id": self.id, "type": "agent_session", "title": ""}
            self.graph.known.add(self.id)
            self.graph.nodes.append(raw)
            self._define()
        node = _updated(raw, self.session)
        if self.added or not self.record:
            node |= _linked(raw, self.session, options)
            node["properties"] = dict_of(node.get("properties")) | _numbers(total, turns, node)
        if traced := options.get("traced"):
            own = {f"{TOOL}:{name}": value for name, value in traced.items()}
            node["properties"] = dict_of(node.get("properties")) | own
        if options.get("archived"):
            node["archived"] = True
        node = self._with_tools(node, total.tools)
        self.graph.nodes = [node if other is raw else other for other in self.graph.nodes]

    def _with_tools(self, node: dict[str, Any], tools: dict[str, int]) -> dict[str, Any]:
        """Each tool is a skill with an edge; before 0.12 the names were a property (U14)."""
        if self.graph.old:
            before = [*list_of(dict_of(node.get("properties")).get("tools_invoked")), *self._remove_skills()]
            names = list(dict.fromkeys([*(name for name in before if isinstance(name, str)), *tools]))
            return {**node, "properties": dict_of(node.get("properties")) | ({"tools_invoked": names} if names else {})}
        titles = {text_of(dict_of(node).get("title")) for node in list_of(self.record.get("nodes"))
                  if dict_of(node).get("type") == "agent_skill"}  # fmt: skip
        for tool, uses in tools.items():
            if tool not in titles:
                properties: dict[str, Json] = {"skill_trigger": "tool", "invocation_count": uses}
                skill = self.add("agent_skill", tool, tool, status="active", properties=properties)
                self.join(INVOKED, self.id, skill)
        return node

    def _remove_skills(self) -> list[str]:
        """Titles of the skills that the session was joined with; the edges go, and so do skills that hung on them."""
        edges = [edge for edge in self.graph.edges if _has_members(edge, type=INVOKED, source=self.id)]
        ids = {text_of(edge.get("target")) for edge in edges}
        self.graph.edges = [edge for edge in self.graph.edges if edge not in edges]
        skills = [
            node
            for node in self.graph.nodes
            if _has_members(node, type="agent_skill") and text_of(node.get("id")) in ids
        ]
        self._remove_unneeded(skills)
        return [text_of(node.get("title")) for node in skills]

    def _remove_unneeded(self, nodes: list[Any]) -> None:
        """Remove those of the nodes that no edge begins or ends at any more."""
        needed = {text_of(dict_of(edge).get(end)) for edge in self.graph.edges for end in ("source", "target")}
        alone = [node for node in nodes if text_of(node.get("id")) not in needed]
        self.graph.nodes = [node for node in self.graph.nodes if node not in alone]

    def _define(self) -> None:
        if self.session.agent_name:
            id = _name(f"agent_definition\n{self.session.agent_name}")
            self.put_node(id, "agent_definition", self.session.agent_name, status="active")
            self.join("agent_definition_runs_agent_session", id, self.id)


def _has_members(item: Any, **members: str) -> bool:
    return isinstance(item, dict) and all(item.get(name) == value for name, value in members.items())


def _name(words: str) -> str:
    return str(uuid5(SPACE, words.encode("utf-8", "replace").decode()))


def _title(text: str, otherwise: str) -> str:
    """Never blank: the reference refuses that."""
    return " ".join(text.split())[:TITLE] or otherwise


def _updated(raw: dict[str, Any], session: SessionDraft) -> dict[str, Any]:
    """The session's node with today's values; a member that still says the same stays as it came."""
    node, told = dict(raw), dict(dict_of(raw.get("properties")))
    if session.title != text_of(raw.get("title")).strip() or not session.title:
        node["title"] = _title(session.title or session.external_id, "agent_session")
    stated = [tag for tag in list_of(raw.get("tags")) if isinstance(tag, str)]
    if canon.in_order(session.tags) != canon.in_order(stated):
        node["tags"] = list(session.tags)
    if session.phase and session.phase != phase_of(raw):
        node["status"], told["session_status"] = LIFECYCLE.get(session.phase, session.phase), STATUS[session.phase]
    if session.summary != text_of(told.get("output_summary")):
        told["output_summary"] = session.summary
    for name, at in (("session_start", session.started_at), ("session_end", session.ended_at)):
        if at is not None and at != parse(told.get(name))[0]:
            told[name] = rfc3339(at)
    if told or "properties" in raw:
        node["properties"] = told
    return node


def _linked(raw: dict[str, Any], session: SessionDraft, options: dict[str, Any]) -> dict[str, Json]:
    """A node with a link to our page, unless it names another tool's."""
    page = text_of(options.get("session_url"))
    place = page if page.startswith("http") else text_of(options.get("origin"))
    if "external_tool" in raw or not place:
        return {}
    return {"external_tool": TOOL, "external_ref": place, "external_id": session.external_id}


def _numbers(total: Total, turns: int, node: dict[str, Any]) -> dict[str, Json]:
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


def _add(made: _Own, event: EventDraft, losses: Losses) -> None:
    """A decision, evidence or approval of the log; everything else is a transcript, which a graph has no place for."""
    known = text_of(dict_of(event.data.get(NATIVE)).get("id"))
    if known and known in made.graph.known:
        made.nodes_by_key[event.key] = known
        return
    made.added += 1
    if origins.to_write(event):
        losses.lose("who sent an event, and when it came", "a product graph has no place for it")
    decision, evidence = event.data.get("decision"), event.data.get("evidence")
    if event.kind == "note" and isinstance(decision, dict):
        _add_node(made, event, "decision", decision, losses)
    elif event.kind == "artifact" and isinstance(evidence, dict):
        _add_node(made, event, "evidence", {"summary": event.text, **evidence}, losses)
    elif event.kind == "approval" or (event.kind == "escalation" and "approval" in event.data):
        _add_approval(made, event, losses)
    else:
        losses.lose(f"events of kind {event.kind}", "a product graph tells that there was a run, not its transcript")


def _add_approval(made: _Own, event: EventDraft, losses: Losses) -> None:
    what, title, members = gates.gate_of(event)
    gate = made.add("review_gate", what, title, **members)
    made.join(gates.CONSTRAINS, gate, made.id)
    if event.tool and event.tool.arguments is not None:
        losses.lose("arguments of approvals", "a product graph has no place for them")
    if (members := gates.record_of(event)) is None:
        return
    if gate in made.graph.made:
        made.graph.made[gate]["status"] = gates.status_of(event)
    answer = made.add("approval_record", event.key, f"{gates.status_of(event).capitalize()}: {title}", **members)
    made.join(gates.ANSWERED, gate, answer)


def _add_node(made: _Own, event: EventDraft, kind: str, told: dict[str, Json], losses: Losses) -> None:
    title = text_of(told.get("title")) or text_of(event.data.get("name")) or event.text.strip().partition("\n")[0]
    fields: dict[str, Json] = {"properties": _properties(kind, told, event.at)}
    if LIFECYCLES[kind]:
        status = told.get("status")
        fields["status"] = status if status in LIFECYCLES[kind] else LIFECYCLES[kind][0]
    if event.at:
        fields["created_at"] = rfc3339(event.at)
    id = made.add(kind, event.key, title, **fields)
    made.join("agent_session_creates_decision" if kind == "decision" else "node_informs_node", made.id, id)
    made.nodes_by_key[event.key] = id
    if kind == "evidence" and (about := made.nodes_by_key.get(event.parent or "")):
        made.join("node_informs_node", id, about)


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


def _report_losses(session: SessionDraft, record: dict[str, Any], losses: Losses) -> None:
    if session.metadata and not record:
        losses.lose(
            "facts about the session beyond its node", "a product graph has no place for it", len(session.metadata)
        )
    if left_out := record.get("left_out"):
        losses.lose("nodes and edges that belong to no session", "they are in the original file only", left_out)
    for name in sorted(session.record.keys() - {NATIVE}):
        losses.lose(f"what {name} keeps beside its events", "a product graph has no place for it")
