"""Nodes and edges that the reference validator accepts: what it would refuse a file for is mended, or set aside.

A node without id or type, an edge that leads nowhere and a second node of one id cannot be written as what they are:
they go under ``x-found`` beside the graph, where readers keep what they do not know.
"""

from __future__ import annotations

from typing import Any

from ...drafts import Json, Losses
from ..common.values import dict_of, text_of

FOUND = "x-found"
"""Beside the graph: nodes and edges that cannot stand in it. In a node: properties that are no object."""
WHY = f"the reference refuses a file with it; kept under {FOUND}"


def sound_graph(nodes: list[Any], edges: list[Any], losses: Losses) -> tuple[list[Any], list[Any], dict[str, Json]]:
    """Nodes, edges, and what is set aside (empty where all is well)."""
    aside: dict[str, list[Json]] = {"nodes": [], "edges": []}
    known: set[str] = set()
    kept_nodes: list[Any] = []
    for node in nodes:
        fault = _fault_of_node(node, known)
        if fault:
            losses.lose(f"a node {fault}", WHY)
            aside["nodes"].append(node)
            continue
        known.add(node["id"])
        kept_nodes.append(_mended(node, losses))
    kept_edges: list[Any] = []
    for edge in edges:
        if fault := _fault_of_edge(edge, known):
            losses.lose(f"an edge {fault}", WHY)
            aside["edges"].append(edge)
        else:
            kept_edges.append(edge)
    found: dict[str, Json] = {name: [*items] for name, items in aside.items() if items}
    return kept_nodes, kept_edges, found


def _fault_of_node(node: Json, known: set[str]) -> str:
    if not isinstance(node, dict):
        return "that is no object"
    missing = [name for name in ("id", "type") if not text_of(node.get(name))]
    if missing:
        return f"without {missing[0]}"
    return "with the id of another one" if node["id"] in known else ""


def _mended(node: dict[str, Any], losses: Losses) -> dict[str, Any]:
    if not text_of(node.get("title")).strip():
        losses.lose("a node without title", "the reference refuses that; it is called by its type")
        node = {**node, "title": node["type"]}
    if node.get("properties") is not None and not isinstance(node["properties"], dict):
        losses.lose("properties of a node that are no object", f"written as {FOUND}: the reference refuses that")
        node = {name: value for name, value in node.items() if name != "properties"} | {FOUND: node["properties"]}
    return node


def _fault_of_edge(edge: Json, known: set[str]) -> str:
    missing = [name for name in ("id", "type") if not text_of(dict_of(edge).get(name))]
    if missing:
        return f"without {missing[0]}"
    ends = {text_of(dict_of(edge).get(name)) for name in ("source", "target")}
    return "" if ends <= known else "that leads nowhere"
