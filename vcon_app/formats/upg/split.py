"""A graph divided among its sessions, for the way out: what belongs to none of them goes with the first."""

from __future__ import annotations

from typing import Any

from ...drafts import Finding, Json
from ..common.jsonio import dumps
from ..common.values import text_of
from .graph import Graph

LARGEST_RECORD = 1024 * 1024
"""Bytes of nodes that belong to no session; more of them stay in the original file."""


class Split:
    """``near``: for each session (or the whole product, in a graph without one) the ids of the nodes around it."""

    def __init__(self, graph: Graph, near: dict[str, set[str]]) -> None:
        self._graph, self._near = graph, near
        self._first = next(iter(near))
        self._taken = set().union(*near.values())
        self._edges = {name: self._between(ids) for name, ids in near.items()}
        placed = {id(edge) for edges in self._edges.values() for edge in edges}
        self._homeless = [edge for edge in graph.edges if id(edge) not in placed]

    def record(self, name: str) -> tuple[dict[str, Json], Finding | None]:
        """What is kept with a session; the finding says that the rest was too much."""
        graph, near = self._graph, self._near[name]
        nodes: list[Json] = [node.raw for id, node in graph.by_id.items() if id in near]
        record: dict[str, Json] = {"node": name, "product": graph.product, "nodes": nodes, "edges": self._edges[name]}
        header = {key: graph.header[key] for key in ("kind", "member_kind", "summary") if key in graph.header}
        if "member_kind" in graph.tree:
            header["member_kind"] = graph.tree["member_kind"]
        if header:
            record["header"] = header
        if cross := self._cross(name):
            record["cross"] = cross
        return self._with_rest(record, near) if name == self._first else (record, None)

    def _with_rest(self, record: dict[str, Json], near: set[str]) -> tuple[dict[str, Json], Finding | None]:
        nodes = [node for node in self._graph.nodes if not isinstance(node, dict) or _id(node) not in self._taken]
        others = self._taken - near
        edges = [edge for edge in self._homeless if not _ends(edge) & others]
        rest = {"rest": nodes, "rest_edges": edges, "extra": self._graph.extra}
        if (size := len(dumps(rest))) > LARGEST_RECORD:
            message = f"{len(nodes)} nodes that belong to no session ({size:,} bytes) stay in the original file only."
            return {**record, "left_out": len(nodes) + len(edges)}, Finding("upg.large", "info", "/nodes", message)
        return record | {name: value for name, value in rest.items() if value}, None

    def _between(self, near: set[str]) -> list[Json]:
        """Edges that lead to nothing else in the file; where they lead to nothing at all they stay with the session."""
        far = self._graph.by_id.keys() - near
        return [edge for edge in self._graph.edges if _ends(edge) & near and not _ends(edge) & far]

    def _cross(self, name: str) -> list[Json]:
        """Edges to what another session has, or (from any but the first) to what none has."""
        near = self._near[name]
        far = self._taken - near if name == self._first else self._graph.by_id.keys() - near
        return [edge for edge in self._homeless if _ends(edge) & near and _ends(edge) & far]


def _id(node: dict[str, Any]) -> str:
    return text_of(node.get("id"))


def _ends(edge: Json) -> set[str]:
    return {text_of(edge.get("source")), text_of(edge.get("target"))} if isinstance(edge, dict) else set()
