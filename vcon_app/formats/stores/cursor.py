"""Cursor's ``state.vscdb``: conversations of the IDE as ``composerData:ID`` and ``bubbleId:ID:BUBBLE`` in one table.

A bubble is a prompt, an answer, a thought or a tool call with its result. Token counts are often 0, which says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from ...drafts import Draft, Finding, Usage
from ..common.agents.pieces import Piece, readable, shown
from ..common.agents.reading import AgentReading
from ..common.apis.openai import arguments_of
from ..common.calls import id_of
from ..common.facts import ID_LIMIT
from ..common.head import Head
from ..common.lines import Item, Line
from ..common.sqlite.opening import Store
from ..common.sqlite.rows import json_of, line_of, read_store, session_of
from ..common.times import moment_of
from ..common.values import count_of, dict_of, first_text, list_of, scalars_of, text_of
from ..contract import Spec

NAME = "cursor-store"
SPEC = Spec(name=NAME, title="Cursor (store)", grows="lines")
TABLE = "cursorDiskKV"
COMPOSER, BUBBLE = "composerData:", "bubbleId:"
OF_SESSION = (
    "composerId", "name", "createdAt", "lastUpdatedAt", "unifiedMode", "status", "modelConfig", "subagentInfo",
)  # fmt: skip
OF_BUBBLE = (
    "bubbleId", "type", "text", "thinking", "toolFormerData", "tokenCount", "createdAt", "timingInfo", "modelInfo",
    "errorDetails", "images",
)  # fmt: skip
"""What is told of a bubble. The rest is the editor's own: caches, checkpoints, the file that was open."""
STATUSES = {"completed": "ok", "error": "error", "cancelled": "cancelled"}
DECISIONS = {"accepted": "approved", "rejected": "denied"}


