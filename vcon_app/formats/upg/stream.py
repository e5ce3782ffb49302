"""Any number of sessions as one product graph, in memory that does not grow with them.

The canonical form sorts all nodes and edges, and its seal stands before them. So they lie in a temporary SQLite file
meanwhile, which gives them back in order: once to be sealed, once to be written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from tempfile import NamedTemporaryFile
from typing import Any

import orjson

from ...drafts import EventDraft, Json, Losses, SessionDraft
from ..common.values import text_of
from . import canon
from .sound import sound_graph
from .write import PRODUCT, SessionGraph, header_of

Part = tuple[SessionDraft, Iterable[EventDraft], dict[str, Any]]
"""A session, those of its events that a graph has a place for, and options of its own, ``tally`` among them."""
PIECE = 256 * 1024
TABLES = """
CREATE TABLE node (id TEXT PRIMARY KEY, a BLOB, b BLOB, json BLOB) WITHOUT ROWID;
CREATE TABLE edge (id TEXT PRIMARY KEY, a BLOB, b BLOB, c BLOB, source TEXT, target TEXT, json BLOB) WITHOUT ROWID;
"""
NODES = "SELECT json FROM node ORDER BY a, b, id"
WHOLE = "EXISTS (SELECT 1 FROM node WHERE id = source) AND EXISTS (SELECT 1 FROM node WHERE id = target)"
EDGES = f"SELECT json FROM edge WHERE {WHOLE} ORDER BY a, b, c, id"


def write_stream(parts: Iterable[Part], losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The bytes of one ``.upg`` file, in pieces; options as of ``write_many``.

    What two sessions have in common (a definition, a skill of a graph) is written once; an edge to a node that none of
    them has is left out, and told.
    """
    with NamedTemporaryFile(prefix="countersign-graph-") as file, closing(_opened(file.name)) as kept:
        for session, events, own in parts:
            _keep(kept, session, events, losses, options | own)
        kept.commit()
        yield from _written(kept, losses, options)


def _opened(path: str) -> sqlite3.Connection:
    """Pieces of one file are written by whichever thread is free, one after the other."""
    kept = sqlite3.connect(path, check_same_thread=False)
    kept.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {TABLES}")
    return kept


def _keep(
    kept: sqlite3.Connection, session: SessionDraft, events: Iterable[EventDraft], losses: Losses,
    options: dict[str, Any],
) -> None:  # fmt: skip
    graph = SessionGraph(old=False)
    graph.add_session(session, events, losses, options)
    nodes, _, _ = sound_graph(graph.nodes, [], losses)
    for node in map(canon.canonical_node, nodes):
        kind, name, _ = canon.node_order(node)
        row = (_text(node["id"]), kind, name, orjson.dumps(node))
        kept.execute("INSERT OR IGNORE INTO node VALUES (?, ?, ?, ?)", row)
    for edge in [*graph.edges, *graph.others]:
        if not isinstance(edge, dict) or not all(
            text_of(edge.get(name)) for name in ("id", "source", "target", "type")
        ):
            losses.lose("an edge without id, type or end", "the reference refuses a file with it")
            continue
        made = canon.canonical_edge(edge)
        ends = [_text(made[name]) for name in ("source", "target")]
        row = (_text(made["id"]), *canon.edge_order(made)[:3], *ends, orjson.dumps(made))
        kept.execute("INSERT OR IGNORE INTO edge VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def _text(value: Json) -> str:
    """SQLite keeps no lone surrogates, which ids of strange files may hold."""
    return text_of(value).encode("utf-8", "replace").decode()


def _written(kept: sqlite3.Connection, losses: Losses, options: dict[str, Any]) -> Iterator[bytes]:
    counts = {
        "nodes": kept.execute("SELECT count(*) FROM node").fetchone()[0],
        "edges": kept.execute(f"SELECT count(*) FROM edge WHERE {WHOLE}").fetchone()[0],
    }
    if lost := kept.execute("SELECT count(*) FROM edge").fetchone()[0] - counts["edges"]:
        losses.lose("edges to nodes of other sessions", "those are not in this file", lost)
    product = canon.canonical(options.get("product") or PRODUCT, [], [])["product"]
    seal = hashlib.sha256()
    for piece in _body(kept, product, 0):
        seal.update(piece)
    header = header_of(product, counts, seal.hexdigest()[:32], {}, options)
    yield b'{\n  "$upg": ' + canon.dump(header, 2, 1).encode() + b",\n"
    yield from _in_pieces(_body(kept, product, 2))
    yield b"}\n"


def _body(kept: sqlite3.Connection, product: Json, indent: int) -> Iterator[bytes]:
    """``product``, ``nodes`` and ``edges``: as they are sealed with indent 0, else without the outer braces."""
    end, colon, inner = ("\n", ": ", "    ") if indent else ("", ":", "")
    outer = " " * indent
    yield b"" if indent else b"{"
    yield f'{outer}"product"{colon}{canon.dump(product, indent, 1)},{end}'.encode("utf-8", "replace")
    for name, query, after in (("nodes", NODES, ","), ("edges", EDGES, "")):
        between = f'{outer}"{name}"{colon}[{end}'
        is_empty = True
        for (row,) in kept.execute(query):
            item = canon.dump(orjson.loads(row), indent, 2)
            yield f"{between}{inner}{item}".encode("utf-8", "replace")
            between, is_empty = f",{end}", False
        closing_ = f"{between.rstrip()}]" if is_empty else f"{end}{outer}]"
        yield f"{closing_}{after}{end}".encode()
    yield b"" if indent else b"}"


def _in_pieces(small: Iterator[bytes]) -> Iterator[bytes]:
    held = bytearray()
    for one in small:
        held += one
        if len(held) >= PIECE:
            yield bytes(held)
            held.clear()
    yield bytes(held)
