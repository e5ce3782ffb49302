"""Is a file made of OpenAI's requests and responses? Many formats have messages; each test names what it wants."""

from __future__ import annotations

from typing import Any

from ..common.head import Head
from ..common.jsonio import dumps
from ..common.records import first_records, is_sse
from ..common.values import text_of
from .items import TYPES
from .shapes import ASKING, FOREIGN, ROLES, STORED, TRAINING, kind_of

OBJECTS = ("chat.completion", "chat.completion.chunk", "response")
MINI_SWE = (b"mswea", b"mini-swe", b"COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", b"MINI_SWE_AGENT_FINAL_OUTPUT")
"""Old trajectories of mini-swe-agent are bare lists of messages; their first one speaks of it, or of its protocol."""
CLINE = (b"<environment_details>", b'"<task>', b'"<user_message>')
"""What Cline and its forks put around a prompt, in a list of messages of the Anthropic API."""
OTHERS = frozenset({
    "timestamp", "session_id", "message", "metadata", "id", "ts", "message_id", "model_id", "created", "injected",
})  # fmt: skip
LINES = frozenset({"session_id", "ts", "message_id", "model_id", "created", "injected", "prompt_index"})
"""Members of lines of agents, where a program joined these to a list."""
TIMED = frozenset({"role", "content", "timestamp", "name", "tool_calls", "tool_call_id"})
ALONE = ("chunk", "event", "completion", "response", "request", "state", "entry")
"""Kinds of a record that no other tool writes on a line."""


def claims(head: Head) -> bool:
    """Whether the reader of this package takes the file."""
    shape = head.shape
    if is_sse(head) or len(head.lines) > 1:
        return _are_ours(first_records(head))
    if shape.get("") == "[":
        return _is_list(head, shape)
    return _is_object(shape, "", head.keys)


def _are_ours(values: list[dict[str, Any]]) -> bool:
    kinds = [kind_of(value) for value in values]
    if any(kind in ALONE for kind in kinds):
        return True
    return bool(kinds) and all(kind == "message" for kind in kinds) and not any(_is_others(value) for value in values)


def _is_others(value: dict[str, Any]) -> bool:
    """Lines with a role and content that are not the API's: those have no id, no session and no model. A time as
    JavaScript writes it, and nothing else beside them, is no sign of anybody."""
    is_timed = value.keys() <= TIMED and text_of(value.get("timestamp")).endswith("Z")
    return bool(OTHERS & value.keys()) and not is_timed


def _is_list(head: Head, shape: dict[str, Any]) -> bool:
    item = frozenset(path[5:] for path in shape if path.startswith("item.") and path.count(".") == 1)
    first = Head(dumps(head.records[0])) if head.records else None  # the shape of a list has members of all its items
    if _is_object(first.shape, "", first.keys) if first else _is_object(shape, "item.", item):
        return True
    if FOREIGN & item or "extra" in item or any(mark in head.data[:65536] for mark in (*MINI_SWE, *CLINE)):
        return False
    if shape.get("item.type") in TYPES and isinstance(shape.get("item.type"), str):
        # A chat program's messages have a type, too, and so have Anthropic's responses.
        is_said = shape["item.type"] != "message" or ("role" in item and item.isdisjoint({"stop_reason", "usage"}))
        return is_said and "item.timestamp" not in shape
    said = shape.get("item.role") in ROLES and bool({"content", "tool_calls"} & item) and "type" not in item
    return (
        said
        and ("timestamp" not in item or _are_ours(head.records))
        and not any(LINES & value.keys() for value in head.records)
    )


def _is_object(shape: dict[str, Any], place: str, keys: frozenset[str]) -> bool:
    """A request, a response, a saved run, or a log entry around them."""
    if shape.get(f"{place}object") in OBJECTS:
        return True
    if "$schemaVersion" in keys and {"current_agent", "original_input", "generated_items"} & keys:
        return True
    if _is_net(shape, place, keys):
        return True
    if FOREIGN & keys:
        return False
    return _is_request(shape, place, keys) or _is_entry(shape, place) or _is_answer(shape, place)


def _is_net(shape: dict[str, Any], place: str, keys: frozenset[str]) -> bool:
    if shape.get(f"{place}contents") == "[":
        return bool({"responseId", "messageId", "role"} & keys)
    return shape.get(f"{place}messages.item.contents") == "["


def _is_request(shape: dict[str, Any], place: str, keys: frozenset[str]) -> bool:
    if shape.get(f"{place}messages") == "[" and shape.get(f"{place}messages.item.role") in ROLES:
        said = {"content", "tool_calls"} & {
            path.rpartition(".")[2] for path in shape if f"{place}messages.item." in path
        }
        of_agents = any(f"{place}messages.item.{name}" in shape for name in ("modelInfo", "metrics", "created"))
        of_agents = of_agents or f"{place}metadata.session_id" in shape or keys >= STORED
        return bool(said) and not of_agents and ("model" in keys or keys <= TRAINING)
    if "model" in keys and (given := shape.get(f"{place}input")) is not None:
        asks = bool(ASKING & keys) or f"{place}input.item.role" in shape
        return asks and (given == "[" or isinstance(given, str))
    return False


def _is_answer(shape: dict[str, Any], place: str) -> bool:
    if shape.get(f"{place}object") == "list":
        return shape.get(f"{place}data.item.type") in TYPES or shape.get(f"{place}data.item.object") in OBJECTS
    return f"{place}choices.item.message" in shape


def _is_entry(shape: dict[str, Any], place: str) -> bool:
    inner = [f"{place}{key}{body}" for key in ("request.", "response.", "body.") for body in ("", "body.")]
    return any(
        shape.get(f"{path}object") in OBJECTS
        or f"{path}choices.item.message" in shape
        or (shape.get(f"{path}messages.item.role") in ROLES and f"{path}model" in shape)
        or (f"{path}input" in shape and f"{path}model" in shape and path.startswith(f"{place}request."))
        for path in inner
    )
