"""A session as one llmfeed document: S1, ``session_summary`` and ``conversation_trace`` together (L10).

Every event is an entry of the trace, or an item of ``decisions`` or ``outputs`` that knows its place among
them, so reading the file gives the same events with the same keys. Blocks of a feed that the session came
from are written back as they came; events that were read from such a block are not written a second time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ...drafts import EventDraft, Events, Json, Losses, SessionDraft
from ..common.jsonio import dumps
from ..common.values import text_of
from ..file_parts import lose_parts
from . import reserved, schema, trust
from .block_text import parsed
from .decisions import EXTRA, AnsweredApprovals, decision_item, is_decision, output_item
from .entries import HOME, entry_of
from .portable import Carrier, names_in
from .session import FORMAT, kept_blocks, metadata_of, summary_of

ORIGIN = "urn:countersign"
"""Stands for the publisher where the installation has no address of its own; the schema asks for a URI."""
_VOUCHED = "it vouches for the original bytes, not for a new file"
_VOUCHING = ("signature", "certification", "certifications")


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The document in pieces; walks the events up to four times and holds none of them.

    ``options``: ``origin`` (URI of this installation), ``generated_at`` (datetime), ``replay_url`` (where this desk
    replays the session; a path where the desk does not know its own address), ``agent_state`` (JSON), ``mask_secrets``
    (default true: values that look like secrets are masked, L17). What was masked or left out is told to ``losses``.
    """
    carrier = Carrier(losses, mask=options.get("mask_secrets", True))
    kept = reserved.replayed_here(_kept(session, losses), options)
    homes = set(kept)
    kept = schema.fitted_blocks(kept, losses)
    seen = _survey_events(events, homes)
    lose_parts(session.record, FORMAT, losses, "llmfeed has no place for it")

    yield b'{"feed_type":"session"'
    origin, generated_at = options.get("origin") or ORIGIN, _generated_at(session, seen, options)
    metadata = schema.fitted_members(metadata_of(session, origin, generated_at), schema.METADATA, "metadata", losses)
    yield _block("metadata", carrier.carry(metadata))
    yield _block("context", carrier.carry_foreign(_context(session, seen, kept)))
    yield _block("imports", carrier.carry_foreign(_imports(session)))
    yield _block("session_summary", carrier.carry_foreign(_summary(session, kept)))
    for name, pick in _lists().items():
        yield from _list_block(name, _numbered(events, homes), pick, carrier, seen)
    ours = FORMAT not in session.record
    for name, value in reserved.new_blocks(session, kept, seen.prompts, options, ours=ours).items():
        yield _block(name, carrier.carry_foreign(value))
    for name, text in kept.items():
        if name not in ("context", "session_summary"):
            yield b",\n" + dumps(name) + b":" + carrier.carry_text(text)
    yield b"}\n"


def _block(name: str, value: Json) -> bytes:
    return b",\n" + dumps(name) + b":" + dumps(value)


@dataclass(slots=True)
class _Seen:
    """Results of the first walk over the events."""

    prompt: str = ""
    prompts: list[int] = field(default_factory=list)
    """Numbers of the prompts among the entries of the trace."""
    answer: EventDraft | None = None
    artifacts: set[int] = field(default_factory=set)
    """Hashes of their texts."""
    last_at: datetime | None = None


def _survey_events(events: Events, homes: set[str]) -> _Seen:
    seen, entries = _Seen(), 0
    for _, event in _numbered(events, homes):
        if event.kind == "user_message" and event.depth == 0:
            seen.prompt = seen.prompt or event.text
            seen.prompts.append(entries)
        entries += _is_entry(event)
        if event.kind == "agent_message" and event.depth == 0 and event.text:
            seen.answer = event
        if event.kind == "artifact":
            seen.artifacts.add(hash(event.text))
        seen.last_at = event.at or seen.last_at
    return seen


def _numbered(events: Events, homes: set[str]) -> Iterator[tuple[int, EventDraft]]:
    """Events with their place in the file, without those that their block brings back."""
    return enumerate(event for event in events if not _is_home(event, homes))


