"""What a reader yields and a writer takes: the neutral shape of a session, without a database.

A reader is a generator of :data:`Draft` items. Every ``EventDraft`` belongs to the ``SessionDraft``
yielded last; a ``SessionDraft`` with an ``external_id`` seen before only fills in what that session
did not know yet (a title at the end of a file). Nothing here knows Django.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

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
Severity = Literal["error", "warning", "info"]


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


@dataclass(slots=True)
class SessionDraft:
    """One run of an agent as the file tells it; nobody changes one (not frozen for the reason of ``EventDraft``)."""

    external_id: str
    title: str = ""
    agent_name: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    phase: Literal["active", "completed", "crashed", "timed_out"] | None = None
    model: str | None = None
    user_id: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    parent_external_id: str | None = None
    metadata: dict[str, Json] = field(default_factory=dict)
    """Shown on the page: recorder, environment (cwd, branch, commit), versions. ``tools_invoked``: names of the tools
    that a file states beside its events."""
    record: dict[str, Json] = field(default_factory=dict)
    """Kept for the writer under the format's own name: parties, attachments, unknown keys."""


@dataclass(frozen=True, slots=True)
class Companion:
    """What a small file beside a transcript says of that transcript's session, whichever of the two comes first."""

    kind: str
    """What of the format tells it; later files of one kind replace what earlier ones said."""
    tail: str
    """The last part of the session's ``external_id``, behind its last slash."""
    parent: str = ""
    """The part before that, where the file's place tells it."""
    title: str = ""
    metadata: dict[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something odd in a file: the rule it breaks, where, and what that means for the reader of it."""

    rule: str
    severity: Severity
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Signature:
    """What is known of a file's signature; ``valid`` alone means verified and trusted."""

    state: Literal["valid", "valid_untrusted", "valid_expired", "invalid", "uncheckable", "unsigned", "encrypted"] = (
        "unsigned"
    )
    signer: str | None = None
    detail: str = ""
    until: datetime | None = None
    """When a certificate that it hangs on expires: it is not ``valid`` after that."""
    uncovered: tuple[str, ...] = ()
    """Parts of the file that the signature says nothing about: anybody may have changed them."""


Draft = SessionDraft | EventDraft | Finding | Signature


class FormatError(ValueError):
    """The file cannot be read as this format at all. The message is shown to the person who dropped it.

    ``signature`` is what is known of its signature nevertheless: that it is encrypted.
    """

    def __init__(self, message: str, signature: Signature | None = None) -> None:
        super().__init__(message)
        self.signature = signature


@dataclass(frozen=True, slots=True)
class Option:
    """A choice that a format leaves to whoever exports; the ``options`` of its ``Spec`` list them."""

    name: str
    """Lower case with ``_``: a parameter in the API, ``--name`` of the command, a key in the options of ``write``."""
    title: str
    """What is chosen, as a label; of a switch what it does."""
    choices: tuple[tuple[str, str], ...] = ()
    """Value and title of each, the default first; ``write`` is given the value. None: it is a switch, off until it is
    asked for, and ``write`` is given a bool."""
    detail: str = ""
    """A sentence for people: whom it is for, what it gives away."""


class Losses:
    """What a writer could not carry, counted by reason; ``rows()`` is the export report."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str], int] = {}

    def lose(self, what: str, why: str, count: int = 1) -> None:
        self._counts[(what, why)] = self._counts.get((what, why), 0) + count

    def rows(self) -> list[dict[str, Any]]:
        return [{"what": what, "why": why, "count": n} for (what, why), n in self._counts.items()]

    def total(self) -> int:
        return sum(self._counts.values())


class Events(Protocol):
    """A session's events in log order; may be walked more than once, and never all held in memory."""

    def __iter__(self) -> Iterator[EventDraft]: ...
    def __len__(self) -> int: ...
