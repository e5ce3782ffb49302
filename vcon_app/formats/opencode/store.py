"""OpenCode's ``opencode.db``: rows of its store as the documents of a dump, so that both give the same events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Finding
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.sqlite.opening import Row, Store
from ..common.sqlite.rows import json_of, line_of
from ..common.values import dict_of, text_of
from .forms import of_row

NAMES = {"project_id": "projectID", "parent_id": "parentID"}
CHANGES = {"summary_additions": "additions", "summary_deletions": "deletions", "summary_files": "files"}


def is_store(head: Head) -> bool:
    """By the tables of messages and of their parts, each with its record in JSON."""
    return head.has_table("message", "id", "session_id", "data") and head.has_table(
        "part", "id", "message_id", "session_id", "data"
    )


def documents(store: Store) -> Iterator[Item]:
    """Documents session by session: the session, then the parts of each message before it, as an export has them."""
    messages = store.numbers("message", "session_id", "time_created", "id")
    parts = store.numbers("part", "message_id", "id")
    todos = store.numbers("todo", "session_id", "position")
    further = store.numbers("session_message", "session_id", "seq", "time_created", "id")
    for number, row in store.rows("session", store.all_numbers("session", "time_created", "id")):
        own = text_of(row.get("id"))[:ID_LIMIT]
        yield from _line(_session(row), f"/session/{number}")
        said = messages.pop(own, [])
        yield from _messages(store, said, parts)
        # While both are written they say the same.
        for at, message in store.rows("session_message", [] if said else further.get(own, [])):
            yield from _line(of_row(message, dict_of(json_of(message.get("data")))), f"/session_message/{at}")
        if own in todos:
            items = [item for _, item in store.rows("todo", todos[own][:500])]
            yield from _line({"items": items, "sessionID": own}, f"/todo/{todos[own][0]}")
    for numbers in messages.values():
        yield from _messages(store, numbers, parts)


def _messages(store: Store, numbers: list[int], parts: dict[str, list[int]]) -> Iterator[Item]:
    for number, row in store.rows("message", numbers):
        ids = {"id": row.get("id"), "sessionID": row.get("session_id")}
        for at, part in store.rows("part", parts.get(text_of(row.get("id"))[:ID_LIMIT], [])):
            own = {"id": part.get("id"), "sessionID": part.get("session_id"), "messageID": part.get("message_id")}
            yield from _line(own | dict_of(json_of(part.get("data"))) | own, f"/part/{at}")
        yield from _line(ids | dict_of(json_of(row.get("data"))) | ids, f"/message/{number}")


def _session(row: Row) -> dict[str, Any]:
    """A session as its document in the folder was: columns under the names that they have there."""
    told: dict[str, Any] = {
        NAMES.get(key, key): cell for key, cell in row.items() if key not in CHANGES and not key.startswith("time_")
    }
    told["permission"] = json_of(row.get("permission"))
    changes = {name: row[key] for key, name in CHANGES.items() if row.get(key) is not None}
    times = {"created": row.get("time_created"), "updated": row.get("time_updated")}
    return told | ({"summary": changes} if changes else {}) | {"time": times}


def _line(value: dict[str, Any], pointer: str) -> Iterator[Item]:
    for item in line_of(value, pointer):
        if isinstance(item, (Line, Finding)):
            yield item
