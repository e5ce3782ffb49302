"""One conversation: the session, then its messages in the order of the tree they form."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ...drafts import Draft, Finding, SessionDraft
from ..common.calls import ID_LIMIT
from ..common.jsonio import dumps
from ..common.lines import Line, digest
from ..common.reading import Findings
from ..common.records import part_of
from ..common.session_ids import SessionIds
from ..common.times import moment_of, parse
from ..common.tree import LOST, Branches, Node, walk
from ..common.values import bounded, dict_of, list_of, scalars_of, short_text, text_of
from .messages import message_events
from .state import ChatState

FORMAT = "claude-export"
CONSUMED = frozenset({
    "uuid", "name", "title", "summary", "created_at", "updated_at", "account", "model", "platform", "chat_messages",
})  # fmt: skip
"""Keys of a conversation that the session tells; the others are kept for a writer."""
ESSENTIAL = ("type", "text", "thinking", "name", "input", "content")


class Chat:
    """Reads one conversation; its state ends with it."""

    def __init__(self, line: Line, findings: Findings, ids: SessionIds) -> None:
        self._state = ChatState(findings)
        self._line = line
        self._ids = ids
        self._branches = Branches()

    def drafts(self) -> Iterator[Draft]:
        """The session and its events, with what is odd about them."""
        value = self._line.value
        yield from self._ids.begin(
            text_of(self._line.value.get("uuid")) or f"{FORMAT}-{digest(self._line.raw)}", self._line.pointer
        )
        yield self._session()
        nodes: dict[str, Node] = {}
        for index, message in enumerate(value["chat_messages"]):
            place = f"{self._line.pointer}/chat_messages/{index}"
            if not isinstance(message, dict):
                yield from self._odd("null-message", place, f"{short_text(message)} stands in the place of a message")
                continue
            id = text_of(message.get("uuid")) or f"message-{index}"
            if id in nodes:
                yield from self._odd("repeated-id", place, f"the uuid {id[:60]} is that of an earlier message too")
                id = f"{id}#{index}"
            nodes[id] = Node(id, text_of(message.get("parent_message_uuid")), index, index)
        current = text_of(value.get("current_leaf_message_uuid")) or next(reversed(nodes), None)
        for node, branch in walk(list(nodes.values()), current):
            yield from self._message(node, branch)

    def _message(self, node: Node, branch: str) -> Iterator[Draft]:
        message = self._line.value["chat_messages"][node.value]
        line = part_of(self._line, message, f"/chat_messages/{node.value}")
        line.key = f"{node.id}:{digest(dumps(_identity(message)))[:12]}"
        if branch == LOST:
            yield from self._odd("circle", line.pointer, "this message answers one that answers it, in a circle")
        self._branches.begin_message(line, node, branch)
        yield from self._timed(line)
        events = list(message_events(self._state, line))
        self._branches.end_message(node, events)
        yield from events

    def _timed(self, line: Line) -> Iterator[Finding]:
        if stamp := line.value.get("created_at"):
            line.at, doubt = _time(stamp)
            if doubt:
                yield from self._odd("time", f"{line.pointer}/created_at", doubt)

    def _odd(self, rule: str, pointer: str, message: str) -> Iterator[Finding]:
        yield from self._state.findings.limit(Finding(f"{FORMAT}.{rule}", "info", pointer, message))

    def _session(self) -> SessionDraft:
        value = self._line.value
        rest = {key: item for key, item in value.items() if key not in CONSUMED}
        short_text = {
            "updated_at": value.get("updated_at"),
            "platform": value.get("platform"),
            "project": _project(value),
        }
        return SessionDraft(
            external_id=self._ids.current,
            title=(text_of(value.get("name")) or text_of(value.get("title")))[:ID_LIMIT],
            agent_name="Claude",
            started_at=_time(value.get("created_at"))[0],
            model=text_of(value.get("model"))[:ID_LIMIT] or None,
            user_id=text_of(dict_of(value.get("account")).get("uuid"))[:ID_LIMIT],
            summary=text_of(value.get("summary")),
            tags=("starred",) if value.get("is_starred") is True else (),
            metadata={"recorder": {"name": "claude.ai"}} | scalars_of(short_text),
            record={FORMAT: bounded(rest, len(self._line.raw))} if rest else {},
        )


def _time(value: Any) -> tuple[datetime | None, str]:
    """As ``parse``; a number is seconds or milliseconds since 1970."""
    return parse(value) if isinstance(value, str) or (at := moment_of(value).at) is None else (at, "")


def _identity(message: dict[str, Any]) -> list[Any]:
    """What makes a message the same in a later export, which may tell more around it."""
    blocks = [[dict_of(block).get(name) for name in ESSENTIAL] for block in list_of(message.get("content"))]
    return [message.get("sender"), blocks or message.get("text", text_of(message.get("content")) or None)]


def _project(value: dict[str, Any]) -> str:
    project = dict_of(value.get("project"))
    return text_of(project.get("name")) or text_of(project.get("uuid"))