def detect(head: Head) -> bool:
    """By the table in which it keeps everything."""
    return head.has_table(TABLE, "key", "value")


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of all conversations of a store, a bubble in memory at a time. Raises ``FormatError``."""
    return read_store(source, SPEC.title, _sessions)


def _sessions(store: Store) -> Iterator[Iterator[Draft]]:
    composers: dict[str, int] = {}
    bubbles: dict[str, dict[str, int]] = {}
    for number, key in store.places(TABLE, ["key"]):
        if not isinstance(key, str):
            continue
        if key.startswith(COMPOSER):
            composers[key.removeprefix(COMPOSER)[:ID_LIMIT]] = number
        elif key.startswith(BUBBLE):
            own, _, bubble = key.removeprefix(BUBBLE).partition(":")
            bubbles.setdefault(own[:ID_LIMIT], {})[bubble[:ID_LIMIT]] = number
    for own, number in composers.items():
        composer = dict_of(json_of(store.row(TABLE, number).get("value")))
        held = bubbles.pop(own, {})
        if held or list_of(composer.get("conversation")):
            yield CursorStoreReading().run(_items(store, own, composer, held))


def _items(store: Store, own: str, composer: dict[str, Any], held: dict[str, int]) -> Iterator[Item]:
    """The conversation, and its bubbles in the order of its headers; older versions hold the bubbles themselves."""
    place = f"/{TABLE}/{COMPOSER}{own}"
    told = {key: composer[key] for key in OF_SESSION if key in composer}
    yield from session_of(told | {"composerId": own}, place)
    inside = [dict_of(bubble) for bubble in list_of(composer.get("conversation"))]
    for index, bubble in enumerate(inside):
        yield from line_of(_fields_of_bubble(bubble), f"{place}/conversation/{index}")
    headers = [text_of(dict_of(one).get("bubbleId")) for one in list_of(composer.get("fullConversationHeadersOnly"))]
    ordered = list(dict.fromkeys(name for name in headers if name in held))
    seen = {text_of(bubble.get("bubbleId")) for bubble in inside}
    for name in ordered or sorted(held, key=held.__getitem__):
        if name not in seen:
            value = dict_of(json_of(store.row(TABLE, held[name]).get("value")))
            yield from line_of(_fields_of_bubble(value) | {"bubbleId": name}, f"/{TABLE}/{BUBBLE}{own}:{name}")
    if ordered and (left := len(held.keys() - set(ordered) - seen)):
        message = f"{left} messages are no longer part of the conversation (undone, or edited); they are left out"
        yield Finding(f"{NAME}.undone", "info", place, message)


def _fields_of_bubble(bubble: dict[str, Any]) -> dict[str, Any]:
    return {key: bubble[key] for key in OF_BUBBLE if key in bubble}


class CursorStoreReading(AgentReading):
    """The state of one conversation while it is read."""

    name = NAME
    title = "Cursor"
    stamps = ("createdAt",)
    ids = ("bubbleId",)

    def note(self, line: Line) -> None:
        value, facts = line.value, self.facts
        if "composerId" not in value:
            facts.model = text_of(dict_of(value.get("modelInfo")).get("modelName"))[:ID_LIMIT] or facts.model
            return
        self.claim(value.get("composerId"))
        facts.title = text_of(value.get("name")) or facts.title
        facts.model = text_of(dict_of(value.get("modelConfig")).get("modelName"))[:ID_LIMIT] or facts.model
        facts.parent = text_of(dict_of(value.get("subagentInfo")).get("parentComposerId"))[:ID_LIMIT] or None
        facts.at(moment_of(value.get("lastUpdatedAt")).at)
        facts.more |= scalars_of({"mode": value.get("unifiedMode"), "status": value.get("status")})

    def events(self, line: Line) -> Iterator[Draft]:
        value = line.value
        if "composerId" in value:
            return
        line.at = line.at or moment_of(dict_of(value.get("timingInfo")).get("clientStartTime")).at
        if value.get("type") == 1:
            media = [Piece("media", path="/images", data={"type": "image"}) for _ in list_of(value.get("images"))[:50]]
            yield from self.message(line, "user", [Piece("text", text_of(value.get("text")), "/text"), *media])
        elif value.get("type") == 2:
            yield from self._answer(line, value)
        else:
            yield self.unknown(line, f"bubble type {str(value.get('type'))[:100]!r}")

    def _answer(self, line: Line, value: dict[str, Any]) -> Iterator[Draft]:
        thinking, counted = value.get("thinking"), dict_of(value.get("tokenCount"))
        thought = text_of(thinking) or text_of(dict_of(thinking).get("text"))
        counts = [count_of(counted.get(name)) for name in ("inputTokens", "outputTokens")]
        usage = Usage(input_tokens=counts[0], output_tokens=counts[1]) if any(counts) else None
        pieces = [Piece("reasoning", thought, "/thinking"), Piece("text", text_of(value.get("text")), "/text")]
        pieces = [piece for piece in pieces if piece.text.strip()]
        tool = dict_of(value.get("toolFormerData"))
        if tool.get("name") or tool.get("toolCallId"):
            pieces += _call(tool)
        model = dict_of(value.get("modelInfo")).get("modelName") or self.facts.model
        if pieces or usage:
            yield from self.message(line, "assistant", pieces, model=model, usage=usage)
        if failure := value.get("errorDetails"):
            yield line.event("error", shown(failure)[:10_000], part=":error", at_path="/errorDetails")


def _call(tool: dict[str, Any]) -> list[Piece]:
    """A tool call, with its result once it has one."""
    path, call_id, name = "/toolFormerData", id_of(tool.get("toolCallId")), id_of(tool.get("name"))
    given = first_text(tool.get("rawArgs"), tool.get("params"))
    data = scalars_of({"decision": DECISIONS.get(text_of(tool.get("userDecision")))})
    call = Piece("call", "", path, call_id, name, arguments_of(given or tool.get("params")), data=data)
    status = STATUSES.get(text_of(tool.get("status")))
    if status is None and tool.get("result") is None:
        return [call]
    status = "denied" if tool.get("userDecision") == "rejected" else status
    text, rest = readable(json_of(tool.get("result")))
    text = text or text_of(dict_of(json_of(tool.get("error"))).get("clientVisibleErrorMessage"))
    return [call, Piece("result", text, f"{path}/result", call_id, name, rest, status)]
