"""Lines of the story in place of events that are out of sight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from sessions_app.models import HiddenSpan

from ..log.timeline import Window
from . import hidden

RULES = 2
"""Names of rules that a line tells; there may be one for each of many prunings."""
LOOKED_AT = 50
"""Markers of a window that are read for them."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Events that stand together and are out of sight, as one line; it has what rows ask of an entry."""

    seq: int
    last: int
    turn: int
    messages: int
    rules: str
    by: str
    """Who pruned last; the sweep is the desk itself."""
    kind: str = "pruned"
    depth: int = 0
    call_id: None = None
    actor_kind: str = "system"
    actor_name: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def folded(session_id: UUID, window: Window, spans: Sequence[HiddenSpan], floor: int, ceiling: int) -> Window:
    """A window with a line for each span between its rows: behind the event ``floor`` and before ``ceiling``.

    A span stands before the row that follows it; behind the last row only where there are no more.
    """
    rows = window.entries
    end = ceiling if not window.later else rows[-1].seq if rows else floor
    shown = [span for span in spans if floor < span.first_seq < end]
    if not shown:
        return window
    markers = hidden.markers_of(session_id, shown[0].first_seq, shown[-1].last_seq, LOOKED_AT)
    turns = [(row.seq, row.turn) for row in rows]
    folds: list[Any] = []
    for span in shown:
        of_it = [one for one in markers if one.first_seq <= span.last_seq and one.last_seq >= span.first_seq]
        named = list(dict.fromkeys(one.rule for one in of_it))
        rules = ", ".join(named[:RULES]) + (f" and {len(named) - RULES} more" if len(named) > RULES else "")
        turn = next((turn for seq, turn in turns if seq > span.first_seq), turns[-1][1] if turns else 0)
        folds.append(Fold(span.first_seq, span.last_seq, turn, span.messages, rules, of_it[0].by if of_it else ""))
    entries = sorted([*rows, *folds], key=lambda row: row.seq)
    anchor = entries.index(rows[window.anchor]) if window.anchor < len(rows) else len(entries)
    return replace(window, entries=entries, anchor=anchor)
