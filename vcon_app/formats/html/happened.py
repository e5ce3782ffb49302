"""What happened in the session that is written, told by the rules of the desk from the events as they are written:
of a redacted session it says no more than those do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sessions_app.rendering import marks
from sessions_app.rendering.text import escape
from sessions_app.summary.card import Ending, Line, Piece, how_ended, lines_of
from sessions_app.summary.findings import Finding
from sessions_app.summary.state import Summary

from ...drafts import EventDraft, SessionDraft

SOURCE = "Counted from the events below; what stands in quotation marks is quoted from them."


class Happened:
    """The summary of events that something else walks over."""

    def __init__(self, session: SessionDraft) -> None:
        environment = session.metadata.get("environment")
        cwd = environment.get("cwd") if isinstance(environment, dict) else None
        self._summary = Summary(cwd=cwd if isinstance(cwd, str) else "")

    def through(self, events: Iterable[EventDraft]) -> Iterator[EventDraft]:
        """The same events, taken in on their way."""
        calls: dict[str, int] = {}
        for seq, event in enumerate(events, start=1):
            if event.kind == "tool_call":
                calls[event.key] = seq
            self._summary.take(seq, calls.get(event.parent) if event.parent else None, event)
            yield event

    def lines(self, session: SessionDraft) -> list[Line]:
        """The lines of the card."""
        return lines_of(self._summary, Ending(is_over=session.phase != "active"))

    def ended(self, session: SessionDraft) -> str:
        """How the session ended in a word: as it says itself, but a file that ends in the middle of a call, with an
        error or without a reply is not called completed."""
        how = how_ended(self._summary, Ending()) if session.phase == "completed" else ""
        return str(marks.STATES[how].words) if how in marks.ENDINGS else (session.phase or "").replace("_", " ")

    def findings(self) -> list[Finding]:
        """What rules mark, those too that a workspace has turned off."""
        return self._summary.findings


def section(lines: list[Line]) -> str:
    """The card at the top of the page."""
    rows = "".join(f"<div><dt>{line.label}</dt><dd>{''.join(map(_piece, line.pieces))}</dd></div>" for line in lines)
    return f'<div class="happened"><h2>What happened</h2>\n<dl>{rows}</dl>\n<p class="source">{SOURCE}</p></div>\n'


def _piece(piece: Piece) -> str:
    quoted = f'<q dir="auto">{escape(piece.quoted)}</q>' if piece.quoted else ""
    said = " ".join(filter(None, (escape(piece.text), quoted, escape(piece.more))))
    tone = f' class="{piece.tone}"' if piece.tone else ""
    return f'<a{tone} href="#e{piece.seq}">{said}</a>' if piece.seq else f"<span{tone}>{said}</span>"
