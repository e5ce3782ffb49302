"""Code, diffs and output as HTML: coloured by language, changed words marked, every text escaped here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from . import colours, terminal
from .arguments import shell, sql
from .arguments.markup import spans
from .diff import Row
from .text import clean
from .words import Ranges, changed_words

MARK = '<mark class="w">'


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A row of a diff with its text as HTML."""

    row: Row
    html: str


def html_of(text: str, language: str) -> str:
    """A text in a language, ``bash`` and ``sql`` as on the cards of approvals; without one, as output of a terminal."""
    if language == "bash":
        return spans(shell.tokens_of(clean(text)))
    if language == "sql":
        return spans(sql.tokens_of(clean(text)))
    if language:
        return colours.coloured(text, language)
    return terminal.html_of(text) if terminal.is_terminal(text) else escape(clean(text))


def diff_lines(rows: Sequence[Row], path: str) -> list[DiffLine]:
    """Rows of the diff of one file: coloured by its name, what changed within a line marked."""
    cleaned = [Row(row.mark, clean(row.text).replace("\n", " "), row.old, row.new) for row in rows]
    marks = changed_words(cleaned)
    tokens = _tokens_of(cleaned, colours.language_of_path(path))
    return [
        DiffLine(row, _line(tokens.get(at) or [("", row.text)], marks.get(at, []))) for at, row in enumerate(cleaned)
    ]


def _tokens_of(rows: Sequence[Row], language: str) -> dict[int, list[tuple[str, str]]]:
    """Tokens by the index of a row. Each hunk is read twice: as it was and as it is."""
    found: dict[int, list[tuple[str, str]]] = {}
    for hunk in _hunks(rows) if language else ():
        for side in (" -", " +"):
            places = [at for at in hunk if rows[at].mark in side]
            tokens = colours.tokens_of("\n".join(rows[at].text for at in places), language)
            if tokens:
                found |= zip(places, colours.split(tokens), strict=True)
    return found


def _hunks(rows: Sequence[Row]) -> Iterator[list[int]]:
    hunk: list[int] = []
    for at, row in enumerate(rows):
        if row.mark == "@":
            yield hunk
            hunk = []
        else:
            hunk.append(at)
    yield hunk


def _line(tokens: list[tuple[str, str]], marks: Ranges) -> str:
    """Tokens of a line as HTML; a mark lies around the pieces of tokens that are in it."""
    if not marks:
        return "".join(colours.span(kind, text.rstrip("\n")) for kind, text in tokens)
    edges = sorted({edge for place in marks for edge in place})
    opens, closes = {first for first, _ in marks}, {last for _, last in marks}
    html, at = [], 0
    for kind, token in tokens:
        text = token.rstrip("\n")
        cuts = [at, *(edge for edge in edges if at < edge < at + len(text)), at + len(text)]
        for first, last in zip(cuts, cuts[1:], strict=False):
            if first == last:
                continue
            html.append("</mark>" if first in closes else "")
            html.append(MARK if first in opens else "")
            html.append(colours.span(kind, text[first - at : last - at]))
        at += len(text)
    return "".join([*html, "</mark>" if at in closes else ""])
