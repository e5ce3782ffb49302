"""Output of a terminal as HTML: its colours as classes, and lines that it wrote over as they stood last."""

from __future__ import annotations

import re
from html import escape

from .text import clean

# ECMA-48 8.3.117, SGR; sub-parameters with ":" (ISO 8613-6) as terminals read them.
_SGR = re.compile(r"(?:\x1b\[|\x9b)([0-9;:]{0,64})m")
_NAMES = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
_STYLES = {"1": "bold", "3": "italic", "4": "underline", "9": "strike"}
_ENDS = {"22": "bold", "23": "italic", "24": "underline", "29": "strike"}
_CUBE = (0, 95, 135, 175, 215, 255)


def is_terminal(text: str) -> bool:
    """Whether a text has colours, or lines that were written over."""
    return "\x1b[" in text or "\x9b" in text or "\r" in text


def html_of(text: str) -> str:
    """Escaped text, its colours and styles in spans with classes ``a-red``, ``a-bold``… (``static/css/parts.css``).

    Backgrounds are left out and hidden text is shown: no colour of a stranger may make words unreadable here.
    """
    pieces, at, style, colour = [], 0, set[str](), ""
    for match in _SGR.finditer(text):
        pieces.append(_span(text[at : match.start()], style, colour))
        style, colour = _changed(match[1], style, colour)
        at = match.end()
    return "".join([*pieces, _span(text[at:], style, colour)])


def last_states(text: str) -> tuple[str, int]:
    """A text whose lines stand as they did last, and how many states of lines were left out.

    A progress bar writes over its line with ``\\r``. Only what is left of it at the end is kept, as on the screen.
    """
    if "\r" not in text:
        return text, 0
    lines, left_out = [], 0
    for line in text.replace("\r\n", "\n").split("\n"):
        states = [state for state in line.split("\r") if state.strip()]
        left_out += max(0, len(states) - 1)
        lines.append(states[-1] if states else "")
    return "\n".join(lines), left_out


def _span(piece: str, style: set[str], colour: str) -> str:
    shown = escape(clean(piece))
    names = sorted(style) + ([colour] if colour else [])
    return f'<span class="{" ".join(f"a-{name}" for name in names)}">{shown}</span>' if names and shown else shown


def _changed(codes: str, style: set[str], colour: str) -> tuple[set[str], str]:
    """Style and colour behind a sequence; codes that say anything else change nothing."""
    parts = codes.replace(":", ";").split(";")
    while parts:
        code = parts.pop(0).lstrip("0") or "0"
        if code == "0":
            style, colour = set(), ""
        elif code in _STYLES:
            style = style | {_STYLES[code]}
        elif code in _ENDS:
            style = style - {_ENDS[code]}
        elif code in ("38", "48", "58"):
            found = _extended(parts)
            colour = found if code == "38" else colour
        elif code == "39":
            colour = ""
        elif len(code) == 2 and code[0] in "39" and code[1] in "01234567":
            colour = _NAMES[int(code[1])]
    return style, colour


def _extended(parts: list[str]) -> str:
    """The colour that ``5;N`` or ``2;R;G;B`` names; takes those numbers from the front of ``parts``."""
    mode = parts.pop(0) if parts else ""
    count = {"5": 1, "2": 3}.get(mode, 0)
    numbers = [min(int(part), 255) if part.isdigit() else 0 for part in parts[:count]]
    del parts[:count]
    if len(numbers) < count or not count:
        return ""
    return _of_256(numbers[0]) if count == 1 else _nearest(*numbers)


def _of_256(number: int) -> str:
    """One of the eight for a number of xterm's table: 16 names, a cube of 6 x 6 x 6, 24 greys."""
    if number < 16:
        return _NAMES[number % 8]
    if number >= 232:
        return _nearest(*[8 + 10 * (number - 232)] * 3)
    number -= 16
    return _nearest(_CUBE[number // 36], _CUBE[number // 6 % 6], _CUBE[number % 6])


def _nearest(red: int, green: int, blue: int) -> str:
    """The name whose parts are those that stand out of a colour: light and dark are those of the page."""
    most, least = max(red, green, blue), min(red, green, blue)
    if most - least < 48:
        return "black" if most < 96 else "white"
    middle = (most + least) / 2
    return _NAMES[(red > middle) + 2 * (green > middle) + 4 * (blue > middle)]
