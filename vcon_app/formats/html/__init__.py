"""A session as one page that opens without a network and without a script. Write-only.

Messages are sanitised Markdown, tool calls fold out to arguments and result, edits are diffs, sub-agents are
indented. Two walks over the events: one counts, one writes; 64 events are held to put a result on the card
of its call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...drafts import Events, Losses, SessionDraft
from ..contract import Spec
from . import frame, parts, share
from .happened import Happened, section
from .pairs import paired
from .shown import shown_of_event, shown_of_session
from .totals import Tally, count, starts_turn

__all__ = ["NAME", "SPEC", "shown_of_event", "shown_of_session", "write"]

NAME = "html"
SPEC = Spec(
    name=NAME,
    title="Page that opens offline",
    media_type="text/html",
    suffix=".html",
    needs=frozenset({"costs"}),
)


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The page in pieces.

    ``options``: ``generated_at`` (datetime) and ``origin`` (URL) for the foot; ``costs``, the price of each
    turn where the desk knows better than the recorder: ``{turn: {"amount": "0.012"|None, "unpriced_tokens": 0}}``;
    ``read_from``, the file that the session came from;
    ``share``, where a link shows the page: what ``share.section`` says of it.
    """
    told = Happened(session)
    total, turns = count(told.through(events), options.get("costs"))
    yield frame.head(session).encode()
    with_cost = not (shared := options.get("share") or {}).get("without_cost")
    if shared:
        yield share.section(shared).encode()
    yield frame.header(
        session, total, len(turns) - 1, told.ended(session), options.get("read_from"), with_cost=with_cost
    ).encode()
    yield section(told.lines(session)).encode() if total.events else b""
    yield from (piece.encode() for piece in frame.outline(turns, with_cost=with_cost))
    yield b"<main>\n"
    open_turn = -1
    number = 0
    for seq, event, result in paired(events):
        number += starts_turn(event)
        if number != open_turn:
            yield (b"</section>\n" if open_turn >= 0 else b"") + _head(turns, number).encode()
            open_turn = number
        yield parts.event(seq, event, result).encode()
        for shown in (event, result[1] if result else None):
            if shown and not parts.shows_all(shown):
                losses.lose("details of events beyond text, tool and tokens", "the page shows what a person reads")
    yield b"</section>\n</main>\n" if open_turn >= 0 else b'<p class="none">No events.</p>\n</main>\n'
    yield frame.foot(options.get("origin"), options.get("generated_at")).encode()
    _report_losses(session, losses)


def _head(turns: list[Tally], number: int) -> str:
    return frame.turn_head(number, turns[number], turns[number - 1] if number else None)


def _report_losses(session: SessionDraft, losses: Losses) -> None:
    if session.metadata:
        losses.lose(
            "facts about the session beyond its header", "the page shows what a person reads", len(session.metadata)
        )
    for name in sorted(session.record):
        losses.lose(f"parts of the {name} file around its events", "the page shows what a person reads")
