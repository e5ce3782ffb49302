"""The page around the events: its head, the session's facts, the outline, the turns' heads."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import resources
from itertools import islice

from sessions_app.rendering import markdown, numbers, pauses
from sessions_app.rendering.text import escape, first_line, in_quotes

from ...drafts import SessionDraft
from ..common.times import rfc3339
from .parts import tokens
from .totals import Tally, Total

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""Nothing is loaded and nothing runs, also if a string should slip through all else."""
TOOLS_NAMED = 24
COST = ("Tokens", "Cost")
LINKS = 500
"""Of the outline, that are written at a time."""


def head(session: SessionDraft) -> str:
    """Everything up to the body: no script, no reference to anything outside of the file."""
    css = resources.files(__package__).joinpath("page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title_of(session))}</title>\n<style>\n{css}</style>\n</head>\n<body>\n{_ICONS}"
    )


def header(
    session: SessionDraft, total: Total, turns: int, ended_as: str, read_from: dict[str, str] | None, *, with_cost: bool
) -> str:
    """The session's title, actors, times, totals and errors; ``ended_as``: how it ended, in a word; ``read_from``: the
    file that it came from.

    Without its cost it has no place for tokens and money, where a dash would say that nobody knows them.
    """
    quoted = f"<blockquote>{markdown.render(session.summary)}</blockquote>"  # it is no statement of this page
    summary = f'<div class="text summary">{quoted}</div>' if session.summary.strip() else ""
    told = [*_facts(session, total, turns, ended_as), ("Read from", _file(read_from) if read_from else "")]
    shown = [(name, value) for name, value in told if value and (with_cost or name not in COST)]
    facts = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in shown)
    return f'<header>\n<h1>{escape(title_of(session))}</h1>\n<dl class="facts">{facts}</dl>\n{summary}</header>\n'


def outline(turns: list[Tally], *, with_cost: bool) -> Iterator[str]:
    """A link to each turn, with its cost and whether something went wrong in it; in pieces of 500."""
    if len(turns) < 2:
        return
    yield '<nav aria-label="Turns"><h2>Turns</h2><ol>'
    numbered = islice(enumerate(turns), 1, None)
    while some := list(islice(numbered, LINKS)):
        yield "".join(_link(number, turn, with_cost) for number, turn in some)
    yield "</ol></nav>\n"


def _link(number: int, turn: Tally, with_cost: bool) -> str:
    errors = f' <span class="bad">{turn.errors} {plural("error", turn.errors)}</span>' if turn.errors else ""
    cost = f' <span class="glance">{_cost(turn)}</span>' if with_cost else ""
    return (
        f'<li><a href="#turn-{number}"><span class="n">{number}</span> {escape(turn.prompt) or "no text"}{errors}'
        f"{cost}</a></li>"
    )


def turn_head(number: int, turn: Tally, before: Tally | None) -> str:
    """The heading of a turn, with its tokens, its cost and its time; above it how long after ``before`` it began."""
    title = escape(turn.prompt) or "no text" if number else "Setup"
    said = [tokens(turn)] if turn.total_tokens is not None else []
    if turn.cost is not None:
        said.append(f'<span title="{numbers.dollars(turn.cost)}">{_cost(turn)}</span>')
    if turn.milliseconds:
        said.append(numbers.duration(turn.milliseconds))
    if turn.tool_calls:
        said.append(f"{turn.tool_calls} tool {plural('call', turn.tool_calls)}")
    if turn.errors:
        said.append(f'<span class="bad">{turn.errors} {plural("error", turn.errors)}</span>')
    label = f'<span class="n">Turn {number}</span> ' if number else ""
    pause = _pause(before.ended_at, turn.started_at) if before and before.ended_at and turn.started_at else ""
    facts = f'<p class="turn-facts">{" · ".join(said)}</p>'
    return f'{pause}<section id="turn-{number}">\n<h2>{label}{title}</h2>\n{facts}\n'


