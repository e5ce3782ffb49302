"""The canonical form of a product graph, and its seal: the bytes that the reference implementation (0.41.0) writes.

It is JavaScript's: numbers print as there, keys sort by UTF-16 code units, and those that look like array indices
come first. Python differs in each (``1e-07``, ``1.0``, astral characters behind the rest).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from ...drafts import Json
from ...signing.canonical import indices_first, number, utf_16_units

FORMAT_VERSION = "1.0.0"
SPEC_VERSION = "0.41.0"
"""The catalog whose meanings are written here; others are read all the same."""
ALGORITHM = "sha256-128"
NODE = (
    "id", "type", "title", "slug", "aliases", "key", "description", "tags", "status", "archived", "archived_at",
    "lifecycle_status", "source_id", "source_type", "mapping_confidence", "external_tool", "external_ref",
    "external_id", "external_links", "created_at", "updated_at", "sort_order", "properties",
)  # fmt: skip
EDGE = ("id", "source", "target", "type", "mapping_confidence", "provenance", "properties")
PRODUCT = ("id", "title", "description", "stage", "properties")
INNER = {"provenance": ("tool", "from", "at"), "external_links": ("url", "label", "kind")}
REQUIRED = {NODE: ("id", "type", "title"), EDGE: ("id", "source", "target", "type"), PRODUCT: ("id", "title")}
"""These are written also when they are empty."""
EMPTY: tuple[Json, ...] = (None, "", [], {})


def seal(product: Json, nodes: list[Any], edges: list[Any]) -> str:
    """``integrity.body``: 32 hex digits over product, nodes and edges in canonical form."""
    return sealed(canonical(product, nodes, edges))


def sealed(body: dict[str, Json]) -> str:
    """The seal of a body that is canonical already."""
    return hashlib.sha256(dump(body).encode("utf-8", "replace")).hexdigest()[:32]


def canonical(product: Json, nodes: list[Any], edges: list[Any]) -> dict[str, Json]:
    """``{product, nodes, edges}``, sorted, without what is empty; what is no object stays out."""
    found = [node for node in nodes if isinstance(node, dict)]
    return {
        "product": _arranged(_named_by_its_node(product if isinstance(product, dict) else {}, found), PRODUCT),
        "nodes": sorted(map(canonical_node, found), key=node_order),
        "edges": sorted((canonical_edge(edge) for edge in edges if isinstance(edge, dict)), key=edge_order),
    }


def canonical_node(node: dict[str, Any]) -> dict[str, Json]:
    """A node with its members in order."""
    return _arranged(_tagged(node), NODE)


def canonical_edge(edge: dict[str, Any]) -> dict[str, Json]:
    """An edge with its members in order."""
    return _arranged(edge, EDGE)


def _named_by_its_node(product: dict[str, Any], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    """A node of type product with the product's id knows better what it is called."""
    for node in nodes:
        if node.get("type") == "product" and node.get("id") == product.get("id"):
            properties = node.get("properties")
            stage = node.get("stage") or (properties.get("stage") if isinstance(properties, dict) else None)
            told = {"title": node.get("title"), "description": node.get("description"), "stage": stage}
            return product | {name: value for name, value in told.items() if value not in EMPTY}
    return product


def _tagged(node: dict[str, Any]) -> dict[str, Any]:
    tags = node.get("tags")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        return node
    return {**node, "tags": in_order(tags)}


def in_order(tags: Iterable[str]) -> list[str]:
    """Tags as they are written: each once, sorted."""
    return sorted(set(tags), key=_units)


def _arranged(item: dict[str, Any], names: tuple[str, ...]) -> dict[str, Json]:
    kept = {key: value for key, value in item.items() if value not in EMPTY or key in REQUIRED[names]}
    ordered = [name for name in names if name in kept] + sorted(kept.keys() - set(names), key=_units)
    return {key: _inner(key, kept[key]) for key in indices_first(ordered)}


def _inner(key: str, value: Json) -> Json:
    """Only ``properties`` are sorted; of other objects the known members have their order (databases lose it)."""
    if key == "properties":
        return ordered(value)
    if key in INNER and isinstance(value, list):
        return [_inner(key, item) if isinstance(item, dict) else item for item in value]
    if key in INNER and isinstance(value, dict):
        return {name: value[name] for name in (*INNER[key], *value) if name in value}
    return value


def ordered(value: Json) -> Json:
    """Keys in order at every level; lists keep theirs, and nothing is dropped."""
    if isinstance(value, dict):
        return {key: ordered(value[key]) for key in indices_first(sorted(value, key=_units))}
    return [ordered(item) for item in value] if isinstance(value, list) else value


def _units(text: Json) -> bytes:
    return utf_16_units(text) if isinstance(text, str) else b""


def node_order(node: dict[str, Json]) -> tuple[bytes, ...]:
    """By what nodes are sorted: as bytes, compared from the first one."""
    return _units(node.get("type")), _units(node.get("slug") or node.get("title")), _units(node.get("id"))


def edge_order(edge: dict[str, Json]) -> tuple[bytes, ...]:
    """The same of edges."""
    return tuple(_units(edge.get(name)) for name in ("source", "target", "type", "id"))


def dump(value: Json, indent: int = 0, level: int = 0) -> str:
    """JSON as ``JSON.stringify(value, null, indent)`` writes it."""
    if isinstance(value, dict):
        separator = ": " if indent else ":"
        items = [f"{_text(key)}{separator}{dump(item, indent, level + 1)}" for key, item in value.items()]
        return _bracketed("{}", items, indent, level)
    if isinstance(value, list):
        return _bracketed("[]", [dump(item, indent, level + 1) for item in value], indent, level)
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return number(value)


def _bracketed(brackets: str, items: list[str], indent: int, level: int) -> str:
    if not items or not indent:
        return f"{brackets[0]}{','.join(items)}{brackets[1]}"
    inner, outer = "\n" + " " * (indent * (level + 1)), "\n" + " " * (indent * level)
    return f"{brackets[0]}{inner}{f',{inner}'.join(items)}{outer}{brackets[1]}"


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
