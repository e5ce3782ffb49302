"""The one line of a text that says most: the first sentence of a prompt, the reason of a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson

from sessions_app.rendering.text import clean, unmarked
from sessions_app.rendering.titles import asked_in

HEAD, TAIL = 4_000, 2_000
"""Characters at both ends of a text that are looked at; whoever reads texts from the log need not read more."""
MOST_LINES = 80
MARKUP = " \t\r#*->`"
"""What Markdown has at both ends of a line."""
_LETTERS = re.compile(r"[^\W\d_]")
_FENCE = re.compile(r"\s*(?:(?:\\?`){3}|~~~)[^`]*")
"""Begins or ends a block of code, its marks escaped or not."""
_STRONG_LINE = re.compile(r"\s*\*\*[^*]+\*\*:?\s*")
_WORD = re.compile(r"[^\W\d_]{3}")
_TAG = re.compile(r"</?[A-Za-z][\w.:-]{0,60}(?: [^<>]{0,200})?>")
_LIST = re.compile(r"[-*#>|]|\d{1,3}[.)] ")
_ESCAPE = re.compile(r'\\(?:[nrt"\\/]|u[0-9a-fA-F]{4})')
_STOP = re.compile(r"[.!?。！？](?:(?<=[。！？])|(?=\s))")
"""Ends a sentence. It begins with a set of characters, which ``re`` looks for at once: 8 µs for a page and not 62."""
_TELLING = re.compile(
    r"\b(?:error|fatal|failed|failure|exception|denied|not found|no such|cannot|refused|panic)\b"
    r"|\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
_RAISED = re.compile(r"[A-Za-z_][\w.]{0,100}(?:Error|Exception|Exit|Interrupt|Warning)(?::|\s*$)")
_EXIT = re.compile(
    r"\W*(?:process )?(?:exit(?:ed)?(?: with)?(?: code)?|exit status|return code)\W*\d+\W*", re.IGNORECASE
)
_NO_REASON = re.compile(
    r"(?:Chunk ID|Wall time|Original token count|Total output lines):.*|Output:|% Total .*|Dload .*"
)
"""What recorders and ``curl`` put around the output of a command."""
_VARIES = re.compile(
    r"'[^'\n]{1,200}'|\"[^\"\n]{1,200}\"|`[^`\n]{1,200}`|(?:[\w.~-]{0,100}/)[\w./~-]{1,300}|\d[\w.:-]{0,60}"
)


def ends(text: str) -> str:
    """A text without its middle."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}{text[-TAIL:]}"


def cut(text: str, most: int) -> str:
    """The beginning of a cleaned text in one line, of at most ``most`` bytes of UTF-8."""
    line = " ".join(clean(text[: most * 4].replace("\0", "\ufffd")).split())  # as the log stores it
    encoded = line.encode("utf-8", "replace")
    if len(encoded) <= most:
        return line
    return encoded[: most - 3].decode("utf-8", "ignore").rstrip() + "…"


def unescaped(text: str) -> str:
    """A text that its recorder wrote as JSON twice (``"Look at\\nthis"``), as it was; any other one as it is."""
    if "\\n" not in text or "\n" in text.strip():
        return text
    return _ESCAPE.sub(_escaped, text.strip().removeprefix('"').removesuffix('"'))


def _escaped(match: re.Match[str]) -> str:
    try:
        found = orjson.loads(f'"{match[0]}"')
    except orjson.JSONDecodeError:  # half of a pair of surrogates
        return match[0]
    return found if isinstance(found, str) else match[0]


def first_sentence(text: str, most: int) -> str:
    """The first sentence of what is asked in a prompt, see ``asked_in``."""
    shown = unescaped(asked_in(text))
    lines = [_TAG.sub("", line).strip() for line in shown.split("\n", MOST_LINES)[:MOST_LINES]]
    saying = [number for number, line in enumerate(lines) if _LETTERS.search(line) and not _FENCE.fullmatch(line)]
    if not saying:
        return cut(shown, most)
    begin = next((number for number in saying if not _is_heading(lines[number])), saying[0])
    if begin != saying[0] and _asks(lines[begin - 1]):
        begin -= 1
    said = unmarked(" ".join([lines[begin], *_paragraph(lines[begin + 1 :])])).strip(MARKUP)
    stop = _STOP.search(said)
    return cut(said[: stop.end()] if stop else said, most)


def _paragraph(lines: list[str]) -> Iterator[str]:
    """Lines that go on where one was broken."""
    for line in lines:
        if not line or _LIST.match(line) or _FENCE.fullmatch(line):
            return
        yield line


def _is_heading(line: str) -> bool:
    """Whether a line only names what follows: ``# Task``, ``1. CONTEXT``, ``Context:``."""
    return line.startswith("#") or line.isupper() or line.endswith(":") and line.count(" ") < 3


def _asks(line: str) -> bool:
    """Whether a line is what is asked of the lines below it (``Fix this:``), and not only their name."""
    return line.endswith(":") and " " in line and line[:1] not in "#*"


def first_lines(text: str, count: int, most: int) -> str:
    """The first lines of a message that say something, together: without its headings, where it says more."""
    written = unescaped(text[:HEAD]).split("\n", MOST_LINES)[:MOST_LINES]
    saying = [line for line in written if _LETTERS.search(line) and not _FENCE.fullmatch(line)]
    beyond = [line for line in saying if not (_is_heading(line.strip()) or _STRONG_LINE.fullmatch(line))]
    said = " ".join(unmarked(line.strip()).strip(MARKUP) for line in (beyond or saying)[:count]) or text
    return cut(said, most)


def reason(text: str, result: Any, most: int) -> str:
    """The line of a failed result that says why: with letters, one that names an error before others, and of a Python
    traceback what was raised."""
    lines = [
        _TAG.sub("", line).strip(" \t\r│┃║|╭╰─=")
        for line in _words_of_result(text, result).split("\n")[: 4 * MOST_LINES]
    ]
    saying = [line for line in lines if _LETTERS.search(line) and not _NO_REASON.fullmatch(line)]
    if any(line.startswith("Traceback (most recent") for line in saying):
        raised = next((line for line in reversed(saying) if _RAISED.match(line)), "")
        if raised:
            return cut(raised, most)
    beyond = [line for line in saying if not _EXIT.fullmatch(line)]
    worded = [line for line in beyond if _WORD.search(line)]
    return cut(next(filter(_TELLING.search, beyond), (worded or beyond or saying or [""])[0]), most)


def _words_of_result(text: str, result: Any) -> str:
    """What a result says; where it has no text, its value, or what that has under the usual names."""
    if not text.strip() and isinstance(result, str):
        return ends(result)
    if text.strip() or not isinstance(result, dict):
        return ends(text)
    found = (result.get(key) for key in ("stderr", "error", "message", "output", "stdout", "content", "type"))
    return ends(next((value for value in found if isinstance(value, str) and value.strip()), ""))


def alike(line: str) -> str:
    """A line without what differs from one failure to the next: names in quotes, paths, numbers."""
    return _VARIES.sub("…", line).casefold()
