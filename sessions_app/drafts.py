"""An event before it is in the log: what a runtime, an agent or the reader of a file hands to ``append``. No Django.

The formats see these dataclasses through ``vcon_app.drafts``, which adds what a file says beyond events.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

Json = Any
Kind = Literal[
    "user_message",
    "agent_message",
    "reasoning",
    "tool_call",
    "tool_result",
    "system",
    "injected_context",
    "handoff",
    "model_request",
    "compaction",
    "file_change",
    "artifact",
    "approval",
    "escalation",
    "status",
    "error",
    "note",
    "unknown",
]
ActorKind = Literal["person", "trigger", "agent", "subagent", "tool", "system", "unknown"]


@dataclass(slots=True)
class Usage:
    """Tokens of one model response. ``None`` means the file does not say; it is never 0 for unknown.

    ``input_tokens`` leaves out both cache counts; ``output_tokens`` contains ``reasoning_tokens``; so
    input + cache_read + cache_write + output is everything that was billed. Nobody changes one (not frozen for the
    reason of ``EventDraft``).
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    """The part of ``cache_write_tokens`` kept for an hour: it has a price of its own."""
    quality: str = "final"
    """final, placeholder, interrupted, estimated or aggregate (a total over many responses)."""


@dataclass(slots=True)
class ToolDraft:
    """The tool half of a ``tool_call`` (arguments) or ``tool_result`` (result, status) event; nobody changes one."""

    call_id: str | None = None
    name: str | None = None
    server: str | None = None
    arguments: Json = None
    result: Json = None
    """Only what is more than plain text; plain text stands in ``EventDraft.text``."""
    status: str | None = None
    """On a result: ok, error, cancelled, denied; ``None`` when the file states no outcome."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How an event of the log came in: ``kind`` is file, runtime, api or desk. Nothing that a reader of files says."""

    kind: str
    reporter_kind: str = ""
    reported_by: str = ""
    received_at: datetime | None = None


@dataclass(slots=True)
class EventDraft:
    """One thing that happened, in the order of the file.

    Nobody changes one. It is not frozen because that makes its creation four times as long (1.8 µs of the 20 that
    reading one takes: CPython sets each field of a frozen class through ``object.__setattr__``).
    """

    kind: Kind
    key: str
    """Natural key, unique in the session and the same each time the same record is read."""
    at: datetime | None = None
    actor_kind: ActorKind = "unknown"
    actor_name: str = ""
    text: str = ""
    tool: ToolDraft | None = None
    model: str | None = None
    usage: Usage | None = None
    request: str | None = None
    """Id of the model response that ``usage`` belongs to; repeats of one id are counted once."""
    cost: Decimal | None = None
    """US dollars as stated by the recorder for that response; never computed by a reader."""
    parent: str | None = None
    """Key of the event this one answers or is nested under (result -> call, sub-agent -> call)."""
    depth: int = 0
    """0 for the main conversation, 1 and more inside sub-agents."""
    data: dict[str, Json] = field(default_factory=dict)
    """What the format knows beyond these fields and a writer may need again."""
    pointer: str = ""
    """Place in the source: a JSON pointer (RFC 6901), or ``L<line>`` with a pointer behind it."""
    offset: int | None = None
    length: int | None = None
    """Byte range of the record in the source document, where one exists (lines)."""
    origin: Origin | None = field(default=None, compare=False)
    """How it came into the log, for writers; not part of what happened. ``append`` is told by its caller instead."""
