"""Messages that form a tree: an edited prompt or a second answer leaves the older one behind as a branch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ...drafts import Draft, EventDraft
from .calls import ID_LIMIT
from .lines import Line

LOST = "unreachable"
"""The branch of messages that no path from a first message leads to."""


@dataclass(frozen=True, slots=True)
class Node:
    """A message and the one it answers. ``when`` says which of two is newer."""

    id: str
    parent: str | None
    value: Any
    when: float = 0.0


class Branches:
    """Gives messages their depth, and those of a branch the event that the branch left from."""

    def __init__(self) -> None:
        self._tips: dict[str, str | None] = {}
        """Message -> key of its last event, or of the last one before it."""
        self._forks: dict[str, str | None] = {}

    def begin_message(self, line: Line, node: Node, branch: str) -> None:
        """Set depth and parent of a message's line, before its events. Depth 1 on a branch: it opens no turns."""
        before = self._tips[node.id] = self._tips.get(node.parent or "")
        if branch:
            line.depth, line.data = 1, {"branch": branch[:ID_LIMIT]}
            line.parent = self._forks.setdefault(branch, before)

    def end_message(self, node: Node, drafts: Iterable[Draft]) -> None:
        """Remember the last event of a message as the one that answers to it follow."""
        for draft in drafts:
            if isinstance(draft, EventDraft):
                self._tips[node.id] = draft.key


def walk(nodes: list[Node], current: str | None) -> Iterator[tuple[Node, str]]:
    """Each message behind the one it answers, with the id of the branch it is on: "" on the way to ``current``.

    Of several answers those that were left come first: a chat that goes on, on this or on a new branch,
    only grows at its end. Without links all are on the one path, in their order; without ``current`` the
    path leads to the deepest leaf, of several the newest.
    """
    known = {node.id: node for node in nodes}
    if not any(node.parent in known for node in nodes):
        yield from ((node, "") for node in nodes)
        return
    answers: dict[str | None, list[Node]] = {}
    for node in known.values():
        answers.setdefault(node.parent if node.parent in known else None, []).append(node)
    path = _path(known, current if current in known else _leaf(answers))
    reached = set()
    for node, branch in _nodes_below(answers, path):
        reached.add(node.id)
        yield node, branch
    yield from ((node, LOST) for node in known.values() if node.id not in reached)


def _nodes_below(answers: dict[str | None, list[Node]], path: set[str]) -> Iterator[tuple[Node, str]]:
    stack = _ordered(answers.get(None, []), "", path)
    while stack:
        node, branch = stack.pop()
        yield node, branch
        stack += _ordered(answers.get(node.id, []), branch, path)


def _ordered(nodes: list[Node], branch: str, path: set[str]) -> list[tuple[Node, str]]:
    """Answers to one message, the last one first: a stack gives them back in their order."""
    placed = [(node, "" if node.id in path else branch or node.id) for node in reversed(nodes)]
    return sorted(placed, key=lambda pair: pair[0].id not in path)


def _path(known: dict[str, Node], leaf: str | None) -> set[str]:
    path: set[str] = set()
    while leaf in known and leaf not in path:
        path.add(leaf)
        leaf = known[leaf].parent
    return path


def _leaf(answers: dict[str | None, list[Node]]) -> str | None:
    """The deepest message that nothing answers, of several the newest."""
    level, found = answers.get(None, []), None
    while level:
        found = max(level, key=lambda node: node.when).id
        level = [answer for node in level for answer in answers.get(node.id, ())]
    return found
