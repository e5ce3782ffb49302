"""Spans as a tree: which of them run inside of a sub-agent, and what started it.

An agent that runs below a tool, or below an agent that makes requests of its own, is a sub-agent. An agent below
one that makes none is not: frameworks wrap a run into a workflow, and call both agents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["request", "tool", "agent", "other"]
MOST_LEVELS = 100
"""Spans above a span that are looked at."""


@dataclass(frozen=True, slots=True)
class Node:
    """A span: its id, that of the span it runs in, and what it is."""

    id: str
    parent: str | None
    kind: Kind


class Forest:
    """Tree of spans by their parents, which may come in pieces. Missing parents make roots; circles are cut."""

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes: dict[str, Node] = {}
        self._busy: set[str] = set()
        """Agents and tools that make requests themselves."""
        self._unowned: list[Node] = []
        """Requests below a span that has not come yet."""
        self.add(nodes)

    def add(self, nodes: Iterable[Node]) -> None:
        """Take more spans."""
        waiting = self._unowned
        for node in nodes:
            self._nodes[node.id] = node
            if node.kind == "request":
                waiting.append(node)
        self._unowned = []
        for node in waiting:
            if owner := self._owner(node):
                self._busy.add(owner.id)
            elif not self.is_rooted(node.id):
                self._unowned.append(node)

    def is_rooted(self, id: str) -> bool:
        """Whether every span above this one has come; of a circle, and of a chain of over ``MOST_LEVELS``, too."""
        top = self._nodes[id]
        for above in self._above(top):
            top = above
        return top.parent is None or top.parent in self._nodes

    def starters(self, id: str) -> list[str]:
        """Ids of the tools and sub-agents that this span runs inside of, the outermost first."""
        found = [node.id for node in self._above(self._nodes[id]) if node.kind == "tool" or self._is_sub(node)]
        return found[::-1]

    def is_sub_agent(self, id: str) -> bool:
        """Whether this is an agent that another one started without a tool."""
        return self._is_sub(self._nodes[id])

    def requests_around(self, id: str) -> list[str]:
        """Ids of the requests that this one runs inside of: several instrumentations tell of the same."""
        return [above.id for above in self._above(self._nodes[id]) if above.kind == "request"]

    def agents_around(self, id: str) -> list[str]:
        """Ids of the agents that a span is part of, the nearest first."""
        return [above.id for above in self._above(self._nodes[id]) if above.kind == "agent"]

    def agent_of(self, id: str) -> str | None:
        """Id of the agent that a span is part of."""
        return next((above.id for above in self._above(self._nodes[id]) if above.kind == "agent"), None)

    def level(self, id: str) -> int:
        """Number of spans above this one: of two that start together the outer one comes first."""
        return sum(1 for _ in self._above(self._nodes[id]))

    def _is_sub(self, node: Node) -> bool:
        owner = self._owner(node) if node.kind == "agent" else None
        return owner is not None and owner.kind == "agent" and owner.id in self._busy

    def _owner(self, node: Node) -> Node | None:
        """The nearest agent or tool above."""
        return next((above for above in self._above(node) if above.kind in ("agent", "tool")), None)

    def _above(self, node: Node) -> Iterator[Node]:
        seen = {node.id}
        for _ in range(MOST_LEVELS):
            above = self._nodes.get(node.parent or "")
            if above is None or above.id in seen:
                return
            seen.add(above.id)
            yield above
            node = above
