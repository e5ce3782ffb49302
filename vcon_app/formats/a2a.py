"""Tasks of the Agent2Agent protocol: one as a server gives it (also as the answer to a request), several in a list or
as lines. Of 0.2 to 1.0 (https://a2a-protocol.org): later versions name roles and states as Protocol Buffers do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ..drafts import Draft, FormatError
from .common.agents.pieces import Piece
from .common.agents.reading import AgentReading
from .common.head import Head
from .common.jsonio import dumps
from .common.lines import Item, Line
from .common.records import part_of, records
from .common.times import moment_of
from .common.values import dict_of, list_of, scalars_of, text_of
from .contract import Spec

NAME = "a2a"
SPEC = Spec(name=NAME, title="Agent2Agent task")
PHASES: dict[str, Any] = {
    "completed": "completed", "canceled": "cancelled", "cancelled": "cancelled", "failed": "crashed",
    "rejected": "cancelled",
}  # fmt: skip
STATES = frozenset(PHASES) | {"submitted", "working", "input-required", "auth-required", "unknown", "unspecified"}
PLACES = ("", "item.", "result.", "item.result.", "result.task.", "task.")


def detect(head: Head) -> bool:
    """By a task: an id and a state, with messages or what came of it."""
    shape = head.shape
    return any(
        _state(shape.get(f"{at}status.state")) in STATES
        and isinstance(shape.get(f"{at}id"), str)
        and (shape.get(f"{at}history") == "[" or shape.get(f"{at}artifacts") == "[" or f"{at}contextId" in shape)
        for at in PLACES
    )


def _state(value: Any) -> str:
    return text_of(value).lower().removeprefix("task_state_").replace("_", "-")


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of each task. Raises ``FormatError``, also where none holds a message or an artifact."""
    count = 0
    for item in records(source, NAME):
        task = _task_in(item) if isinstance(item, Line) else None
        if task is None or not _says(task.value):
            continue
        count += 1
        yield from A2aReading().run(_records(task))
    if not count:
        raise FormatError("it is a task of the Agent2Agent protocol in which nobody has said anything yet")


def _task_in(line: Line) -> Line | None:
    for path in ((), ("result",), ("task",), ("result", "task")):
        value: Any = line.value
        for name in path:
            value = dict_of(value.get(name))
        if isinstance(dict_of(value.get("status")).get("state"), str):
            return part_of(line, value, "".join(f"/{name}" for name in path))
    return None


def _says(task: dict[str, Any]) -> bool:
    return bool(list_of(task.get("history")) or list_of(task.get("artifacts")) or _status_message(task))


def _status_message(task: dict[str, Any]) -> dict[str, Any]:
    return dict_of(dict_of(task.get("status")).get("message"))


def _records(task: Line) -> Iterator[Item]:
    """The task, its messages, what its state says beyond them, and what came of it."""
    value = task.value
    about = {name: value[name] for name in ("id", "contextId", "status", "metadata") if name in value}
    yield Line(about, task.pointer, dumps(about), None, about_session=True)
    seen = set()
    for index, message in enumerate(map(dict_of, list_of(value.get("history")))):
        seen.add(text_of(message.get("messageId")))
        yield part_of(task, message, f"/history/{index}")
    last = _status_message(value)
    if last and (not last.get("messageId") or text_of(last["messageId"]) not in seen):
        yield part_of(task, last, "/status/message")
    for index, artifact in enumerate(map(dict_of, list_of(value.get("artifacts")))):
        yield part_of(task, artifact, f"/artifacts/{index}")


class A2aReading(AgentReading):
    """The state of one task while it is read."""

    name = NAME
    title = "A2A agent"
    stamps = ("timestamp",)
    ids = ("messageId", "artifactId")

    def note(self, line: Line) -> None:
        if "status" not in line.value:
            return
        status = dict_of(line.value["status"])
        self.claim(line.value.get("id"))
        self.facts.phase = PHASES.get(_state(status.get("state")))
        self.facts.at(moment_of(status.get("timestamp")).at)
        self.facts.more |= scalars_of({"context": line.value.get("contextId"), "state": _state(status.get("state"))})

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        stamp = moment_of(dict_of(value.get("metadata")).get("timestamp")).at
        line.at = line.at or stamp
        pieces = [_piece(dict_of(part), f"/parts/{index}") for index, part in enumerate(list_of(value.get("parts")))]
        role = text_of(value.get("role")).lower().removeprefix("role_")
        if "status" in value:
            return
        if role in ("user", "agent"):
            yield from self.message(line, "user" if role == "user" else "assistant", pieces)
        elif "artifactId" in value or "name" in value:
            text = "\n".join(filter(None, (piece.text for piece in pieces)))
            attachments = [piece.data for piece in pieces if piece.kind == "media"]
            data = scalars_of({"name": value.get("name"), "description": value.get("description")})
            yield line.event(
                "artifact", text, actor=line.agent, data=data | ({"attachments": attachments} if attachments else {})
            )
        else:
            yield self.unknown(line, f"role {role[:100]!r}")


def _piece(part: dict[str, Any], path: str) -> Piece:
    """A part: text, data, or a file, which is told by what it is."""
    if isinstance(part.get("text"), str):
        return Piece("text", part["text"], path)
    if "data" in part:
        return Piece("text", dumps(part["data"]).decode(), path)
    file = dict_of(part.get("file")) or part
    told = scalars_of({name: file.get(name) for name in ("name", "filename", "mimeType", "mediaType", "uri", "url")})
    kind = text_of(part.get("kind") or part.get("type"))[:50] or "file"
    return Piece("media", path=path, data={"type": kind, **{name: item for name, item in told.items() if item}})
