"""The agent sessions of a product graph as drafts: what a graph knows of a run, which is not its transcript."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, BinaryIO, Literal, NamedTuple

from ...drafts import Draft, EventDraft, Finding, FormatError, Json, Phase, SessionDraft, Usage
from ..common.documents import dollars, fingerprint
from ..common.jsonio import dumps
from ..common.times import parse, rfc3339
from ..common.values import count_of, list_of, number_of, text_of
from . import canon
from .gates import Gate, events_of, gates_of
from .graph import Graph, Node, open_graph
from .rules import check
from .split import Split

PHASES: dict[str, Phase] = {
    "active": "active", "running": "active", "idle": "active", "completed": "completed", "finished": "completed",
    "crashed": "crashed", "errored": "crashed", "failed": "crashed", "timed_out": "timed_out",
    "cancelled": "cancelled", "canceled": "cancelled", "aborted": "cancelled",
}  # fmt: skip
"""Words of ``status`` and ``session_status``; a session crashes where its property says it errored."""
NATIVE = "upg"
"""Under this name ``data`` and ``record`` keep what the writer needs: the id of the node, the graph around it."""
MOST = 10**9
DATED = "dated"
"""In ``data``: the date of a decision that is no time of the run."""
ABOUT = "about"
"""In ``data`` of evidence: key of the event of its decision, which may come later, and so is no parent."""
LAST = datetime.max.replace(tzinfo=UTC)
"""The order of nodes in a file means nothing: events come by time, those without one last."""


class Around(NamedTuple):
    """Neighbours of a session in the graph."""

    definitions: list[Node]
    models: list[Node]
    skills: list[Node]
    decisions: list[Node]
    evidence: list[Node]
    gates: list[Gate]
    about: dict[str, str]
    """Id of evidence -> id of the decision that it informs."""

    def all(self) -> list[Node]:
        gated = [node for gate in self.gates for node in (gate.node, *gate.records)]
        return [*self.definitions, *self.models, *self.skills, *self.decisions, *self.evidence, *gated]


def read(source: BinaryIO) -> Iterator[Draft]:
    """The drafts of a graph: findings, then each agent_session with its decisions and evidence.

    Raises ``FormatError`` for what is no graph, or one without a session.
    """
    graph = open_graph(source)
    sessions = graph.of_type("agent_session")
    if not sessions and not (graph.of_type("decision") or graph.of_type("evidence")):
        raise FormatError(
            "This product graph holds no agent_session, decision or evidence: there is nothing to review."
        )
    yield from check(graph)
    if not sessions:
        yield from _without_a_run(graph)
        return
    around = {node.id: _around(node, graph) for node in sessions}
    split = Split(graph, {id: {id, *(node.id for node in neighbours.all())} for id, neighbours in around.items()})
    for node in sessions:
        record, finding = split.record(node.id)
        yield from [finding] if finding else ()
        yield _session(node, around[node.id], graph, record)
        yield from _unexpected_values(node)
        yield from _within(node, _events(node, around[node.id]))


def _without_a_run(graph: Graph) -> Iterator[Draft]:
    """Decisions and evidence that no session led to: one session for the whole product."""
    message = "No agent_session led to these decisions and this evidence; they are shown as one session of the product."
    yield Finding("upg.no-session", "info", "/nodes", message)
    whole = Node({"id": text_of(graph.product.get("id")) or "product", "title": graph.product.get("title")}, 0)
    around = Around([], [], [], graph.of_type("decision"), graph.of_type("evidence"), [], {})
    record, finding = Split(graph, {whole.id: {node.id for node in around.all()}}).record(whole.id)
    yield from [finding] if finding else ()
    yield _session(whole, around, graph, record)
    yield from _events(whole, around)


def _around(session: Node, graph: Graph) -> Around:
    definitions = graph.ends("agent_definition_runs_agent_session", target=session.id)
    decisions = [n for n in graph.ends("agent_session_creates_decision", source=session.id) if n.type == "decision"]
    informed = [near for node in (session, *decisions) for near in _informing(node, graph)]
    cited = [node for node in graph.of_type("evidence") if _cites(node, session)]
    return Around(
        definitions,
        [model for node in definitions for model in graph.ends("agent_definition_uses_ai_model", source=node.id)],
        graph.ends("agent_session_invoked_agent_skill", source=session.id),
        decisions,
        list({node.id: node for node in (*informed, *cited)}.values()),
        gates_of(session, graph),
        {
            evidence.id: decision.id
            for decision in decisions
            for evidence in graph.ends("node_informs_node", target=decision.id)
        },
    )


def _informing(node: Node, graph: Graph) -> list[Node]:
    """No typed edge joins evidence with sessions or decisions; the wildcard does, in either direction."""
    near = [*graph.ends("node_informs_node", source=node.id), *graph.ends("node_informs_node", target=node.id)]
    return [other for other in near if other.type == "evidence"]


def _cites(evidence: Node, session: Node) -> bool:
    return evidence.properties.get("source") in (f"agent_session:{session.id}", session.id)


def _session(node: Node, around: Around, graph: Graph, record: dict[str, Json]) -> SessionDraft:
    told = node.properties
    agent = around.definitions[0] if around.definitions else None
    models = [text_of(model.properties.get("model_id")) or model.title for model in around.models]
    return SessionDraft(
        external_id=node.id,
        title=node.title,
        agent_name=agent.title if agent else "",
        started_at=parse(told.get("session_start"))[0],
        ended_at=parse(told.get("session_end"))[0],
        phase=phase_of(node.raw),
        model=models[0] if len(models) == 1 else None,
        summary=text_of(told.get("output_summary")),
        tags=tuple(canon.in_order(tag for tag in list_of(node.raw.get("tags")) if isinstance(tag, str))),
        metadata=_metadata(node, agent, around, graph),
        record={NATIVE: record},
    )


def phase_of(node: dict[str, Any]) -> Phase | None:
    """Of ``status``, else of ``session_status``; ``None`` when neither says it in a known word."""
    properties = node.get("properties")
    inner = properties.get("session_status") if isinstance(properties, dict) else None
    return PHASES.get(text_of(node.get("status"))) or PHASES.get(text_of(inner))


def tools_of(node: Node, around: Around) -> list[str]:
    """Names of the tools that were used; before 0.12.0 they stood in a property."""
    old = [tool for tool in list_of(node.properties.get("tools_invoked")) if isinstance(tool, str)]
    return list(dict.fromkeys([*(skill.title for skill in around.skills), *old]))


def _metadata(node: Node, agent: Node | None, around: Around, graph: Graph) -> dict[str, Json]:
    """The nine fields of a session (U1) and what stands beside them, as stated."""
    stated = {name: node.properties[name] for name in ("turns", "tokens_used", "cost", "error_count", "session_status")
              if isinstance(node.properties.get(name), (str, int, float))}  # fmt: skip
    beside = ("description", "status", "slug", "archived", "external_tool", "external_ref", "external_id")
    stated |= {name: node.raw[name] for name in beside if isinstance(node.raw.get(name), (str, bool))}
    metadata: dict[str, Json] = {
        "upg": stated,
        "tools_invoked": tools_of(node, around),
        "definition": {"title": agent.title, **agent.properties} if agent else None,
        "product": text_of(graph.product.get("title")),
        "recorder": _recorder(graph),
    }
    return {name: value for name, value in metadata.items() if value}


def _recorder(graph: Graph) -> dict[str, str]:
    place = graph.tree.get("source") if graph.legacy else graph.header.get("provenance")
    told = place if isinstance(place, dict) else {}
    pairs = (("name", text_of(told.get("tool"))), ("version", text_of(told.get("tool_version"))))
    return {name: value for name, value in pairs if value}


def _unexpected_values(node: Node) -> Iterator[Finding]:
    for name in ("session_start", "session_end"):
        stated = node.properties.get(name)
        if stated is not None and (doubt := parse(stated)[1]):
            yield Finding("upg.time", "warning", f"{node.pointer}/properties/{name}", f"{doubt}.")
    if count_of(node.properties.get("tokens_used")) is not None:
        message = "The graph tells one number of tokens for the whole session; it is shown as input, whatever it was."
        yield Finding("upg.tokens", "info", f"{node.pointer}/properties/tokens_used", message)


def _events(node: Node, around: Around) -> Iterator[EventDraft]:
    total = _total(node, around)
    if total is not None:
        yield total
    decisions = {node.id: _decision(node) for node in around.decisions}
    told = list(decisions.values())
    for node in around.evidence:
        event, about = _evidence(node), decisions.get(around.about.get(node.id, ""))
        told.append(replace(event, data={**event.data, ABOUT: about.key}) if about else event)
    told += [event for gate in around.gates for event in events_of(gate)]
    yield from sorted(told, key=lambda event: (event.at is None, event.at or LAST, event.key))


def _within(session: Node, events: Iterator[EventDraft]) -> Iterator[EventDraft]:
    """A decision may be dated before the run or long after it: such a date stays with it and is no time of the run."""
    start, end = (parse(session.properties.get(name))[0] for name in ("session_start", "session_end"))
    for event in events:
        is_inside = start is not None and end is not None and event.at is not None and start <= event.at <= end
        is_node = event.kind in ("note", "artifact")
        yield (
            replace(event, at=None, data={**event.data, DATED: rfc3339(event.at)})
            if (is_node and event.at is not None and not is_inside)
            else event
        )


def _total(node: Node, around: Around) -> EventDraft | None:
    """All responses as one: the graph has no others. ``None`` when it tells no number."""
    tokens, cost = count_of(node.properties.get("tokens_used")), dollars(node.properties.get("cost"))
    numbers = {name: number for name in ("turns", "error_count")
               if (number := number_of(node.properties.get(name), MOST)) is not None}  # fmt: skip
    tools = tools_of(node, around)
    if tokens is None and cost is None and not numbers and not tools:
        return None
    model = _session_model(around)
    stated: list[Json] = [tokens, str(cost), numbers, tools, model]
    return EventDraft(
        "model_request",
        f"{node.id}:total:{fingerprint(dumps(stated))}",
        at=parse(node.properties.get("session_end"))[0],
        actor_kind="agent",
        actor_name=around.definitions[0].title if around.definitions else "",
        model=model,
        usage=None if tokens is None else Usage(input_tokens=tokens, quality="aggregate"),
        request=f"{node.id}:total",
        cost=None if cost is None else Decimal(cost),
        data={**numbers, **({"tools": tools} if tools else {}), NATIVE: {"id": node.id}},
        pointer=f"{node.pointer}/properties",
    )


def _session_model(around: Around) -> str | None:
    named = [text_of(model.properties.get("model_id")) or model.title for model in around.models]
    return named[0] if len(named) == 1 and named[0] else None


def _decision(node: Node) -> EventDraft:
    decision = {"title": node.title, **node.properties}
    if isinstance(node.raw.get("status"), str):
        decision["status"] = node.raw["status"]
    parts = [node.title, text_of(node.properties.get("context")), text_of(node.properties.get("rationale"))]
    return _node_event(node, "note", "\n\n".join(part for part in parts if part), "date", {"decision": decision})


def _evidence(node: Node) -> EventDraft:
    data = {"name": node.title, "evidence": node.properties}
    return _node_event(node, "artifact", text_of(node.properties.get("summary")), "observed_at", data)


def _node_event(
    node: Node, kind: Literal["note", "artifact"], text: str, time: str, data: dict[str, Json]
) -> EventDraft:
    return EventDraft(
        kind,
        f"{node.id}:{fingerprint(dumps(canon.ordered([kind, text, data])))}",
        at=parse(node.properties.get(time) or node.raw.get("created_at"))[0],
        actor_kind="agent",
        text=text,
        data={**data, NATIVE: {"id": node.id}},
        pointer=node.pointer,
    )
