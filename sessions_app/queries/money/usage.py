"""Tokens and money of a workspace in a period, by day, month, agent, model, session or tool.

A turn belongs to the moment it began, and everything in it belongs to the turn: so every grouping adds up to the
same total. Tokens stand once per model response. A response that calls several tools is shared among its calls.
A turn that ran here is paid from the AI wallet and its calls from the data wallet; what ran elsewhere, imported or
reported, is paid from neither. What an erased session took from the wallets stays in the sums, without a session, a
model, and any place among those of an origin or tag; its turns belong to the moment when they were booked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sessions_app.models import UsageFillIn
from sessions_app.models.fields import Money, Tokens

from . import usage_of_turns, usage_totals

GROUPS = ("day", "month", "agent", "session", "model", "tool")


@dataclass(frozen=True, slots=True)
class Part:
    """Money of a part of a group; None is unknown."""

    cost_recorded: Decimal | None = None
    cost_priced: Decimal | None = None
    unpriced_tokens: int = 0
    under_reported: int = 0
    any: bool = False
    """Whether there are turns of the kind; without them nothing is unknown, and nothing was spent."""

    cost_amount = Money.cost_amount
    cost_basis = Money.cost_basis


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens and money of one group, or of all. None is unknown."""

    name: str | None
    """The day, the first day of the month, the agent's or session's id, the model or tool; None where there is none, or
    the session was erased.
    """
    about: Any
    """The agent's name, the session's title, the number of calls of a tool."""
    sessions: int
    turns: int
    input_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cost_recorded: Decimal | None
    """Of turns, wherever they ran: what tool calls cost is in ``data``."""
    cost_priced: Decimal | None
    unpriced_tokens: int
    under_reported: int
    runtime_ms: int | None
    """Of turns that ran here; None by model and tool, among which a turn cannot be divided."""
    data: Decimal | None
    """What the tool calls took from the data wallet."""
    here: Part
    """What turns took from the AI wallet."""
    elsewhere: Part
    """What imported and reported turns cost somebody."""

    total_tokens = Tokens.total_tokens
    cost_amount = Money.cost_amount
    cost_basis = Money.cost_basis

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Used:
        """Usage from a row of ``COUNTS`` and ``SUMS``."""
        plain, here, elsewhere = row[:-10], row[-10:-5], row[-5:]
        values: tuple[Any, ...] = (*plain, Part(*here), Part(*elsewhere))
        return cls(*values)

    @property
    def all_costs(self) -> Part:
        """Turns and tool calls together; a call's price was stated by whoever made it."""
        recorded = self.cost_recorded
        if self.data is not None:
            recorded = (recorded or Decimal(0)) + self.data
        return Part(recorded, self.cost_priced, self.unpriced_tokens, self.under_reported)


@dataclass(frozen=True, slots=True)
class Period:
    """Turns of a workspace that began at or after ``since`` and before ``until``, of the sessions that pass."""

    workspace_id: UUID
    since: datetime | None = None
    until: datetime | None = None
    agent: str = ""
    """An agent's id, slug or name; empty: all, as with the others."""
    origin: str = ""
    tag: str = ""

    def total(self) -> Used:
        """Total usage of the period."""
        return Used.from_row(_reader().total(self._scope()))

    def groups(self, by: str, *, limit: int, after: tuple[bool, str] | None = None) -> list[Used]:
        """Groups in order of name, the one without a name last; ``after`` is (is it without, name) of the last one."""
        nameless, past = after or (False, None)
        rows = _reader().groups(by, self._scope(nameless=nameless, past=past, limit=limit))
        return [Used.from_row(row) for row in rows]

    def ranked(self, by: str, *, limit: int) -> tuple[list[Used], int]:
        """The dearest groups first (days, months: the latest), and how many there are in all."""
        rows = _reader().ranked(by, self._scope(limit=limit))
        return [Used.from_row(row[1:]) for row in rows], rows[0][0] if rows else 0

    def dearest(self, by: str, *, limit: int) -> list[Used]:
        """The dearest groups first, for whom the number of their sessions does not matter: it may be too low."""
        scope = self._scope(limit=limit)
        rows = usage_totals.ranked(by, scope, counted=False) if is_kept() else usage_of_turns.ranked(by, scope)
        return [Used.from_row(row[1:]) for row in rows]

    def by_part(self, part: str, by: str, names: list[str]) -> list[tuple[str, str, Used]]:
        """Day (or first day of the month), name ("" is none) and usage of some agents, models or tools; nothing while
        totals are filled in. The number of their sessions may be too low.
        """
        if not is_kept() or not names:
            return []
        rows = usage_totals.by_part(part, by, self._scope(), names)
        return [(row[0][:10], row[0][usage_totals.DAY :], Used.from_row(row)) for row in rows]

    def _scope(self, **more: Any) -> dict[str, Any]:
        return {
            "workspace": self.workspace_id, "from": self.since, "to": self.until, "agent": self.agent,
            "origin": self.origin, "tag": self.tag,
        } | more  # fmt: skip


class _FilledIn:
    """Whether totals are kept of all sessions. Once they are they stay so, and nobody asks again."""

    known = False


def is_kept() -> bool:
    """Whether totals are kept of all sessions: not while an installation from before there were any fills them in."""
    _FilledIn.known = _FilledIn.known or not UsageFillIn.objects.exists()
    return _FilledIn.known


def _reader() -> Any:
    """Kept totals, or the turns themselves while an installation from before there were totals fills them in."""
    return usage_totals if is_kept() else usage_of_turns
