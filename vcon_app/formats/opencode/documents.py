"""Content of the documents of a file: an export holds a whole session, a dump one record each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..common.values import dict_of, list_of, text_of
from .forms import is_older, of_older

Found = tuple[str, dict[str, Any], str]
"""What a document holds: session, message, part, project, share, items, error or other; and its place."""


@dataclass(slots=True)
class Message:
    """Facts of a message that its parts need."""

    role: str = ""
    model: str | None = None
    created: Any = None
    completed: Any = None
    stepped: bool = False
    """Its steps state their own tokens."""


NOBODY = Message()


def is_ours(value: dict[str, Any]) -> bool:
    """A message or a part, alone or in the envelope of a run or an export."""
    if is_older(value):
        return True
    record = dict_of(value.get("info")) or dict_of(value.get("part")) or value
    if not isinstance(record.get("sessionID") or value.get("sessionID"), str):
        return False
    return "messageID" in record or record.get("role") in ("user", "assistant") or "part" in value


def found_in(value: dict[str, Any]) -> Iterator[Found]:
    """Records in a document, parts before the message that they belong to: the message states how they ended."""
    if is_older(value):
        value = of_older(value)
    info, messages = dict_of(value.get("info")), value.get("messages")
    if info and isinstance(messages, list):
        yield "session", info, "/info"
        for index, message in enumerate(messages):
            yield from _with_path(dict_of(message), f"/messages/{index}", text_of(info.get("id")))
        if todos := list_of(value.get("todos")):
            yield "items", {"items": todos, "sessionID": info.get("id")}, "/todos"
    elif info:
        yield from _with_path(value, "", "")
    elif isinstance(value.get("part"), dict):
        yield "part", {"sessionID": value.get("sessionID"), "at": value.get("timestamp")} | value["part"], "/part"
    else:
        yield _kind(value), value, ""


def _with_path(message: dict[str, Any], path: str, session: str) -> Iterator[Found]:
    info = {"sessionID": session} | dict_of(message.get("info"))
    for index, part in enumerate(list_of(message.get("parts"))):
        ids = {"sessionID": info["sessionID"], "messageID": info.get("id")}
        yield "part", ids | dict_of(part), f"{path}/parts/{index}"
    yield "message", info, f"{path}/info"


def _kind(value: dict[str, Any]) -> str:
    if "messageID" in value:
        return "part"
    if "role" in value:
        return "message"
    if "error" in value and "sessionID" in value:
        return "error"
    if "items" in value:
        return "items"
    if "worktree" in value:
        return "project"
    if "secret" in value:
        return "share"
    return "session" if "id" in value and value.keys() & {"projectID", "directory", "slug", "title"} else "other"
