"""The piece of a text that is shown of a hit, with what was found in it marked."""

from __future__ import annotations

import re
from bisect import bisect_left

from sessions_app.rendering.unescape import of_json, unescaped

from .typed import Query, Term
from .words import SIGNS, fold

BEFORE, LENGTH = 60, 200
"""Characters shown before the first found word, and in all."""
LETTERS = re.compile(f"(?:[^\\W_]|{SIGNS.pattern[:-1]})+")
DOCUMENT = re.compile(r"(?:\S+ )?(?:\{\"|\[[\[{\"])")
"""The beginning of arguments or of a result in JSON, behind the name of the tool."""
Span = tuple[int, int]


def snippet(text: str, query: Query) -> list[str]:
    """Pieces of text, every second one found. Words that are found by a part are marked there. Of JSON, and of what its
    recorder wrote as JSON twice, as it was meant: nobody said the ``\\n`` in it.
    """
    if "\\" in text:
        text = of_json(text) if DOCUMENT.match(text) else unescaped(text) or text
    spans = sorted({span for term in query.wanted for span in _spans(text, term)})
    start = _start(text, spans[0][0]) if spans else 0
    end = start + LENGTH
    pieces, at = ["… " if start else ""], start
    for first, last in spans:
        if at <= first < end:
            pieces[-1] += text[at:first]
            pieces += [text[first : min(last, end)], ""]
            at = min(last, end)
    pieces[-1] += text[at:end] + (" …" if end < len(text) else "")
    return pieces


def _start(text: str, first: int) -> int:
    """Where the piece begins: behind the last space that is far enough before the first found word."""
    if first <= BEFORE:
        return 0
    space = text.find(" ", first - BEFORE, first)
    return space + 1 if space >= 0 else first - BEFORE


def _spans(text: str, term: Term) -> list[Span]:
    """Where a term is said: side by side, else each of its runs by itself, else inside of words (``parseHeader``)."""
    runs = [re.escape(run) for run, _ in term.pieces]
    end = "" if term.is_beginning or term.pieces[-1][1] else r"(?![^\W_])"
    start = "" if term.pieces[0][1] else r"(?<![^\W_])"
    for pattern in (start + r"[\W_]*".join(runs) + end, "|".join(runs)):
        if spans := [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]:
            return spans
    return _folded_spans(text, term)


def _folded_spans(text: str, term: Term) -> list[Span]:
    """Words that are one of the term's but for accents and the like."""
    wanted = sorted(run for run, _ in term.pieces)
    return [
        match.span() for match in LETTERS.finditer(text) if not match[0].isascii() and _is_one(fold(match[0]), wanted)
    ]


def _is_one(word: str, wanted: list[str]) -> bool:
    place = bisect_left(wanted, word)
    return place < len(wanted) and wanted[place] == word