def _is_home(event: EventDraft, homes: set[str]) -> bool:
    home = event.data.get(HOME)
    return isinstance(home, str) and names_in(home)[:1] != [] and names_in(home)[0] in homes


def _is_entry(event: EventDraft) -> bool:
    return not is_decision(event) and event.kind != "artifact"


def _entry(number: int, event: EventDraft) -> Json:
    return entry_of(event) if _is_entry(event) else None


def _decisions() -> Callable[[int, EventDraft], Json]:
    """Picks the decisions of the log, and what people (or rules) decided on approvals, which the trace has, too."""
    approvals = AnsweredApprovals()
    return lambda number, event: decision_item(event, number) if is_decision(event) else approvals.item(event)


def _output(number: int, event: EventDraft) -> Json:
    return output_item(event, number) if event.kind == "artifact" else None


def _lists() -> dict[str, Callable[[int, EventDraft], Json]]:
    return {"conversation_trace": _entry, "decisions": _decisions(), "outputs": _output}


def _list_block(
    name: str,
    numbered: Iterator[tuple[int, EventDraft]],
    pick: Callable[[int, EventDraft], Json],
    carrier: Carrier,
    seen: _Seen,
) -> Iterator[bytes]:
    yield b",\n" + dumps(name) + b":["
    comma = b"\n"
    for number, event in numbered:
        if (item := pick(number, event)) is not None:
            yield comma + dumps(carrier.carry(item))
            comma = b",\n"
    if name == "outputs" and seen.answer and hash(seen.answer.text) not in seen.artifacts:
        final = {"type": "text/markdown", "value": seen.answer.text, EXTRA: {"repeats": seen.answer.key}}
        yield comma + dumps(carrier.carry(final))
    yield b"]"


def _kept(session: SessionDraft, losses: Losses) -> dict[str, str]:
    """Blocks to write back. A signature covered other bytes than these, so it goes, and is said to (L13)."""
    blocks = dict(kept_blocks(session))
    was_signed = "signature" in blocks
    for name in (*_VOUCHING, "_meta") if was_signed else _VOUCHING:
        if blocks.pop(name, None) is not None:
            losses.lose(f"the block {name} of the imported file", _VOUCHED)
    if was_signed and "trust" in blocks:
        rest = trust.kept_trust(parsed(blocks["trust"]))
        losses.lose("what trust says of the signature", _VOUCHED)
        blocks = {name: text for name, text in blocks.items() if name != "trust" or rest}
        blocks.update({"trust": dumps(rest).decode()} if rest else {})
    return _without_signed_claim(blocks, losses)


def _without_signed_claim(blocks: dict[str, str], losses: Losses) -> dict[str, str]:
    """``trust_scope`` must not say of the new file that it is signed."""
    scope = parsed(blocks.get(reserved.SCOPE, "null"))
    rest = reserved.unsigned(scope)
    if rest == scope:
        return blocks
    losses.lose("what trust_scope says of the signature", _VOUCHED)
    others = {name: text for name, text in blocks.items() if name != reserved.SCOPE}
    return {**others, reserved.SCOPE: dumps(rest).decode()} if rest else others


def _context(session: SessionDraft, seen: _Seen, kept: dict[str, str]) -> dict[str, Json]:
    own = {"user_input": seen.prompt, "agent_profile": session.agent_name}
    rest = parsed(kept["context"]) if "context" in kept else {}
    return {**{name: text for name, text in own.items() if text}, **rest}


def _imports(session: SessionDraft) -> list[Json]:
    imports = session.metadata.get("imports")
    return imports if isinstance(imports, list) else []


def _summary(session: SessionDraft, kept: dict[str, str]) -> Json:
    """The block as it came while the session's summary still says the same, else a new one."""
    if "session_summary" in kept:
        block = parsed(kept["session_summary"])
        if summary_of(block, session.title) == session.summary:
            return block
    named = {"topic": session.title} if session.title else {}
    return {**named, "summary": text_of(session.summary)}


def _generated_at(session: SessionDraft, seen: _Seen, options: dict[str, Any]) -> datetime | None:
    """When the file is made; a format has no clock, so without the option it is when the session ended."""
    return options.get("generated_at") or session.ended_at or seen.last_at or session.started_at
