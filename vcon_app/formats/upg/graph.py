"""From the bytes of a file to a product graph: both envelopes, one shape. Raises ``FormatError`` for what is none."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from ...drafts import FormatError, Json
from ..common.head import Head, open_plain, why_damaged
from ..common.jsonio import Unreadable, loads
from ..common.values import dict_of, list_of, text_of, too_deep

LARGEST = 64 * 1024 * 1024
"""A graph is one document and held in memory."""
ENVELOPE = frozenset({"$upg", "upg_version", "exported_at", "source", "member_kind", "_integrity"})
BODY = frozenset({"product", "nodes", "edges"})


@dataclass(slots=True)
class Node:
    """One node with its place in the file."""

    raw: dict[str, Any]
    place: int

    @property
    def id(self) -> str:
        return text_of(self.raw.get("id"))

    @property
    def type(self) -> str:
        return text_of(self.raw.get("type"))

    @property
    def title(self) -> str:
        return text_of(self.raw.get("title")).strip()

    @property
    def properties(self) -> dict[str, Any]:
        return dict_of(self.raw.get("properties"))

    @property
    def pointer(self) -> str:
        return f"/nodes/{self.place}"


@dataclass(slots=True)
class Graph:
    """A product graph. ``nodes`` and ``edges`` are as they stand in the file but for repairs."""

    tree: dict[str, Any]
    header: dict[str, Any]
    nodes: list[Json]
    edges: list[Json]
    repairs: list[tuple[str, str]] = field(default_factory=list)
    """JSON pointer and what was read otherwise than it stands there."""
    by_id: dict[str, Node] = field(default_factory=dict)

    @property
    def product(self) -> dict[str, Any]:
        return dict_of(self.tree.get("product"))

    @property
    def legacy(self) -> bool:
        """The flat envelope from before ``$upg``."""
        return "$upg" not in self.tree

    @property
    def extra(self) -> dict[str, Json]:
        """Members of the file that neither envelope names."""
        return {key: value for key, value in self.tree.items() if key not in ENVELOPE | BODY}

    def of_type(self, name: str) -> list[Node]:
        return [node for node in self.by_id.values() if node.type == name]

    def ends(self, kind: str, *, source: str | None = None, target: str | None = None) -> list[Node]:
        """The nodes at the other ends of edges of this type, in the order of the file."""
        found = [
            text_of(edge.get("target" if source is not None else "source"))
            for edge in self.edges
            if isinstance(edge, dict)
            and edge.get("type") == kind
            and edge.get("source" if source is not None else "target") == (source if source is not None else target)
        ]
        return [self.by_id[name] for name in dict.fromkeys(found) if name in self.by_id]


def detect(head: Head) -> bool:
    """Is this a product graph in either envelope?"""
    if not head.data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return False
    keys = head.keys
    return "$upg" in keys or ("upg_version" in keys and head.shape.get("nodes", "[" if "source" in keys else "") == "[")


def open_graph(source: BinaryIO) -> Graph:
    """The graph in a stream, gunzipped; strings that should be objects are read as JSON where they are."""
    tree, repairs = _load(source)
    if not isinstance(tree, dict):
        raise FormatError("This is JSON, but no product graph: it is not an object.")
    header = dict_of(tree.get("$upg"))
    if header.get("kind") == "portfolio" or "cross_edges" in tree:
        raise FormatError("This is a portfolio of several products; import the .upg file of each product.")
    if not isinstance(tree.get("nodes"), list) or not ("$upg" in tree or "upg_version" in tree):
        raise FormatError("This is no product graph: it needs $upg (or upg_version) and a list of nodes.")
    graph = Graph(tree, header, list(tree["nodes"]), list_of(tree.get("edges")))
    graph.repairs = [("", repair) for repair in repairs]
    graph.nodes = [_repaired(node, place, graph) for place, node in enumerate(graph.nodes)]
    for place, node in enumerate(graph.nodes):
        if isinstance(node, dict) and text_of(node.get("id")):
            graph.by_id.setdefault(node["id"], Node(node, place))
    return graph


def _load(source: BinaryIO) -> tuple[Json, list[str]]:
    try:
        data = open_plain(source).read(LARGEST + 1)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(f"it is a gzip file: {why_damaged(error)}") from None
    if len(data) > LARGEST:
        raise FormatError(
            f"This product graph is larger than {LARGEST:,} bytes, more than is held in memory. Split it."
        )
    if not data.strip():
        raise FormatError("This file is empty.")
    try:
        tree, repairs = loads(data.removeprefix(b"\xef\xbb\xbf"))
    except Unreadable as error:
        raise FormatError(f"This is not a readable product graph: {error}.") from None
    if too_deep(tree):
        raise FormatError("This file nests deeper than 200 levels; it is refused as hostile.")
    return tree, [f"The JSON had to be repaired: {repair}." for repair in repairs]


def _repaired(node: Json, place: int, graph: Graph) -> Json:
    """``properties`` and ``tags`` that some tools encode twice (U10)."""
    if not isinstance(node, dict):
        return node
    made = dict(node)
    for name, kind in (("properties", dict), ("tags", list)):
        value = node.get(name)
        if isinstance(value, str) and isinstance(inner := _decoded(value), kind):
            made[name] = inner
            graph.repairs.append((f"/nodes/{place}/{name}", f"{name} is JSON inside of a string; it was read as that."))
    return made


def _decoded(value: str) -> Json:
    try:
        found, _ = loads(value.encode("utf-8", "replace"))
    except Unreadable:
        return None
    return None if too_deep(found) else found
