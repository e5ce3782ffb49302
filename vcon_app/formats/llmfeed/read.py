"""An llmfeed session as drafts: the session, what is claimed of it, then its events in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from ...drafts import Draft, EventDraft, Finding, SessionDraft
from ..common.values import text_of
from . import blocks, reserved, trust
from .block_text import key_of, kind_name
from .decisions import answer_of, decision_event, output_event, position_of, repeats
from .entries import event_of, unknown
from .feed import Feed, load, require_session
from .portable import token
from .session import draft_of, time_findings

_KNOWN_BLOCKS = frozenset((
    "feed_type", "metadata", "context", "imports", "decisions", "outputs", "conversation_trace", "api_execution",
    "origin", "title", "description", "tags", "created", "created_at", "session_summary", "session_state",
    "replay_instructions", "session", "instructions", "learning_progress", "prompt_execution", "results",
    "audit_trail", "related_sessions", "agent_collaboration", "blocks", "data", "trust", "signature",
    "certification", "certifications", "_meta", "agent_state", "editable_blocks", "replay_endpoint",
    "trust_scope", "session_date", "project", "goals", "key_files_created", "pending_tasks", "signed_blocks",
))  # fmt: skip


def read(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of the one session in a feed. Raises ``FormatError`` for what is no feed, or no session."""
    yield from _drafts(source, anyway=False)


def read_anyway(source: BinaryIO) -> Iterator[Draft]:
    """Drafts of any feed, because somebody asked for it to be read as a session (L2). Raises ``FormatError``."""
    yield from _drafts(source, anyway=True)


def _drafts(source: BinaryIO, *, anyway: bool) -> Iterator[Draft]:
    feed = load(source)
    yield from [*require_session(feed, anyway=anyway), *feed.findings]
    session = draft_of(feed)
    yield session
    yield trust.signature_of(feed)
    yield from trust.findings(feed)
    yield from reserved.findings(feed)
    yield from time_findings(feed)
    yield from _strange_blocks(feed)
    yield from _events(feed, session)


def _events(feed: Feed, session: SessionDraft) -> Iterator[Draft]:
    """Events, each with a key of its own, and after each what was odd about it."""
    findings: list[Finding] = []
    seen: set[str] = set()
    for event in _all_events(feed, session, findings):
        if event.key in seen:
            findings.append(
                Finding("L12", "warning", event.pointer, f"The key {event.key[:60]!r} occurs twice; made anew.")
            )
            event = replace(event, key=key_of(f"{event.pointer}#{len(seen)}", event.key))
        seen.add(event.key)
        yield event
        yield from findings
        findings.clear()
    yield from findings


def _all_events(feed: Feed, session: SessionDraft, findings: list[Finding]) -> Iterator[EventDraft]:
    yield from _misshapen(feed, findings)
    yield from blocks.events_before_messages(feed)
    yield from _first_message(feed)
    placed = _placed(feed)
    yield from _trace_with_items(feed, dict(placed), findings)
    yield from _foreign_items(feed, set(placed.values()), session.agent_name, findings)
    yield from blocks.model_request(feed)
    yield from blocks.events_after_messages(feed, session.title, findings)
    yield from blocks.other_block_events(feed, _unknown_block_names(feed))


def _misshapen(feed: Feed, findings: list[Finding]) -> Iterator[EventDraft]:
    """Blocks that cannot be read for what they should be: the raw value stays in the log."""
    for name, shape in _SHAPES.items():
        value = feed.blocks.get(name)
        if value is not None and not isinstance(value, shape):
            findings.append(Finding("L4", "warning", f"/{name}", f"{name} is {kind_name(value)}; kept as it is."))
            yield unknown(value, f"/{name}")


def _first_message(feed: Feed) -> Iterator[EventDraft]:
    """``context.user_input``, unless the trace says it too."""
    text = feed.object_at("context").get("user_input")
    if isinstance(text, str) and text and text not in _texts_of_role(feed, "user"):
        place = "/context/user_input"
        yield EventDraft("user_message", key_of(place, text), actor_kind="person", text=text, pointer=place)


def _trace_with_items(feed: Feed, placed: dict[int, _Place], findings: list[Finding]) -> Iterator[EventDraft]:
    """The trace, with those decisions and outputs between its entries that state their place."""
    number = 0
    for index, entry in enumerate(feed.list_at("conversation_trace")):
        while number in placed:
            yield _item_event(feed, *placed.pop(number), findings)
            number += 1
        yield event_of(entry, f"/conversation_trace/{index}", findings)
        number += 1
    for _, place in sorted(placed.items()):
        yield _item_event(feed, *place, findings)


def _foreign_items(feed: Feed, placed: set[_Place], agent: str, findings: list[Finding]) -> Iterator[EventDraft]:
    """Decisions and outputs that state no place: after the messages; a text output is an answer, too."""
    said = _texts_of_role(feed, "assistant")
    told = {"decisions": bool(feed.list_at("conversation_trace")), "outputs": bool(said)}
    for name in _ITEMS:
        for index, item in enumerate(feed.list_at(name)):
            if (name, index) in placed or (repeats(item) and told[name]):
                continue
            yield _item_event(feed, name, index, findings)
            answer = answer_of(item, f"/{name}/{index}", agent) if name == "outputs" else None
            if answer and answer.text not in said:
                yield answer


_Place = tuple[str, int]
"""The block of an item, and its index there."""
_ITEMS = {"decisions": decision_event, "outputs": output_event}
_SHAPES: dict[str, type] = {
    "metadata": dict,
    "api_execution": dict,
    **dict.fromkeys(("imports", "conversation_trace", "decisions", "outputs"), list),
}


def _item_event(feed: Feed, name: str, index: int, findings: list[Finding]) -> EventDraft:
    return _ITEMS[name](feed.list_at(name)[index], f"/{name}/{index}", findings)


def _placed(feed: Feed) -> dict[int, _Place]:
    """Items by the position they state; of several with the same one the first has it."""
    placed: dict[int, _Place] = {}
    for name in _ITEMS:
        for index, item in enumerate(feed.list_at(name)):
            if (position := position_of(item)) is not None:
                placed.setdefault(position, (name, index))
    return placed


def _texts_of_role(feed: Feed, role: str) -> set[str]:
    """All texts of one role in the trace."""
    entries = (entry for entry in feed.list_at("conversation_trace") if isinstance(entry, dict))
    return {text_of(entry.get("content")) for entry in entries if text_of(entry.get("role")).lower() == role}


def _strange_blocks(feed: Feed) -> Iterator[Finding]:
    """Blocks that no layout has: kept for a re-export, and reported (L12)."""
    for name in _unknown_block_names(feed):
        message = f"The block {name[:60]!r} is in no layout of a session; kept as it is."
        yield Finding("L12", "info", f"/{token(name)}", message)


def _unknown_block_names(feed: Feed) -> list[str]:
    return [name for name in feed.blocks if name not in _KNOWN_BLOCKS and not name.endswith("_context")]
