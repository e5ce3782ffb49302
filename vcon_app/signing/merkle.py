"""Merkle trees over SHA-256 (RFC 6962 s2.1): one root for many leaves, and a short proof for each of them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

EMPTY = hashlib.sha256(b"").digest()


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over the leaves in this order."""
    level = [_leaf(leaf) for leaf in leaves]
    while len(level) > 1:
        level = _above(level)
    return level[0] if level else EMPTY


def proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The hashes that lead from one leaf to the root, the nearest first. Raises ``IndexError``."""
    if not 0 <= index < len(leaves):
        raise IndexError(f"there is no leaf {index} among {len(leaves)}")
    level, path = [_leaf(leaf) for leaf in leaves], []
    while len(level) > 1:
        beside = index ^ 1
        if beside < len(level):
            path.append(level[beside])
        level, index = _above(level), index // 2
    return path


def root_from(leaf: bytes, index: int, count: int, path: Sequence[bytes]) -> bytes | None:
    """The root that a leaf and its proof lead to; None when the proof is too short or too long for such a tree."""
    if not 0 <= index < count:
        return None
    node, rest = _leaf(leaf), list(path)
    while count > 1:
        beside = index ^ 1
        if beside < count:
            if not rest:
                return None
            sibling = rest.pop(0)
            node = _node(node, sibling) if index % 2 == 0 else _node(sibling, node)
        index, count = index // 2, (count + 1) // 2
    return None if rest else node


def _above(level: list[bytes]) -> list[bytes]:
    """The level above: nodes over pairs; one that is left over moves up as it is, which is RFC 6962's tree, too."""
    pairs = [_node(level[i], level[i + 1]) for i in range(0, len(level) - 1, 2)]
    return pairs + level[len(level) - len(level) % 2 :]


# A byte before each tells leaves from nodes: else a node could be passed off as a leaf (RFC 6962 s2.1).
def _leaf(content: bytes) -> bytes:
    return hashlib.sha256(b"\0" + content).digest()


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\1" + left + right).digest()
