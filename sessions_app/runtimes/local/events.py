"""A response of the Messages API as events: one for each block. The last one says what it all used and why it ended.

Natural keys are ``local:<message id>:<block index>``: a response that is appended twice is there once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from anthropic.types import Message
from anthropic.types import Usage as AnthropicUsage

from sessions_app.drafts import EventDraft, ToolDraft, Usage

from ..run import TurnRun
from ..tools.offers import Offer
from .model import Reply

CUT = ("max_tokens", "model_context_window_exceeded")
"""Stop reasons that end a response in the middle of a block."""
INTERRUPTED = "interrupted"
"""A stop reason of ours: a person stopped it."""


def drafts_of_response(turn: TurnRun, reply: Reply, offers: Mapping[str, Offer]) -> list[EventDraft]:
    """The events of a response. One that a person stopped keeps its text; calls that it was writing were never made."""
    message = reply.message
    if message is None:
        return []
    *blocks, last = [*_blocks(turn, message, reply.whole, offers)] or [_event_of_empty_response(turn, message)]
    ended = {"stop_reason": message.stop_reason if reply.whole else INTERRUPTED}
    if message.stop_details:
        ended["stop_details"] = message.stop_details.to_dict()
    return [*blocks, replace(last, usage=tokens_of(message.usage, whole=reply.whole), data=last.data | ended)]


def _blocks(turn: TurnRun, message: Message, whole: bool, offers: Mapping[str, Offer]) -> Iterator[EventDraft]:
    unfinished = len(message.content) - 1 if not whole or message.stop_reason in CUT else None
    for index, block in enumerate(message.content):
        about = {"model": message.model, "request": message.id}
        key, raw = f"local:{message.id}:{index}", block.to_dict()
        mark = {} if index != unfinished else {"cut": True} if whole else {"interrupted": True}
        match block.type:
            case "text" if block.text.strip():
                more = {"citations": raw["citations"]} if raw.get("citations") else {}
                yield turn.event("agent_message", key, block.text, data=mark | more, **about)
            case "text":
                continue
            case "thinking":
                signed = {"signature": block.signature, "asked_of": turn.agent.model} if block.signature else {}
                yield turn.event("reasoning", key, block.thinking, data=mark | signed, **about)
            case "redacted_thinking":
                yield turn.event("reasoning", key, data={"redacted": block.data, "asked_of": turn.agent.model}, **about)
            case "tool_use" if whole and index != unfinished:
                yield _tool_call_event(turn, key, block, offers.get(block.name), about)
            case "tool_use":
                note = f"a call of {block.name} that was never made: the response ended while it was written"
                yield turn.event("note", key, note, data=mark | {"unfinished_call": raw}, **about)
            case _:
                yield turn.event("unknown", key, data=mark | {"block": raw}, **about)


def _tool_call_event(turn: TurnRun, key: str, block: Any, offer: Offer | None, about: dict[str, Any]) -> EventDraft:
    """Event of a tool call, under the names of its tool; the name that the model used is kept in ``data``."""
    server, name = (offer.server, offer.name) if offer else (None, block.name)
    tool = ToolDraft(call_id=block.id, name=name, server=server, arguments=block.input)
    data: dict[str, Any] = {"shown_as": block.name} if block.name != name else {}
    data |= {"tool_fingerprint": offer.fingerprint} if offer else {"no_such_tool": True}
    return turn.event("tool_call", key, tool=tool, data=data, **about)


def _event_of_empty_response(turn: TurnRun, message: Message) -> EventDraft:
    """Event of a response without content: it has a cost and a stop reason all the same."""
    return turn.event("model_request", f"local:{message.id}:0", model=message.model, request=message.id)


def tokens_of(used: AnthropicUsage, *, whole: bool = True) -> Usage:
    """Tokens as counted at the end. Of an interrupted response only the first count is known: less than is billed."""
    split, details = used.cache_creation, used.output_tokens_details
    return Usage(
        input_tokens=used.input_tokens,
        cache_read_tokens=used.cache_read_input_tokens,
        cache_write_tokens=used.cache_creation_input_tokens,
        output_tokens=used.output_tokens,
        reasoning_tokens=details.thinking_tokens if details else None,
        cache_write_1h_tokens=split.ephemeral_1h_input_tokens if split else None,
        quality="final" if whole else "placeholder",
    )
