"""What happened in sessions, as their run summaries tell it."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from sessions_app.compiled import Compiled
from sessions_app.models import FileScan, RunSummary, Session
from sessions_app.rendering.stated import stated_totals
from sessions_app.summary.card import SHOWN, Ending, Line, Piece, lines_of, piece_of, plain, told_apart
from sessions_app.summary.findings import Finding
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
    findings: list[Finding]
    """Of the rules that are on."""

    @property
    def more_kinds(self) -> bool:
        return len(self.kinds) > SHOWN


def happened_in(session: Session, scan: FileScan | None = None, off: Collection[str] = ()) -> Happened | None:
    """What happened in a session; None where nobody has read it for that yet. ``scan``: what its files came to;
    ``off``: rules that are off in its workspace."""
    row = _SUMMARY.first(session.pk)
    return None if row is None else _happened(session, row, scan, off)


_SUMMARIES = Compiled[RunSummary](lambda ids: RunSummary.objects.filter(session__pk__any_of=ids))
_SUMMARY = Compiled[RunSummary](lambda session_id: RunSummary.objects.filter(pk=session_id)[:1])


def note_summaries(sessions: Iterable[Session], off: Collection[str]) -> None:
    """Give each session its card in words, as ``summary_text``, ``finding_labels`` and, where it has no title,
    ``told_apart``: one query for all of them."""
    those = list(sessions)
    rows = {row.pk: row for row in _SUMMARIES([session.pk for session in those])}
    for session in those:
        row = rows.get(session.pk)
        summary = Summary(row.told) if row else None
        noted: Any = session
        noted.summary_text = plain(lines_of(summary, ending_of(session), off=off)) if summary else ""
        noted.finding_labels = [one.label for one in _findings(summary, off)] if summary else []
        noted.told_apart = told_apart(summary, ending_of(session)) if summary and not session.title else []


def ending_of(session: Session) -> Ending:
    """How a session stands beside what its log says."""
    is_read = session.origin == Session.Origin.IMPORT
    is_over = not session.was_written_just_now if is_read else session.phase != Session.Phase.ACTIVE
    goes_on = session.status == Session.Status.RUNNING or session.pending_approvals > 0
    is_over = is_over or session.status == Session.Status.ARCHIVED
    reported = 0 if session.error_count else int(stated_totals(session.metadata).get("errors", 0))
    return Ending(goes_on=goes_on, is_over=is_over, reported_errors=reported)


def _happened(session: Session, row: RunSummary, scan: FileScan | None, off: Collection[str]) -> Happened:
    summary = Summary(row.told)
    changed = (scan.added, scan.removed) if scan and scan.seq >= session.last_seq else None
    kinds = [Kind(piece_of(group), group.first, group.last, group.count) for group in summary.failures.in_order()]
    lines = lines_of(summary, ending_of(session), changed, off)
    return Happened(lines, kinds, row.seq, summary, _findings(summary, off))


def _findings(summary: Summary, off: Collection[str]) -> list[Finding]:
    return [finding for finding in summary.findings if finding.rule not in off]
