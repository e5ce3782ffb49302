"""Events told by other blocks than messages, decisions and outputs: layouts S2 and S4 to S13.

Each block is kept whole for the way out, so an event made here names it as its home (``feed_block``) and
is not written a second time. None of these blocks says who spoke or when; nothing is invented for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...drafts import EventDraft, Finding, Json, Kind, Usage
from ..common.values import count_of, money_of, text_of
from .block_text import key_of, label_of, outline
from .decisions import decision_event
from .entries import HOME, event_of
from .feed import LOOSE_KEYS, Feed, is_loose
from .portable import token
from .session import is_plain_summary, rest_of_context

_DECISIONS = (
    ("session_summary", "key_decisions"),
    ("session_summary", "decisions_made"),
    ("session_state", "decisions_made"),
    ("session", "project_state", "key_decisions"),
)
_TOLD_BEFORE = ("session", "instructions", "learning_progress", "learning_context")
_TOLD_AFTER = (
    "session_summary", "session_state", "replay_instructions", "prompt_execution", "results", "audit_trail",
    "related_sessions",
)  # fmt: skip


def events_before_messages(feed: Feed) -> Iterator[EventDraft]:
    """Events of what the agent was given before the first message."""
    if rest := rest_of_context(feed):
        yield _block_event("context", rest, "injected_context")
    for name, value in feed.blocks.items():
        if value and (name in _TOLD_BEFORE or name.endswith("_context")):
            yield _block_event(name, value, "injected_context")


def events_after_messages(feed: Feed, title: str, findings: list[Finding]) -> Iterator[EventDraft]:
    """Events of the other blocks, in the order of the layouts."""
    yield from _decisions(feed, findings)
    yield from _chapters(feed)
    yield from _data(feed, findings)
    yield from _loose_capture_events(feed)
    yield from _handoffs(feed)
    for name in _TOLD_AFTER:
        value = feed.blocks.get(name)
        if value and not (name == "session_summary" and is_plain_summary(value, title)):
            yield _block_event(name, value, "note")


def other_block_events(feed: Feed, names: list[str]) -> Iterator[EventDraft]:
    """Blocks that no layout has, told as they stand there."""
    for name in names:
        if value := feed.blocks[name]:
            yield _block_event(name, value, "note")


def model_request(feed: Feed) -> Iterator[EventDraft]:
    """``api_execution`` (S4): tokens and cost of all the calls behind the session, told as one."""
    block = feed.object_at("api_execution")
    if not block:
        return
    tokens = block.get("tokens") if isinstance(block.get("tokens"), dict) else {}
    cost = block.get("cost") if isinstance(block.get("cost"), dict) else {}
    in_dollars = str(cost.get("currency", "")).upper() == "USD"
    amount = money_of(cost.get("amount")) if in_dollars else None
    told = {"model", "request_id", "tokens"} | ({"cost"} if amount is not None else set())
    counts = count_of(tokens.get("input")), count_of(tokens.get("output"))
    yield EventDraft(
        "model_request",
        key_of("/api_execution", block),
        actor_kind="agent",
        model=text_of(block.get("model")) or None,
        request=text_of(block.get("request_id")) or None,
        usage=Usage(input_tokens=counts[0], output_tokens=counts[1], quality="aggregate")
        if counts != (None, None)
        else None,
        cost=amount,
        data={name: value for name, value in block.items() if name not in told},
        pointer="/api_execution",
    )


def _decisions(feed: Feed, findings: list[Finding]) -> Iterator[EventDraft]:
    for path in _DECISIONS:
        value: Json = feed.blocks
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        for index, item in enumerate(value if isinstance(value, list) else []):
            yield _with_own_block_name(decision_event(item, f"/{'/'.join(path)}/{index}", findings))


def _chapters(feed: Feed) -> Iterator[EventDraft]:
    """``blocks`` of the oldest layout (S7): what was worked on, each with a summary."""
    for index, item in enumerate(feed.list_at("blocks")):
        text = outline(item)
        if isinstance(item, dict):
            parts = (text_of(item.get(name)) for name in ("title", "summary", "component", "path"))
            text = "\n\n".join(part for part in parts if part) or text
        yield _note(text, item, f"/blocks/{index}")


def _data(feed: Feed, findings: list[Finding]) -> Iterator[EventDraft]:
    """``data``: a list of items (S11), or an object with a transcript (S9), a timeline (S8) or lists (S6, S10)."""
    for index, item in enumerate(feed.list_at("data")):
        yield from _item(item, f"/data/{index}", findings)
    for name, value in feed.object_at("data").items():
        pointer = f"/data/{token(name)}"
        if name in ("chat_transcript", "full_chat_transcript") and isinstance(value, str):
            if name == "full_chat_transcript" or not feed.object_at("data").get("full_chat_transcript"):
                yield from _transcript(value, pointer, findings)
        elif name == "timeline" and isinstance(value, list):
            yield from _timeline(value, pointer, findings)
        elif name == "context_summary" and isinstance(value, dict):
            for key, part in value.items():
                yield from _labelled(key, part, f"{pointer}/{token(key)}")
        elif name not in ("block_name", "session_type", "format", "main_topic", "topics") and value:
            yield from _labelled(name, value, pointer)


def _item(item: Json, pointer: str, findings: list[Finding]) -> Iterator[EventDraft]:
    if not isinstance(item, dict) or item.get("type") != "session":
        yield _note(outline(item), item, pointer)
        return
    content = item.get("content")
    if isinstance(content, str):
        yield from _transcript(content, f"{pointer}/content", findings)
    elif isinstance(content, list):
        for index, entry in enumerate(content):
            yield _with_own_block_name(event_of(entry, f"{pointer}/content/{index}", findings))
    else:
        yield _note(outline(content if content is not None else item), item, pointer)


def _timeline(items: list[Json], pointer: str, findings: list[Finding]) -> Iterator[EventDraft]:
    for index, item in enumerate(items):
        place = f"{pointer}/{index}"
        kind = text_of(item.get("type")) if isinstance(item, dict) else ""
        content = item.get("content") if isinstance(item, dict) else item
        if kind == "decision" and isinstance(content, str):
            yield _with_own_block_name(decision_event(content, place, findings))
        else:
            text = content if isinstance(content, str) else outline(content)
            yield _note(f"{label_of(kind)}: {text}" if kind else text, item, place)


def _loose_capture_events(feed: Feed) -> Iterator[EventDraft]:
    """A capture that began without a feed_type (S12)."""
    if is_loose(feed.blocks.keys()):
        for name in feed.blocks:
            if name in LOOSE_KEYS - {"session_date", "project"}:
                yield from _labelled(name, feed.blocks[name], f"/{name}")


def _handoffs(feed: Feed) -> Iterator[EventDraft]:
    block = feed.object_at("agent_collaboration")
    points = block.get("handoff_points")
    for index, point in enumerate(points if isinstance(points, list) else []):
        place = f"/agent_collaboration/handoff_points/{index}"
        said = point if isinstance(point, dict) else {}
        yield EventDraft(
            "handoff",
            key_of(place, point),
            actor_kind="agent",
            actor_name=text_of(block.get("primary_agent")),
            text=text_of(said.get("for_task")) or outline(point),
            data={"to": text_of(said.get("to_agent")), "expects": text_of(said.get("expected_return")), HOME: place},
            pointer=place,
        )


_SPEAKER = re.compile(
    r"^[ \t>*#_-]{0,8}(USER|User|HUMAN|Human|ASSISTANT|Assistant|AI|SYSTEM|System)[*_]{0,2}[ \t]*:[*_]{0,2}[ \t]*",
    re.MULTILINE,
)


def _transcript(text: str, pointer: str, findings: list[Finding]) -> Iterator[EventDraft]:
    """A conversation in one string (S9), split where a line begins with a speaker's name (L16)."""
    starts = list(_SPEAKER.finditer(text))
    if len(starts) < 2:
        findings.append(Finding("L16", "info", pointer, "The transcript names no speakers; it is kept as one text."))
        yield _note(text, text, pointer)
        return
    if preface := text[: starts[0].start()].strip():
        yield _note(preface, preface, pointer)
    ends = [match.start() for match in starts[1:]] + [len(text)]
    for number, (match, end) in enumerate(zip(starts, ends, strict=True)):
        entry = {"role": match[1].lower(), "content": text[match.end() : end].strip()}
        event = event_of({**entry, "key": key_of(f"{pointer}#{number}", entry)}, pointer, findings)
        yield _with_own_block_name(event)


def _labelled(name: str, value: Json, pointer: str) -> Iterator[EventDraft]:
    """A list item by item, anything else whole, each with the name it stands under."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            text = item if isinstance(item, str) else outline(item)
            yield _note(f"{label_of(name)}: {text}", item, f"{pointer}/{index}")
    else:
        yield _note(f"{label_of(name)}: {value if isinstance(value, str) else outline(value)}", value, pointer)


def _block_event(name: str, value: Json, kind: Kind) -> EventDraft:
    pointer = f"/{token(name)}"
    text = value if isinstance(value, str) else outline(value)
    return EventDraft(
        kind, key_of(pointer, value), text=f"**{label_of(name)}**\n\n{text}", data={HOME: pointer}, pointer=pointer
    )


def _note(text: str, raw: Json, pointer: str) -> EventDraft:
    return EventDraft("note", key_of(pointer, raw), text=text, data={HOME: pointer}, pointer=pointer)


def _with_own_block_name(event: EventDraft) -> EventDraft:
    return replace(event, data={**event.data, HOME: event.pointer})
