"""Text of strangers as HTML: escaped, what is invisible shown as a mark, long runs of one character folded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..text import escape

RUN = 40
"""So many times the same character is a run: 300 "x" say less than their number, and blanks can hide a command."""
_RUN = re.compile(rf"([^\n])\1{{{RUN - 1},}}|\n{{12,}}")
_MARK = re.compile(r"⟨U\+[0-9A-F]{4,6}⟩|[\u2400-\u2421\ufffd]")


class Token(NamedTuple):
    """A piece of a text and what it is: comment, string, number, word (a keyword or command), op, danger, or ""."""

    kind: str
    text: str


def shown(text: str) -> str:
    """A text as HTML."""
    pieces, end = [], 0
    for run in _RUN.finditer(text):
        pieces += [_escaped(text[end : run.start()]), _run(run[0])]
        end = run.end()
    return "".join([*pieces, _escaped(text[end:])])


def spans(tokens: Iterable[Token]) -> str:
    """Tokens as HTML, each in a span with the class of its kind."""
    return "".join(
        f'<span class="t-{token.kind}">{shown(token.text)}</span>' if token.kind else shown(token.text)
        for token in tokens
    )


def _escaped(text: str) -> str:
    return _MARK.sub(lambda mark: f'<span class="odd">{mark[0]}</span>', escape(text))


def _run(run: str) -> str:
    if run[0] == "\n":
        return f'\n<span class="run">{len(run) - 1:,} empty lines</span>\n'
    name = "blanks" if run[0].isspace() else f"× {_escaped(run[0])}"
    return f'{_escaped(run[:8])}<span class="run">… {len(run):,} {name}</span>'
