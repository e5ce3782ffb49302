"""A session as a transcript to be read, mailed or put under version control. Write-only.

Turns are headings with their tokens and cost, tool calls fenced blocks with their results, edits diffs,
sub-agents quotes. Two walks over the events, as for the page: one counts, one writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from sessions_app.rendering import numbers
from sessions_app.summary.card import Line

from ...drafts import Events, Losses, SessionDraft
from ..common.times import rfc3339
from ..contract import Spec
from ..html.happened import Happened
from ..html.pairs import paired
from ..html.parts import shows_all
from ..html.totals import Tally, count, starts_turn
from . import parts
from .prose import line, prose, quoted, span

NAME = "markdown"
WHY = "a transcript tells what a person reads"
TOOLS_NAMED = 24
SPEC = Spec(
    name=NAME,
    title="Transcript in Markdown",
    media_type="text/markdown",
    suffix=".md",
    needs=frozenset({"costs"}),
)


def write(session: SessionDraft, events: Events, losses: Losses, *, options: dict[str, Any]) -> Iterator[bytes]:
    """The transcript in pieces, one for each event.

    ``options`` as of the page: ``generated_at`` (datetime), ``origin`` (URL), and ``costs`` of the turns as the
    desk priced them, ``{turn: {"amount": "0.012"|None, "unpriced_tokens": 0}}``.
    """
    told = Happened(session)
    total, turns = count(told.through(events), options.get("costs"))
    happened = told.lines(session) if total.events else []
    yield _bytes(_head(session, total, len(turns) - 1, happened))
    open_turn = -1
    number = 0
    for seq, event, result in paired(events):
        number += starts_turn(event)
        if number != open_turn:
            yield _bytes(_turn(number, turns[number]))
            open_turn = number
        yield _bytes(parts.event(seq, event, result))
        for shown in (event, result[1] if result else None):
            if shown and not shows_all(shown):
                losses.lose("details of events beyond text, tool and tokens", WHY)
            if shown and shown.kind == "tool_result" and shown.text and shown.tool and shown.tool.result is not None:
                losses.lose("structured results beside their text", WHY)
    yield _bytes(_foot(options.get("origin"), options.get("generated_at"), open_turn < 0))
    _report_losses(session, losses)


def _bytes(lines: Iterator[str]) -> bytes:
    return "".join(f"{text}\n" for text in lines).encode("utf-8", "replace")


def _head(session: SessionDraft, total: Tally, turns: int, happened: list[Line]) -> Iterator[str]:
    yield f"# {line(session.title, 300) or 'Session ' + line(session.external_id, 80)}"
    yield from ("", "| | |", "|---|---|")
    for name, value in _facts(session, total, turns):
        if value:
            yield f"| {name} | {value} |"
    for each in happened:
        yield f"| {each.label} | {' · '.join(line(piece.plain, 600) for piece in each.pieces)} |"
    yield ""
    if session.summary.strip():
        yield from (*quoted(prose(session.summary)), "")


def _facts(session: SessionDraft, total: Tally, turns: int) -> Iterator[tuple[str, str]]:
    started, ended = session.started_at or total.started_at, session.ended_at or total.ended_at
    yield "Agent", line(session.agent_name)
    yield "Started", _time(started) if started else numbers.UNKNOWN
    if started and ended and ended > started:
        yield "Took", numbers.duration((ended - started).total_seconds() * 1000)
    yield "Ended as", (session.phase or "").replace("_", " ")
    yield "Turns", numbers.exact(turns)
    yield "Events", numbers.exact(total.events)
    yield "Tokens", _tokens(total) or numbers.UNKNOWN
    yield "Cost", numbers.money(total.cost, partial=total.uncosted)
    yield "Models", ", ".join(map(line, total.models or filter(None, [session.model])))
    yield "Tools", _tools(total)
    yield "Errors", numbers.exact(total.errors) if total.errors else "none"
    yield "User", line(session.user_id)
    yield "Tags", ", ".join(map(line, session.tags))
    yield "Id", span(session.external_id)


def _tokens(tally: Tally) -> str:
    if tally.total_tokens is None:
        return ""
    return f"{numbers.exact(tally.total_tokens)} ({parts.tokens(tally)})"


def _tools(total: Tally) -> str:
    named = sorted(total.tools.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(named) - TOOLS_NAMED} more" if len(named) > TOOLS_NAMED else ""
    return ", ".join(f"{line(name)} ×{uses}" for name, uses in named[:TOOLS_NAMED]) + more


def _turn(number: int, turn: Tally) -> Iterator[str]:
    title = f"Turn {number} · {line(turn.prompt) or 'no text'}" if number else "Setup"
    yield f"## {title}"
    yield ""
    said = [f"{parts.tokens(turn)} tokens"] if turn.total_tokens is not None else []
    said += [numbers.money(turn.cost, partial=turn.uncosted)] if turn.cost is not None else []
    said += [numbers.duration(turn.milliseconds)] if turn.milliseconds else []
    said += [f"{turn.tool_calls} tool {_plural('call', turn.tool_calls)}"] if turn.tool_calls else []
    said += [f"{turn.errors} {_plural('error', turn.errors)}"] if turn.errors else []
    if said:
        yield from (" · ".join(said), "")


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


def _foot(origin: str | None, made_at: datetime | None, empty: bool) -> Iterator[str]:
    if empty:
        yield from ("*No events.*", "")
    yield "***"
    yield ""
    made = f" {_time(made_at)}" if made_at else ""
    yield f"Exported by Countersign{made}{f' from {line(origin)}' if origin else ''}."


def _time(at: datetime) -> str:
    full = rfc3339(at)
    return f"{full[:10]} {full[11:16]} UTC"


def _report_losses(session: SessionDraft, losses: Losses) -> None:
    if session.metadata:
        losses.lose("facts about the session beyond its table", WHY, len(session.metadata))
    for name in sorted(session.record):
        losses.lose(f"parts of the {name} file around its events", WHY)
