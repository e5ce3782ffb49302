"""Text of strangers inside a Markdown file: it reads as it was meant, and cannot leave the place it was put in.

No raw HTML, no images, links only to http, https and mailto (as on the pages), headings below those of the file,
every fence closed. Block structure is found by the parser that the pages use, so that what is left alone as code
is code for other readers, too; all else is made harmless by character references, which no backslash before them
can undo (CommonMark 0.31 s2.4, s2.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from sessions_app.rendering.text import clean, first_line

LONGEST = 100 * 1024
"""Characters; a longer message is shown in a fence, as it is."""
DEEPEST = 18
"""Lists and quotes inside each other: the parser stops looking at 20, other readers go on; shown in a fence, too."""
BELOW = 4
"""A message's own headings start under this level: 1 to 4 are those of the file."""
_blocks = MarkdownIt("commonmark", {"html": False}).disable("inline")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_IMAGE = re.compile(r"!(?=\[)")
_LINK = re.compile(r"\](?=\((?!<?(?:https?://|mailto:)[^\s])|:(?!\s*https?://))", re.IGNORECASE)
# Possessive throughout: "> > > > x" took exponential time without.
_HEADING = re.compile(r"((?:\s{0,3}+(?:>|[-*+]|\d{1,9}+[.)]))*\s*+)(#{1,6}+)(?=\s|$)")
_UNDERLINE = re.compile(r"((?:\s*+>)*\s*+)(=++|-++)\s*+$")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)")
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&#!$])")


def prose(text: str) -> Iterator[str]:
    """The lines of a message."""
    text = clean(text).strip("\n")
    if len(text) > LONGEST:
        yield from fence(text)
        return
    tokens = _blocks.parse(text)
    if max((token.level for token in tokens), default=0) >= DEEPEST:
        yield from fence(text)
        return
    lines = text.split("\n")
    code, open_fences = _code(tokens, lines)
    place = 0
    for first, last in code:
        yield from _safe(lines[place:first])
        yield from lines[first:last]
        place = max(place, last)
    yield from _safe(lines[place:])
    yield from open_fences


def line(text: str, limit: int = 120) -> str:
    """One line that is nothing but text, for headings and cells."""
    return _SPECIAL.sub(r"\\\1", first_line(text, limit))


def span(text: str, limit: int = 120) -> str:
    """One line as code; in a table, too."""
    shown = first_line(text, limit).replace("|", "¦")
    ticks = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    pad = " " if shown[:1] == "`" or shown[-1:] == "`" else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}" if shown else ""


def fence(text: str, language: str = "") -> Iterator[str]:
    """A code block that the text cannot close: its fence is longer than any run of backticks inside."""
    shown = clean(text).rstrip("\n")
    ticks = "`" * max(3, max(map(len, re.findall("`+", shown)), default=0) + 1)
    yield ticks + language
    yield from shown.split("\n")
    yield ticks


def quoted(lines: Iterator[str], depth: int = 1) -> Iterator[str]:
    """The lines inside so many quotes."""
    mark = "> " * depth
    return ((mark + text).rstrip() if depth else text for text in lines)


def _code(tokens: list[Token], lines: list[str]) -> tuple[list[tuple[int, int]], list[str]]:
    """Line ranges that are code, in order, and the fence that the last one lacks."""
    found = [token for token in tokens if token.type in ("fence", "code_block") and token.map]
    ranges = [(token.map[0], token.map[1]) for token in found if token.map]
    last = found[-1] if found else None
    return ranges, [last.markup] if last and _is_open(last, lines) else []


def _is_open(token: Token, lines: list[str]) -> bool:
    """A fence of the outermost level runs to the end of the text when nothing closes it."""
    if token.type != "fence" or token.level or not token.map:
        return False
    first, end = token.map
    closing = lines[end - 1].strip()
    return end - 1 == first or not (set(closing) == {token.markup[0]} and len(closing) >= len(token.markup))


def _safe(lines: list[str]) -> Iterator[str]:
    before = ""
    for text in _unspanned(lines):
        found = _HEADING.match(text)
        if found:
            text = f"{found[1]}{'#' * min(6, len(found[2]) + BELOW)}{text[found.end(2) :]}"
        elif before.strip(" >") and (under := _UNDERLINE.match(text)):
            text = f"{under[1]}\\{text[under.end(1) :]}"
        yield text
        before = text


def _unspanned(lines: list[str]) -> Iterator[str]:
    """Everything outside of code spans made harmless. A span ends with its paragraph at the latest."""
    paragraph: list[str] = []
    for text in lines:
        if text.strip(" \t>"):
            paragraph.append(text)
            continue
        yield from _paragraph(paragraph)
        yield text
        paragraph = []
    yield from _paragraph(paragraph)


def _paragraph(lines: list[str]) -> Iterator[str]:
    """A span is left alone where it stands on one line without a bar: tables cut their cells at bars first.

    Which backticks pair is told for the whole paragraph; a pair over several lines is text here, and harmless.
    """
    runs = [(number, match) for number, text in enumerate(lines) for match in _SPAN.finditer(text)]
    kept: dict[int, list[tuple[int, int]]] = {}
    place = 0
    while place < len(runs):
        number, opening = runs[place]
        closing = next((i for i in range(place + 1, len(runs)) if runs[i][1][1] == opening[1]), None)
        if closing is None or _is_escaped(lines[number], opening.start()):
            place += 1
            continue
        end_number, end = runs[closing]
        if end_number == number and "|" not in lines[number][opening.end() : end.start()]:
            kept.setdefault(number, []).append((opening.start(), end.end()))
        place = closing + 1
    for number, text in enumerate(lines):
        yield _outside(text, kept.get(number, []))


def _is_escaped(text: str, place: int) -> bool:
    before = text[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _outside(text: str, spans: list[tuple[int, int]]) -> str:
    parts, place = [], 0
    for first, last in spans:
        parts += [_harmless(text[place:first]), text[first:last]]
        place = last
    return "".join([*parts, _harmless(text[place:])])


def _harmless(text: str) -> str:
    return _LINK.sub("&#93;", _IMAGE.sub("&#33;", _TAG.sub("&lt;", text)))
