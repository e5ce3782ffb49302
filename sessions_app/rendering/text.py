"""Text of strangers, made visible: no terminal escapes, no invisible or direction-changing characters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape as _escape

# A control sequence is taken out only where it is complete and short (ECMA-48 5.4, 5.6): an open one would
# hide the text behind it, so its escape character is shown instead.
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]"  # CSI: colours, cursor
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c\n]{0,4096}(?:\x07|\x1b\\|\x9c)"  # OSC: titles, links
    r"|\x1b[PX^_][^\x1b\n]{0,4096}\x1b\\"  # DCS, SOS, PM, APC
    r"|\x1b[ -/]{0,8}[0-OQ-WYZ\\`-~]"  # short ones
)
# Unicode TR36 2.2 and CVE-2021-42574: what changes the order of text, takes no room, or ends a line unseen.
_INVISIBLE = (
    (0x00, 0x08), (0x0B, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160),
    (0x17B4, 0x17B5), (0x180B, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F), (0x2028, 0x202E), (0x2060, 0x206F),
    (0x3164, 0x3164), (0xD800, 0xDFFF), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF9, 0xFFFB), (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
# Joiners belong to emoji and to many scripts; beside ASCII they only hide.
_JOINER = re.compile("(?:(?<=[\0-\x7f])|^)[\u200c\u200d]|[\u200c\u200d](?=[\0-\x7f]|$)")
_ODD = re.compile("[^\t\n -~]")
_QUOTES = dict.fromkeys(map(ord, "“”„‟"), '"')
_MARKED = re.compile(r"(?<!`)(`{1,3})(?P<code>[^`]+)\1(?!`)|(?<!\w)\*\*(?=\w)(?P<strong>[^*]+)\*\*")


@dataclass(frozen=True, slots=True)
class Clamped:
    """The beginning of a long text, and how much there is in all."""

    text: str
    characters: int
    lines: int
    cut: bool


def clean(text: str) -> str:
    """Terminal escapes taken out, line ends made ``\\n``, everything invisible shown as a mark."""
    if not _ODD.search(text):
        return text
    return mark_invisible(_ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def mark_invisible(text: str) -> str:
    """Control, direction and zero-width characters as marks (``⟨U+202E⟩``); no mark is special in HTML."""
    return _JOINER.sub(lambda match: _mark(ord(match[0])), text.translate(_MARKS))


def json_escapes(text: str) -> str:
    """Invisible characters in JSON as the escapes of JSON (``\\u202e``): to be seen, and the same value still."""
    return text if text.isascii() else text.translate(_JSON_ESCAPES)


def escape(text: str) -> str:
    """``clean``, then safe as HTML text and inside a quoted attribute."""
    return _escape(clean(text), quote=True)


def first_line(text: str, limit: int = 120) -> str:
    """The first line that says something, cleaned, at most ``limit`` characters long."""
    head = clean(text[: limit * 20]).strip()
    line = " ".join(head.partition("\n")[0].split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def in_quotes(text: str, limit: int = 120) -> str:
    """``first_line`` in quotes that it cannot end by itself, for a sentence of the desk; "" where nothing is said."""
    line = first_line(text, limit).translate(_QUOTES)
    return f"“{line}”" if line else ""


def unmarked(line: str) -> str:
    """A line of Markdown without the marks of emphasis and code: a pattern like ``**/*.py`` is neither."""
    return _MARKED.sub(lambda found: found["code"] or found["strong"], line)


def clamp(text: str, *, characters: int = 4_000, lines: int = 60) -> Clamped:
    """The first ``lines`` lines and ``characters`` characters of a text, whichever ends first."""
    total = text.count("\n") + 1
    shown = text[:characters]
    if total > lines:
        shown = "\n".join(shown.split("\n", lines)[:lines])
    return Clamped(shown, len(text), total, len(shown) < len(text))


def _mark(code: int) -> str:
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: U+2400 is the one of NUL
    if code == 0x7F:
        return "\u2421"
    return "\ufffd" if 0xD800 <= code <= 0xDFFF else f"⟨U+{code:04X}⟩"


_MARKS = {code: _mark(code) for first, last in _INVISIBLE for code in range(first, last + 1)}


def _json_escape(code: int) -> str:
    units = chr(code).encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


_JSON_ESCAPES = {code: _json_escape(code) for code in _MARKS}