def _pause(since: datetime, until: datetime) -> str:
    pause = pauses.between(since.astimezone(UTC), until.astimezone(UTC))
    if pause is None:
        return ""
    later = f"{numbers.duration(pause.length.total_seconds() * 1000)} later" if pause.length else ""
    day = f"{pause.until:%A} {_time(pause.until)}" if pause.is_new_day else ""
    return f'<p class="pause">{" · ".join(filter(None, (later, day)))}</p>\n'


def foot(origin: str | None, made_at: datetime | None) -> str:
    """Who made the page and when."""
    made = f" {_time(made_at)}" if made_at else ""
    source = f" from {escape(origin)}" if origin else ""
    return f"<footer><p>Exported by Countersign{made}{source}.</p></footer>\n</body>\n</html>\n"


def title_of(session: SessionDraft) -> str:
    return first_line(session.title, 300) or f"Session {first_line(session.external_id, 80)}"


def plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def _facts(session: SessionDraft, total: Total, turns: int, ended_as: str) -> Iterator[tuple[str, str]]:
    started, ended = session.started_at or total.started_at, session.ended_at or total.ended_at
    yield "Agent", escape(session.agent_name)
    yield "Started", _time(started) if started else numbers.UNKNOWN
    yield "Times", "in UTC"
    if started and ended and ended > started:
        yield "Took", numbers.duration((ended - started).total_seconds() * 1000)
    yield "Ended as", escape(ended_as)
    yield "Turns", numbers.exact(turns)
    yield "Events", numbers.exact(total.events)
    yield "Tokens", _tokens(total)
    yield "Cost", f'<span title="{numbers.dollars(total.cost)}">{_cost(total)}</span>'
    yield "Models", ", ".join(map(escape, total.models or filter(None, [session.model])))
    yield "Tools", _tools(total)
    yield "Errors", f'<span class="bad">{total.errors}</span>' if total.errors else "none"
    yield "User", escape(session.user_id)
    yield "Tags", ", ".join(map(escape, session.tags))
    yield "Id", f"<code>{escape(session.external_id)}</code>"


def _file(read_from: dict[str, str]) -> str:
    """A file by its name, in quotes since others chose it, and by the digest of its bytes or of its archive's."""
    names = [in_quotes(read_from[name], 300) for name in ("name", "archive") if read_from[name]]
    return f"{escape(' in '.join(names))} <code>SHA-256 {escape(read_from['sha256'])}</code>"


def _tokens(total: Total) -> str:
    if total.total_tokens is None:
        return numbers.UNKNOWN
    whole = f'<span title="{numbers.exact(total.total_tokens)}">{numbers.tokens(total.total_tokens)}</span>'
    return f"{whole} ({tokens(total)})"


def _cost(tally: Tally) -> str:
    return numbers.money(tally.cost, partial=tally.uncosted)


def _tools(total: Total) -> str:
    named = sorted(total.tools.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(named) - TOOLS_NAMED} more" if len(named) > TOOLS_NAMED else ""
    return ", ".join(f"{escape(name)} ×{uses}" for name, uses in named[:TOOLS_NAMED]) + more


def _time(at: datetime) -> str:
    full = rfc3339(at)
    return f'<time datetime="{full}">{full[:10]} {full[11:16]} UTC</time>'


_PATHS = {
    "terminal": "M4 6l5 5-5 5M11 17h8",
    "file": "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
    "pencil": "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
    "search": "M10 4a6 6 0 1 1 0 12 6 6 0 0 1 0-12M15 15l5 5",
    "globe": "M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18M3 12h18M12 3c3 3 3 15 0 18M12 3c-3 3-3 15 0 18",
    "agent": "M6 8h12v10H6zM12 8V4M9 12v2M15 12v2",
    "list": "M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1",
    "plug": "M8 4v5M16 4v5M6 9h12v3a6 6 0 0 1-12 0zM12 18v3",
    "tool": "M5 19l8-8M13 11a4 4 0 1 1 3-6l-2 3 2 2 3-1a4 4 0 0 1-6 2",
}
_ICONS = '<svg width="0" height="0" aria-hidden="true">{}</svg>\n'.format(
    "".join(f'<symbol id="i-{name}" viewBox="0 0 24 24"><path d="{path}"/></symbol>' for name, path in _PATHS.items())
)
