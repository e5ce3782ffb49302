"""Findings about a product graph, after the reference validator (core 0.41.0), and some that it does not make.

Errors are its errors. Its warnings are warnings here, but for node types: of the 327 types of the catalog only those
that tell of agents have a meaning here, and the others are kept and told as that. Wrong direction, a status outside
of its lifecycle, properties on plain edges and a broken seal are findings of our own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Finding, Json, Severity
from ..common.values import dict_of, short_text, text_of
from . import canon
from .graph import Graph

EACH = 20
"""So many findings of one rule are told."""
SESSION_STATUS = ("active", "completed", "errored", "timed_out")
PROPERTIES: dict[str, dict[str, Any]] = {
    "agent_session": {
        **dict.fromkeys(("session_start", "session_end", "output_summary"), str),
        **dict.fromkeys(("turns", "tokens_used", "cost", "error_count"), float),
        "session_status": SESSION_STATUS,
    },
    "agent_definition": {
        **dict.fromkeys(("agent_role", "agent_scope", "goal", "backstory", "version"), str),
        **dict.fromkeys(("allow_delegation", "memory_enabled", "allow_code_execution", "multimodal"), bool),
        **dict.fromkeys(("max_iterations", "max_execution_time_seconds"), float),
    },
    "agent_skill": {"skill_trigger": str, "skill_description": str, "invocation_count": float},
    "decision": {
        "layer": ("strategic", "product", "engineering", "design", "business", "other"),
        **dict.fromkeys(("context", "rationale", "date", "decision_outcome", "consequences"), str),
        **dict.fromkeys(("options_considered", "decision_makers", "decision_drivers"), list),
    },
    "evidence": {
        "evidence_rigor": ("quantitative", "qualitative", "anecdotal", "expert_opinion"),
        "evidence_source": ("experiment_run", "observation", "quote", "metric_change", "market_data", "interview"),
        "direction": ("supports", "refutes", "neutral"),
        **dict.fromkeys(("summary", "observed_at", "source"), str),
    },
    "review_gate": {"gate_type": ("human_review", "automated_check", "approval"), "required_approvers": list},
    "approval_record": {"approved": bool, "comment": str, "approved_at": str},
}
"""Per node type: a Python type, or the words that a property may hold."""
LIFECYCLES = {
    "agent_session": ("active", "completed", "crashed", "timed_out"),
    "agent_definition": ("testing", "active", "paused", "disabled", "retired"),
    "agent_skill": ("planning", "active", "paused", "completed", "sunset"),
    "decision": ("proposed", "reviewing", "approved", "rejected", "deprecated"),
    "evidence": (),
    "review_gate": ("pending", "approved", "rejected", "bypassed"),
    "approval_record": (),
}
EDGES = {
    "agent_definition_runs_agent_session": ("agent_definition", "agent_session"),
    "agent_session_creates_decision": ("agent_session", "decision"),
    "agent_session_invoked_agent_skill": ("agent_session", "agent_skill"),
    "agent_definition_uses_ai_model": ("agent_definition", "ai_model"),
    "agent_definition_capable_of_agent_skill": ("agent_definition", "agent_skill"),
    "review_gate_approved_via_approval_record": ("review_gate", "approval_record"),
    "node_informs_node": ("", ""),
    "node_constrains_node": ("", ""),
}
"""Source and target type; "" is any."""
FAMILY = frozenset({"agent_task", "agent_hook"})
"""Further types of the catalog whose names begin like ours; no others do (0.41.0)."""
REMOVED = {"agent_session": ("tools_invoked",), "agent_definition": ("agent_status", "model_ref")}
"""Properties of versions before 0.15.0."""
NAMES = {str: "string", float: "number", bool: "boolean", list: "string[]"}


def check(graph: Graph) -> Iterator[Finding]:
    """All findings of a file, errors first; of one rule at most ``EACH``."""
    told: dict[str, int] = {}
    ranked = sorted(_found(graph), key=lambda finding: ("error", "warning", "info").index(finding.severity))
    for finding in ranked:
        told[finding.rule] = told.get(finding.rule, 0) + 1
        if told[finding.rule] <= EACH:
            yield finding
    for rule, count in told.items():
        if count > EACH:
            yield Finding(rule, "info", "", f"{count - EACH} more findings of this kind are not listed.")


def _found(graph: Graph) -> Iterator[Finding]:
    for pointer, message in graph.repairs:
        # the reference refuses a file with such a node; nothing in it is lost by reading it
        yield _finding("repaired", "error" if pointer.endswith("/properties") else "warning", pointer, message)
    yield from _envelope(graph)
    yield from _seal(graph)
    seen: set[str] = set()
    for place, node in enumerate(graph.nodes):
        yield from _node(node, f"/nodes/{place}", seen)
    for place, edge in enumerate(graph.edges):
        yield from _edge(edge, f"/edges/{place}", graph)


def _envelope(graph: Graph) -> Iterator[Finding]:
    provenance = dict_of(graph.header.get("provenance"))
    places = (
        ((graph.tree, "/exported_at", "exported_at"), (dict_of(graph.tree.get("source")), "/source/tool", "tool"))
        if graph.legacy
        else tuple((provenance, f"/$upg/provenance/{name}", name) for name in ("exported_at", "tool"))
    )
    for holder, pointer, name in places:
        if not text_of(holder.get(name)):
            yield _finding("envelope", "error", pointer, f"{name} is required: who wrote the file, and when.")


def _seal(graph: Graph) -> Iterator[Finding]:
    """Counts and seal of the header (U15); that of the flat envelope has another algorithm and is not compared."""
    counts = dict_of(graph.header.get("counts"))
    for name, found in (("nodes", graph.nodes), ("edges", graph.edges)):
        if name in counts and counts[name] != len(found):
            message = f"The header counts {short_text(counts[name])} {name}, the file holds {len(found)}."
            yield _finding("counts", "warning", f"/$upg/counts/{name}", message)
    integrity = dict_of(graph.header.get("integrity"))
    if integrity.get("algorithm") != canon.ALGORITHM or "body" not in integrity:
        return
    if integrity["body"] != (body := canon.seal(graph.product, graph.nodes, graph.edges)):
        message = (
            f"The seal says {short_text(integrity['body'])}, the content has {body}: it was changed after sealing."
        )
        yield _finding("seal", "warning", "/$upg/integrity/body", message)


def _node(node: Json, pointer: str, seen: set[str]) -> Iterator[Finding]:
    if not isinstance(node, dict):
        yield _finding("node", "error", pointer, "A node must be an object; it is kept and not read.")
        return
    for name in ("id", "type", "title"):
        if not text_of(node.get(name)):
            yield _finding("node", "error", f"{pointer}/{name}", f"Node {name} is required and must be text.")
    if text_of(node.get("title")) and not node["title"].strip():
        yield _finding("node", "error", f"{pointer}/title", "Node title must not be blank.")
    id, kind = text_of(node.get("id")), text_of(node.get("type"))
    if id in seen:
        yield _finding("duplicate", "error", f"{pointer}/id", f"Duplicate node id {short_text(id)}; the first is read.")
    seen.add(id)
    yield from _properties(node, kind, pointer)
    if kind not in PROPERTIES:
        message = f"Nodes of type {short_text(kind)} have no meaning for a session; they are kept as they are."
        strange = kind.startswith("agent_") and kind not in FAMILY
        yield _finding("node-type", "warning" if strange else "info", f"{pointer}/type", message)
    elif "status" in node and node["status"] not in (*LIFECYCLES[kind], None, ""):
        words = ", ".join(LIFECYCLES[kind]) or "none: this type has no lifecycle"
        message = f"Status {short_text(node['status'])} of {kind} is not in its lifecycle ({words})."
        yield _finding("status", "warning", f"{pointer}/status", message)


def _properties(node: dict[str, Any], kind: str, pointer: str) -> Iterator[Finding]:
    properties = node.get("properties", {})
    if properties is not None and not isinstance(properties, dict):
        yield _finding("node", "error", f"{pointer}/properties", "Node properties must be an object when present.")
        return
    schema = PROPERTIES.get(kind, {})
    for name, value in (properties or {}).items():
        place = f"{pointer}/properties/{name}"
        expected = schema.get(name)
        if isinstance(expected, tuple):
            if value not in expected:
                message = f"{name} of {kind} is {short_text(value)}, which is none of {', '.join(expected)}."
                yield _finding("enum", "warning", place, message)
        elif expected and not _fits(value, expected):
            message = f"{name} of {kind} should be {NAMES[expected]}, got {type(value).__name__}."
            yield _finding("type", "warning", place, message)
        elif name in REMOVED.get(kind, ()):
            yield _finding("removed", "info", place, f"{name} was removed from {kind} before 0.15.0; it is still read.")


def _fits(value: Json, expected: type) -> bool:
    if expected is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if expected is list:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, expected)


def _edge(edge: Json, pointer: str, graph: Graph) -> Iterator[Finding]:
    if not isinstance(edge, dict):
        yield _finding("edge", "error", pointer, "An edge must be an object; it is kept and not read.")
        return
    for name in ("id", "type"):
        if not text_of(edge.get(name)):
            yield _finding("edge", "error", f"{pointer}/{name}", f"Edge {name} is required and must be text.")
    ends = {name: text_of(edge.get(name)) for name in ("source", "target")}
    for name, id in ends.items():
        if id not in graph.by_id:
            message = f"Edge {name} references unknown node id: {short_text(edge.get(name))}."
            yield _finding("dangling", "error", f"{pointer}/{name}", message)
    if ends["source"] and ends["source"] == ends["target"]:
        yield _finding("loop", "warning", pointer, f"The edge leads from {short_text(ends['source'])} to itself.")
    yield from _edge_type_findings(edge, [graph.by_id[id].type for id in ends.values() if id in graph.by_id], pointer)


def _edge_type_findings(edge: dict[str, Any], types: list[str], pointer: str) -> Iterator[Finding]:
    kind = text_of(edge.get("type"))
    if kind not in EDGES:
        ours = "agent_session" in types or "agent_session" in kind
        message = f"Edges of type {short_text(kind)} are not known here; they are kept as they are."
        yield _finding("edge-type", "warning" if ours else "info", f"{pointer}/type", message)
        return
    expected = EDGES[kind]
    if len(types) == 2 and all(expected) and tuple(types) != expected:
        message = f"{kind} leads from {expected[0]} to {expected[1]}, here from {types[0]} to {types[1]}."
        yield _finding("direction", "warning", pointer, message)
    if edge.get("properties"):
        yield _finding("edge-properties", "warning", f"{pointer}/properties", f"{kind} carries no properties.")


def _finding(rule: str, severity: Severity, path: str, message: str) -> Finding:
    return Finding(f"upg.{rule}", severity, path, message)
