"""One conversation: the session, then the messages of its tree."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ...drafts import Draft, Finding, SessionDraft
from ..common.calls import ID_LIMIT, Call
from ..common.jsonio import dumps
from ..common.lines import Line, digest
from ..common.reading import Findings
from ..common.records import part_of
from ..common.session_ids import SessionIds
from ..common.times import from_epoch, parse, rfc3339
from ..common.tree import LOST, Branches, Node, walk
from ..common.values import bounded, dict_of, list_of, scalars_of, short_text, text_of
from .messages import message_event

FORMAT = "chatgpt-export"
CONSUMED = frozenset({"id", "conversation_id", "title", "create_time", "update_time", "mapping", "default_model_slug"})
"""Keys of a conversation that the session tells; the others are kept for a writer."""


class Chat:
    """Reads one conversation; its state ends with it."""

    def __init__(self, line: Line, findings: Findings, ids: SessionIds) -> None:
        self.findings = findings
        self._line = line
        self._ids = ids
        self._branches = Branches()
        self._running: dict[str, Call | None] = {}
        """Node -> the tool call that a result below it belongs to."""

    def drafts(self) -> Iterator[Draft]:
        """The session and its events, with what is odd about them."""
        yield from self._ids.begin(
            _external_id(self._line.value) or f"{FORMAT}-{digest(self._line.raw)}", self._line.pointer
        )
        yield self._session()
        value = self._line.value
        nodes = [self._node(id, index) for index, id in enumerate(value["mapping"])]
        above = {child: node.id for node in nodes for child in list_of(node.value.get("children")) if _is_id(child)}
        linked = [node if node.parent else Node(node.id, above.get(node.id), node.value, node.when) for node in nodes]
        for node, branch in walk(linked, text_of(value.get("current_node"))):
            yield from self._message(node, branch)

    def _node(self, id: str, index: int) -> Node:
        value = dict_of(self._line.value["mapping"][id])
        at = moment_of(dict_of(value.get("message")).get("create_time"))
        return Node(id, text_of(value.get("parent")) or None, value, at.timestamp() if at else index)

    def _message(self, node: Node, branch: str) -> Iterator[Draft]:
        message = node.value.get("message")
        before = self._running[node.id] = self._running.get(node.parent or "")
        pointer = f"/mapping/{node.id.replace('~', '~0').replace('/', '~1')}/message"
        line = part_of(self._line, message if isinstance(message, dict) else node.value, pointer)
        self._branches.begin_message(line, node, branch)
        if branch == LOST:
            yield from self._odd("circle", line, "this message answers one that answers it, in a circle")
        if not isinstance(message, dict):  # a root holds none
            if message is not None or not node.value:
                yield from self._odd("no-message", line, f"{short_text(message)} stands in the place of a message")
            return
        line.key = f"{node.id}:{digest(dumps(_identity(message)))[:12]}"
        line.at = moment_of(message.get("create_time"))
        event = message_event(self.findings, line, before)
        if event.kind in ("tool_call", "user_message"):
            tool = event.tool
            self._running[node.id] = Call(event.key, tool.name or "", tool.server) if tool else None
        self._branches.end_message(node, [event])
        yield event

    def _odd(self, rule: str, line: Line, message: str) -> Iterator[Finding]:
        yield from self.findings.limit(Finding(f"{FORMAT}.{rule}", "info", line.pointer, message))

    def _session(self) -> SessionDraft:
        value = self._line.value
        rest = {key: item for key, item in value.items() if key not in CONSUMED}
        updated = moment_of(value.get("update_time"))
        short_text = {"updated_at": rfc3339(updated) if updated else None, "gizmo_id": value.get("gizmo_id")}
        return SessionDraft(
            external_id=self._ids.current,
            title=text_of(value.get("title"))[:ID_LIMIT],
            agent_name="ChatGPT",
            started_at=moment_of(value.get("create_time")),
            model=text_of(value.get("default_model_slug"))[:ID_LIMIT] or None,
            tags=("starred",) if value.get("is_starred") is True else (),
            metadata={"recorder": {"name": "chatgpt"}} | scalars_of(short_text),
            record={FORMAT: bounded(rest, len(self._line.raw))} if rest else {},
        )


def moment_of(value: Any) -> datetime | None:
    """A time of the export: seconds since 1970, or text in what savers write."""
    return from_epoch(value, 1) or parse(value)[0]


def _external_id(value: dict[str, Any]) -> str:
    return text_of(value.get("conversation_id")) or text_of(value.get("id"))


def _is_id(value: Any) -> bool:
    return isinstance(value, str)


def _identity(message: dict[str, Any]) -> list[Any]:
    """What makes a message the same in a later export, which may tell more around it."""
    return [dict_of(message.get("author")).get("role"), message.get("recipient"), message.get("content")]
