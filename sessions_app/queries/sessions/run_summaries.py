"""What happened in sessions, as their run summaries tell it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sessions_app.models import FileScan, RunSummary, Session
from sessions_app.summary.card import SHOWN, Ending, Line, Piece, lines_of, piece_of, plain
from sessions_app.summary.state import Summary


@dataclass(frozen=True, slots=True)
class Kind:
    """Errors that are alike: what they say, where the first and the last is, and how many."""

    piece: Piece
    first: int
    last: int
    count: int


@dataclass(frozen=True, slots=True)
class Happened:
    """The card of a session. ``read_to``: the last event that it tells of."""

    lines: list[Line]
    kinds: list[Kind]
    read_to: int
    summary: Summary

    @property
    def more_kinds(self) -> bool:
        return len(self.kinds) > SHOWN


def happened_in(session: Session, scan: FileScan | None = None) -> Happened | None:
    """What happened in a session; None where nobody has read it for that yet. ``scan``: what its files came to."""
    row = RunSummary.objects.filter(pk=session.pk).first()
    return None if row is None else _happened(session, row, scan)


def note_summaries(sessions: Iterable[Session]) -> None:
    """Give each session its card in words, as ``summary_text``: one query for all of them."""
    those = list(sessions)
    rows = RunSummary.objects.in_bulk([session.pk for session in those])
    for session in those:
        row = rows.get(session.pk)
        session.summary_text = plain(_happened(session, row, None).lines) if row else ""  # type: ignore[attr-defined]


def ending_of(session: Session) -> Ending:
    """How a session stands beside what its log says."""
    is_over = session.origin == Session.Origin.IMPORT or session.phase != Session.Phase.ACTIVE
    goes_on = session.status == Session.Status.RUNNING or session.pending_approvals > 0
    return Ending(goes_on=goes_on, is_over=is_over or session.status == Session.Status.ARCHIVED)


def _happened(session: Session, row: RunSummary, scan: FileScan | None) -> Happened:
    summary = Summary(row.told)
    changed = (scan.added, scan.removed) if scan and scan.seq >= session.last_seq else None
    kinds = [Kind(piece_of(group), group.first, group.last, group.count) for group in summary.failures.in_order()]
    return Happened(lines_of(summary, ending_of(session), changed), kinds, row.seq, summary)
