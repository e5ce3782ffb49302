"""What a reader yields and a writer takes: the neutral shape of a session, without a database.

A reader is a generator of :data:`Draft` items. Every ``EventDraft`` belongs to the ``SessionDraft``
yielded last; a ``SessionDraft`` with an ``external_id`` seen before only fills in what that session
did not know yet (a title at the end of a file). Nothing here knows Django.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, get_args

from sessions_app.drafts import ActorKind, EventDraft, Json, Kind, Origin, ToolDraft, Usage

__all__ = [
    "PHASES", "ActorKind", "Companion", "Draft", "EventDraft", "Events", "Finding", "FormatError", "Json", "Kind",
    "Losses", "Option", "Origin", "Phase", "SessionDraft", "Severity", "Signature", "ToolDraft", "Usage",
]  # fmt: skip

Severity = Literal["error", "warning", "info"]
Phase = Literal["active", "completed", "cancelled", "crashed", "timed_out"]
PHASES: tuple[Phase, ...] = get_args(Phase)
SignatureState = Literal[
    "valid", "valid_untrusted", "valid_expired", "invalid", "uncheckable", "unsigned", "encrypted"
]  # fmt: skip


@dataclass(slots=True)
class SessionDraft:
    """One run of an agent as the file tells it; nobody changes one (not frozen for the reason of ``EventDraft``)."""

    external_id: str
    title: str = ""
    agent_name: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    phase: Phase | None = None
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
    """The part of the ``external_id`` before that slash, where the path of the file names it."""
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

    state: SignatureState = "unsigned"
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
